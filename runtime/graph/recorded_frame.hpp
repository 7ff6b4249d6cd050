#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

struct RecordedFrame;
struct Worker;

/// Generations of frames, which are numbered by run for those who observe tasks: no pooled task comes as far.
inline constexpr std::uint32_t first_generation_of_frames = std::uint32_t{1} << 30;
inline bool is_frame(TaskRef task) { return task.valid() && task.generation >= first_generation_of_frames; }

/// What a recorded task belongs to while it runs.
class RecordedRun {
  public:
    /// The task and its children have completed; the frame is given back. The thread works `worker`. `failure`: why the
    /// task did not succeed; nullptr if it did. Returns the scope that counts the run as one of its tasks, if this was
    /// the last task of the run: to be settled.
    virtual Scope* task_done(RecordedFrame& frame, Worker& worker,
                             const std::shared_ptr<const std::string>& failure) = 0;
    /// What the task of that node accesses, in this run.
    virtual void bind_accesses(std::uint32_t node, std::vector<BoundAccess>& accesses) const = 0;

  protected:
    ~RecordedRun() = default;
};

/// A recorded task while it runs: what its kernel's thread, its children and its errors see of it. It is no pooled
/// task, and no edges lead to it or from it. One frame serves many tasks in turn, so all that is seldom needed is
/// filled in on demand.
struct RecordedFrame : Task {
    RecordedFrame() {
        kind = TaskKind::recorded;
        slot = 0;  // in front of tables by slot, where its generation finds nothing
        successors.store(std::uint64_t{first_generation_of_frames} << 32 | no_edge, std::memory_order_relaxed);
    }

    RecordedRun* run = nullptr;
    std::uint32_t number = 0;  ///< of the task's node in its recording

    /// The frame is that of another task now.
    void begin(std::uint32_t node) {
        number = node;
        access_count = 0;
        children.store(nullptr, std::memory_order_relaxed);
    }
    /// Fills in the accesses. By the thread that runs the task.
    void bind_accesses() {
        if (access_count > 0) return;
        run->bind_accesses(number, bound_);
        more_accesses = bound_.data();
        access_count = static_cast<std::uint32_t>(bound_.size());
    }

  private:
    std::vector<BoundAccess> bound_;
};

}  // namespace basalt::detail
