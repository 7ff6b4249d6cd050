#pragma once

#include <cstddef>
#include <vector>

#include "runtime/execution/ready_tasks.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// Takes tasks of one device whose predecessors are enqueued there or have completed.
class DeviceQueue {
  public:
    virtual void push(Task& task) = 0;

  protected:
    ~DeviceQueue() = default;
};

/// Passes on tasks that nothing holds back: to their device, or to the workers.
class Dispatch final : public RunnableTasks {
  public:
    explicit Dispatch(ReadyTasks& ready) : ready_(ready) {}

    /// The queue of the next device. Before the first task is submitted.
    void add(DeviceQueue& queue) { queues_.push_back(&queue); }

    void run(Task& task) override {
        if (task.on_device() != nullptr) {
            to_device(task);
        } else {
            Task* ready = &task;
            ready_.push(&ready, 1, nullptr);
        }
    }
    void to_device(Task& task) { queues_[static_cast<std::size_t>(task.on_device()->device)]->push(task); }

  private:
    ReadyTasks& ready_;
    std::vector<DeviceQueue*> queues_;
};

}  // namespace basalt::detail
