#include "runtime/graph/outcomes.hpp"

#include <utility>

#include "basalt/error.hpp"

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
    if (errors_.size() > most_known) forgotten = forget_oldest();
}

std::exception_ptr Outcomes::forget_oldest() {
    const TaskRef oldest = by_age_.front();
    by_age_.pop_front();
    forgotten_[oldest.slot] = oldest.generation;  // tenants of a slot fail one after the other
    return std::move(errors_.extract(key(oldest)).mapped());
}

std::exception_ptr Outcomes::of(TaskRef task) const {
    if (!any_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard guard(lock_);
    const auto known = errors_.find(key(task));
    if (known != errors_.end()) return known->second;
    const auto forgotten = forgotten_.find(task.slot);
    if (forgotten == forgotten_.end() || forgotten->second < task.generation) return nullptr;
    return std::make_exception_ptr(Error("it is no longer known whether the task succeeded: " +
                                         std::to_string(most_known) + " tasks have failed or were dropped since then"));
}

}  // namespace basalt::detail
