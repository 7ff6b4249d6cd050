#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "basalt/scheduler.hpp"
#include "runtime/execution/scheduler.hpp"

namespace basalt::detail {

/// A scheduler that the program has registered.
class SchedulerOfProgram final : public Scheduler {
  public:
    explicit SchedulerOfProgram(std::unique_ptr<basalt::Scheduler> own) : own_(std::move(own)) {}

    bool push(std::optional<int> place, Task* const* tasks, std::size_t count) override;
    Found pop(int place) override;
    Task* exchange(int place, Task* candidate) override;
    bool empty() const override { return kept_.load(std::memory_order_acquire) == 0; }

    /// What factories get.
    static SchedulerPlaces places_of(const Neighbours& neighbours);

  private:
    static ReadyTask seen(Task& task);

    const std::unique_ptr<basalt::Scheduler> own_;
    std::atomic<std::size_t> kept_{0};  ///< tasks; counted before they are pushed, and after they were popped
};

}  // namespace basalt::detail
