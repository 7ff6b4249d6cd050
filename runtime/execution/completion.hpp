#pragma once

#include <cstdint>
#include <string>

#include "runtime/execution/dispatch.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/execution/ready_tasks.hpp"
#include "runtime/graph/task_graph.hpp"
#include "runtime/placement/placed_tasks.hpp"

namespace basalt::detail {

/// What happens when a task has run: it completes, once its children have, and its successors are released.
/// Each member is called by the thread that ran the task, with the place or driver that it works.
class Completion {
  public:
    /// `placed`: nullptr where no policy observes tasks.
    Completion(TaskGraph& graph, ReadyTasks& ready, Dispatch& dispatch, ParkingLot& parking, PlacedTasks* placed)
        : graph_(graph), ready_(ready), dispatch_(dispatch), parking_(parking), placed_(placed) {}

    /// The kernel has returned. The task completes now, or with the last of its children. Successors that became ready
    /// for workers are in worker.released.
    void kernel_done(Task& task, Worker& worker);
    /// The task completes. Successors as above.
    void finish(Task& task, Worker& worker);
    /// One that counted as a task of the scope has ended. Successors as above.
    void leave(Scope& scope, Worker& worker);
    /// The device has the task in its streams: its successors on devices may be enqueued behind it.
    void enqueued(Task& task);
    /// Hands what became ready on a thread that runs no tasks to those that do.
    void hand_on(Worker& worker);

  private:
    Task* complete(Task& task, Worker& worker, const std::string* failure);
    Task* complete_with_care(Task& task, Worker& worker);
    void finish_reductions(Scope& children, Worker& worker);
    void close_children(Task& task, Scope* children);
    void destroy_kernel(Task& task, Worker& worker);
    void clear_payload(Task& task, Worker& worker);
    void release_successors(std::uint64_t closed, const std::string* failure, Worker& worker);
    void spread(std::uint32_t edge, const Task& target, const std::string& failure);
    Task* settle(Scope& scope, Worker& worker);

    TaskGraph& graph_;
    ReadyTasks& ready_;
    Dispatch& dispatch_;
    ParkingLot& parking_;
    PlacedTasks* const placed_;
};

}  // namespace basalt::detail
