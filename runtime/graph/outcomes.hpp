#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// What the exception says.
std::string message_of(const std::exception_ptr& error);

/// The errors of tasks that failed or were dropped, for handles, which ask when the task's slot has another tenant.
///
/// Handles are not counted, so the errors of the latest `most_known` tasks are kept; those of tasks that a Graph
/// dropped only until that ends. Of each slot it is known up to which tenant errors were forgotten: an older task is
/// never taken for one that succeeded.
///
/// Thread-safe. While no task has failed, all this costs one relaxed load for each look: a thread that knows that a
/// task has completed has synchronised with that completion, and the error was noted before.
class Outcomes {
  public:
    static constexpr std::size_t most_known = 100'000;

    /// The task, which has not completed, does not succeed. Of several errors the first one stays.
    void note(const Task& task, const std::exception_ptr& error);
    /// The same for a task that was dropped because its graph was cancelled.
    void note_dropped(const Task& task, const std::exception_ptr& error);
    /// The graph ends: what it dropped is forgotten.
    void forget_dropped(const Scope& graph);
    /// The error of a task that has completed; nullptr where it succeeded.
    std::exception_ptr of(TaskRef task) const;
    /// How many errors are kept.
    std::size_t known() const {
        const std::lock_guard guard(lock_);
        return errors_.size();
    }

  private:
    static std::uint64_t key(TaskRef task) { return static_cast<std::uint64_t>(task.generation) << 32 | task.slot; }
    std::exception_ptr forget(TaskRef task);
    void forget_oldest(std::exception_ptr& forgotten);

    std::atomic<bool> any_{false};
    mutable std::mutex lock_;  // guards what follows
    std::unordered_map<std::uint64_t, std::exception_ptr> errors_;
    std::deque<TaskRef> by_age_;                                      ///< some of which may be forgotten
    std::unordered_map<const Scope*, std::vector<TaskRef>> dropped_;  ///< by Graphs that have not ended
    std::unordered_map<std::uint32_t, std::uint32_t> forgotten_;  ///< slot and the generation of its latest such tenant
};

}  // namespace basalt::detail
