#include "runtime/graph/outcomes.hpp"

#include <algorithm>
#include <utility>

#include "basalt/error.hpp"
#include "runtime/graph/scope.hpp"

namespace basalt::detail {

std::string message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

void Outcomes::note(const Task& task, const std::exception_ptr& error) {
    std::exception_ptr forgotten;  // what a user's exception does when it ends is not done under the lock
    const std::lock_guard guard(lock_);
    const TaskRef ref = task.ref();
    if (!errors_.try_emplace(key(ref), error).second) return;
    by_age_.push_back(ref);
    // relaxed: see the class
    any_.store(true, std::memory_order_relaxed);
    if (errors_.size() > most_known) forget_oldest(forgotten);
}

void Outcomes::note_dropped(const Task& task, const std::exception_ptr& error) {
    note(task, error);
    const Scope& graph = task.scope->graph;
    if (!graph.counts_outstanding) return;  // the runtime's own graph, which does not end
    const std::lock_guard guard(lock_);
    dropped_[&graph].push_back(task.ref());
}

void Outcomes::forget_dropped(const Scope& graph) {
    if (!any_.load(std::memory_order_relaxed)) return;
    std::vector<std::exception_ptr> forgotten;  // as in note()
    const std::lock_guard guard(lock_);
    const auto dropped = dropped_.extract(&graph);
    if (dropped.empty()) return;
    for (const TaskRef& task : dropped.mapped()) forgotten.push_back(forget(task));
    if (by_age_.size() > 2 * errors_.size()) {
        std::erase_if(by_age_, [this](const TaskRef& task) { return !errors_.contains(key(task)); });
    }
}

/// Its error, or nullptr where that was forgotten before.
std::exception_ptr Outcomes::forget(TaskRef task) {
    auto known = errors_.extract(key(task));
    if (known.empty()) return nullptr;
    std::uint32_t& latest = forgotten_[task.slot];
    latest = std::max(latest, task.generation);
    return std::move(known.mapped());
}

void Outcomes::forget_oldest(std::exception_ptr& forgotten) {
    while (forgotten == nullptr) {
        forgotten = forget(by_age_.front());
        by_age_.pop_front();
    }
}

std::exception_ptr Outcomes::of(TaskRef task) const {
    if (!any_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard guard(lock_);
    const auto known = errors_.find(key(task));
    if (known != errors_.end()) return known->second;
    const auto forgotten = forgotten_.find(task.slot);
    if (forgotten == forgotten_.end() || forgotten->second < task.generation) return nullptr;
    return std::make_exception_ptr(
        Error("it is no longer known whether the task succeeded: " + std::to_string(most_known) +
              " tasks have failed or were dropped since then, or its graph was cancelled and has ended"));
}

}  // namespace basalt::detail
