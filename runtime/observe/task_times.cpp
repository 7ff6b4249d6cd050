#include "runtime/observe/task_times.hpp"

#include <algorithm>
#include <mutex>
#include <string>

namespace basalt::detail {

void TaskTimes::add(const char* name, double seconds, TaskEnd end) {
    const std::lock_guard guard(lock_);
    Times& times = times_[name];
    times.least = times.count == 0 ? seconds : std::min(times.least, seconds);
    times.most = std::max(times.most, seconds);
    times.total += seconds;
    times.failed += end == TaskEnd::failed ? 1 : 0;
    ++times.count;
}

void TaskTimes::add_cancelled(const char* name) {
    const std::lock_guard guard(lock_);
    ++times_[name].cancelled;
}

void TaskTimes::add_to(std::map<std::string, TaskStatistics, std::less<>>& names, std::optional<int> gpu,
                       std::size_t gpus) const {
    const std::lock_guard guard(lock_);
    for (const auto& [name, times] : times_) {
        TaskStatistics& sum = names[name];
        sum.name = name;
        sum.gpus.resize(gpus);
        sum.cancelled += times.cancelled;
        if (times.count == 0) continue;
        sum.min_seconds = sum.count == 0 ? times.least : std::min(sum.min_seconds, times.least);
        sum.max_seconds = std::max(sum.max_seconds, times.most);
        sum.total_seconds += times.total;
        sum.count += times.count;
        sum.failed += times.failed;
        TaskStatistics::At& at = gpu ? sum.gpus[static_cast<std::size_t>(*gpu)] : sum.cores;
        at.count += times.count;
        at.seconds += times.total;
    }
}

}  // namespace basalt::detail
