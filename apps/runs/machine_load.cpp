#include "apps/runs/machine_load.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace basalt {

namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Ticks of user, nice, system, irq, softirq and steal in a line of /proc/stat behind its name.
double busy_ticks(std::istream& numbers) {
    double busy = 0, value = 0;
    for (int field = 0; field < 8 && numbers >> value; ++field) {
        const bool idle = field == 3 || field == 4;  // idle, iowait
        if (!idle) busy += value;
    }
    return busy;
}

}  // namespace

MachineLoad::Times MachineLoad::now() {
    Times times;
    times.wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    times.own = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return times;
    times.cores = std::max(1, CPU_COUNT(&allowed));
    std::ifstream in("/proc/stat");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if (name.rfind("cpu", 0) != 0 || name.size() == 3) continue;
        const int number = std::stoi(name.substr(3));
        if (number < CPU_SETSIZE && CPU_ISSET(number, &allowed)) times.busy += busy_ticks(words);
    }
    times.busy /= static_cast<double>(sysconf(_SC_CLK_TCK));
    return times;
}

MachineLoad::MachineLoad() : start_(now()) {}

MachineLoad::Interval MachineLoad::so_far() const {
    const Times end = now();
    const double seconds = end.wall - start_.wall;
    if (seconds <= 0) return {};
    const double others = (end.busy - start_.busy) - (end.own - start_.own);
    return {seconds, std::clamp(others / (seconds * end.cores), 0.0, 1.0)};
}

MachineLoad::Average MachineLoad::last_minute() {
    Average average;
    std::ifstream("/proc/loadavg") >> average.runnable;
    average.cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return average;
}

}  // namespace basalt
