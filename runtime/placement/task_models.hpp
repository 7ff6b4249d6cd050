#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/run_models.hpp"
#include "base/spin_lock.hpp"

namespace basalt::detail {

/// How long tasks of one name and size take on one kind of processor: the median of the last few, so that one slow run
/// in three changes nothing. The first run warms caches and libraries up, and counts only until there is another one.
///
/// Any thread may add; seconds() may be called meanwhile.
class LearntTimes {
  public:
    static constexpr std::size_t most = TaskRuns::most_seconds;

    void add(double seconds);
    /// Those of an earlier process, where the first one has been left out.
    void restore(const std::vector<double>& seconds);
    /// 0 where nothing is known.
    double seconds() const { return median_.load(std::memory_order_relaxed); }
    /// Those that count, oldest first.
    std::vector<double> kept() const;

    /// Counts tasks that have been placed here, but for those that did not run.
    void place() { tried_.fetch_add(1, std::memory_order_relaxed); }
    void take_back() { tried_.fetch_sub(1, std::memory_order_relaxed); }
    std::size_t tried() const { return tried_.load(std::memory_order_relaxed); }

  private:
    void keep(double seconds);
    double median() const;

    mutable SpinLock lock_;  // guards what follows; median_ follows it for those who only look
    std::optional<double> first_;
    std::array<double, most> ring_{};
    std::size_t kept_ = 0;  ///< since the beginning; the last `most` of them are there
    std::atomic<double> median_{0};
    std::atomic<std::size_t> tried_{0};
};

/// Tasks of one name whose sizes are within 9 % of each other.
struct TaskModel {
    TaskModel(std::uint64_t size, std::size_t kinds) : size(size), kinds(kinds) {}

    const std::uint64_t size;       ///< of the first task
    std::deque<LearntTimes> kinds;  ///< by number of the kind of processor
};

/// The learnt times of tasks, by name, size and kind of processor. Under the root scope's lock, but for LearntTimes.
class TaskModels {
  public:
    /// `kinds`: names of the kinds of processors, each once.
    explicit TaskModels(std::vector<std::string> kinds) : kinds_(std::move(kinds)) {}

    /// The models of one name, by bucket of sizes.
    using Sizes = std::map<int, std::unique_ptr<TaskModel>>;
    struct Found {
        TaskModel& model;
        const Sizes& sizes;
    };
    /// Made where there is none.
    Found find(std::string_view name, std::uint64_t size);
    /// The expected time of a task; empty where nothing is known. Of a size that has not been measured: between two
    /// measured ones at most a factor of 4 apart, a power law through both; within a quarter of a measured size, its
    /// rate.
    static std::optional<double> seconds(const Found& found, std::uint64_t size, std::size_t kind);

    /// Takes over times of earlier processes; those of other kinds of processors are left out.
    void restore(const std::vector<TaskRuns>& runs);
    std::vector<TaskRuns> runs() const;

  private:
    const std::vector<std::string> kinds_;
    std::map<std::string, Sizes, std::less<>> names_;
};

}  // namespace basalt::detail
