#pragma once

#include <cstdint>

#include "runtime/execution/dispatch.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/execution/ready_tasks.hpp"
#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// What happens when a task has run: it completes, once its children have, and its successors are released.
/// Each member is called by the thread that ran the task, with the place or driver that it works.
class Completion {
  public:
    Completion(TaskGraph& graph, ReadyTasks& ready, Dispatch& dispatch, ParkingLot& parking)
        : graph_(graph), ready_(ready), dispatch_(dispatch), parking_(parking) {}

    /// The kernel has returned. The task completes now, or with the last of its children. Successors that became ready
    /// for workers are in worker.released.
    void kernel_done(Task& task, Worker& worker);
    /// The task completes. Successors as above.
    void finish(Task& task, Worker& worker);
    /// The device has the task in its streams: its successors on devices may be enqueued behind it.
    void enqueued(Task& task);
    /// Hands what became ready on a thread that runs no tasks to those that do.
    void hand_on(Worker& worker);

  private:
    Task* complete(Task& task, Worker& worker);
    void close_children(Task& task, Scope* children);
    void clear_payload(Task& task, Worker& worker);
    void release_successors(std::uint64_t closed, Worker& worker);
    Task* settle(Scope& scope, Worker& worker);

    TaskGraph& graph_;
    ReadyTasks& ready_;
    Dispatch& dispatch_;
    ParkingLot& parking_;
};

}  // namespace basalt::detail
