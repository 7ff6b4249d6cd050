#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "base/spin_lock.hpp"
#include "runtime/execution/scheduler.hpp"

namespace basalt::detail {

/// The baseline: one queue, first ready, first run; priorities do not count.
class Fifo final : public Scheduler {
  public:
    bool push(std::optional<int> place, Task* const* tasks, std::size_t count) override;
    Found pop(int place) override;
    Task* exchange(int place, Task* candidate) override;
    bool empty() const override { return size_.load(std::memory_order_acquire) == 0; }

  private:
    SpinLock lock_;  // guards queue_; size_ follows it so that an idle thread need not take the lock
    std::deque<Task*> queue_;
    std::atomic<std::size_t> size_{0};
};

}  // namespace basalt::detail
