#include "runtime/execution/commute.hpp"

#include <algorithm>

#include "runtime/graph/scope.hpp"

namespace basalt::detail {

namespace {

bool overlap(const BoundAccess& a, const BoundAccess& b) {
    return a.version == b.version && a.row_begin < b.row_end && b.row_begin < a.row_end && a.col_begin < b.col_end &&
           b.col_begin < a.col_end;
}

template <class F>
bool any_commute(const Task& task, F&& predicate) {
    const BoundAccess* access = task.access_begin();
    return std::any_of(access, access + task.access_count,
                       [&](const BoundAccess& a) { return a.mode == AccessMode::commute && predicate(a); });
}

/// Whether `task` works on behalf of `holder`: is its child, or a child's child.
bool descends_from(const Task& task, const Task* holder) {
    for (const Scope* scope = task.scope; scope->owner != nullptr; scope = scope->parent) {
        if (scope->owner == holder) return true;
    }
    return false;
}

}  // namespace

bool CommuteArbiter::conflicts(const Task& task) const {
    return any_commute(task, [&](const BoundAccess& wanted) {
        // children use what their parent holds until they have completed
        return std::any_of(held_.begin(), held_.end(), [&](const Holding& holding) {
            return overlap(holding.access, wanted) && !descends_from(task, holding.task);
        });
    });
}

void CommuteArbiter::take(const Task& task) {
    any_commute(task, [&](const BoundAccess& access) {
        held_.push_back({&task, access});
        return false;
    });
}

bool CommuteArbiter::holds(const Task& task) const {
    return std::any_of(held_.begin(), held_.end(), [&](const Holding& holding) { return holding.task == &task; });
}

bool CommuteArbiter::acquire(Task& task) {
    const std::lock_guard guard(lock_);
    // a task that release() let through, or that is queued a second time, has its regions already
    if (holds(task)) return true;
    if (conflicts(task)) {
        waiting_.push_back(&task);
        return false;
    }
    take(task);
    return true;
}

void CommuteArbiter::release(const Task& task, std::vector<Task*>& released) {
    const std::lock_guard guard(lock_);
    std::erase_if(held_, [&](const Holding& holding) { return holding.task == &task; });
    for (std::size_t i = 0; i < waiting_.size();) {
        if (conflicts(*waiting_[i])) {
            ++i;
            continue;
        }
        take(*waiting_[i]);
        released.push_back(waiting_[i]);
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

}  // namespace basalt::detail
