#include "bench/common/machine_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "bench/common/clock.hpp"

namespace bench {

namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double seconds_of(int who) {
    rusage usage{};
    getrusage(who, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double load_average() {
    double average = 0;
    std::ifstream("/proc/loadavg") >> average;
    return average;
}

}  // namespace

LoadMeter::LoadMeter() : start_(read_times()), average_(load_average()) {}

LoadMeter::Times LoadMeter::read_times() {
    std::ifstream file("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    return {.wall = now(),
            .busy = (user + nice + system + interrupts + soft_interrupts) / ticks,
            .stolen = stolen / ticks,
            .own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN)};
}

MachineLoad LoadMeter::read() const {
    MachineLoad load{.average = average_, .others = {}, .stolen = {}};
    const Times end = read_times();
    const double wall = end.wall - start_.wall;
    if (wall < 0.1) return load;  // the kernel counts in hundredths of a second
    load.others = std::max(0.0, (end.busy - start_.busy) - (end.own - start_.own)) / wall;
    load.stolen = (end.stolen - start_.stolen) / wall;
    return load;
}

}  // namespace bench
