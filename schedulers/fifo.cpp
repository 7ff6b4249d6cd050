#include "schedulers/fifo.hpp"

#include <mutex>

namespace basalt::detail {

bool Fifo::push(std::optional<int>, Task* const* tasks, std::size_t count) {
    const std::lock_guard guard(lock_);
    const bool was_empty = queue_.empty();
    queue_.insert(queue_.end(), tasks, tasks + count);
    size_.store(queue_.size(), std::memory_order_release);
    return was_empty;
}

Scheduler::Found Fifo::pop(int) {
    if (empty()) return {};
    const std::lock_guard guard(lock_);
    if (queue_.empty()) return {};
    Task* task = queue_.front();
    queue_.pop_front();
    size_.store(queue_.size(), std::memory_order_release);
    return {task};
}

Task* Fifo::exchange(int, Task* candidate) {
    if (empty()) return candidate;
    const std::lock_guard guard(lock_);
    queue_.push_back(candidate);
    Task* task = queue_.front();
    queue_.pop_front();
    return task;
}

}  // namespace basalt::detail
