#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "basalt/runtime.hpp"
#include "base/spin_lock.hpp"

namespace basalt::detail {

enum class TaskEnd : bool { succeeded, failed };

/// How often tasks of each name ran at one place or device, and for how long. Written by the thread that works there,
/// read by any: the lock is almost never contended.
class alignas(64) TaskTimes {
  public:
    /// `name` lives until the program ends.
    void add(const char* name, double seconds, TaskEnd end);
    void add_cancelled(const char* name);

    /// Adds the counts to the entries of the same names. `gpu`: the device; empty: cores.
    void add_to(std::map<std::string, TaskStatistics, std::less<>>& names, std::optional<int> gpu,
                std::size_t gpus) const;

  private:
    struct Times {
        std::uint64_t count = 0;
        std::uint64_t failed = 0;
        std::uint64_t cancelled = 0;
        double total = 0;
        double least = 0;
        double most = 0;
    };
    mutable SpinLock lock_;
    std::map<const char*, Times> times_;  // guarded by lock_
};

}  // namespace basalt::detail
