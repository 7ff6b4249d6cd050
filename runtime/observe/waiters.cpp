#include "runtime/observe/waiters.hpp"

#include <utility>

#include <sys/syscall.h>
#include <unistd.h>

namespace basalt::detail {

void Waiters::Note::add(const Task* task, std::string what) {
    Waiter waiter{std::move(what), syscall(SYS_gettid), {}, std::chrono::steady_clock::now()};
    if (task != nullptr) waiter.task = task->ref();
    const std::lock_guard guard(waiters_.lock_);
    waiters_.waiters_.push_back(std::move(waiter));
    entry_ = std::prev(waiters_.waiters_.end());
    is_noted_ = true;
}

void Waiters::Note::remove() {
    const std::lock_guard guard(waiters_.lock_);
    waiters_.waiters_.erase(entry_);
}

}  // namespace basalt::detail
