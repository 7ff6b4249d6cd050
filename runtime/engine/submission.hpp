#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "runtime/engine/array_blocks.hpp"
#include "runtime/engine/at_once.hpp"
#include "runtime/engine/placement.hpp"
#include "runtime/engine/task_waits.hpp"
#include "runtime/engine/window.hpp"
#include "runtime/execution/dispatch.hpp"
#include "runtime/observe/submission_log.hpp"
#include "runtime/recording/recorder.hpp"
#include "runtime/workers/outside_place.hpp"

namespace basalt::detail {

/// Takes in tasks in program order: the user's, and the runtime's own that wait for one datum.
class Submission {
  public:
    /// What submission works with.
    struct Parts {
        TaskGraph& graph;
        Window& window;
        Placement& placement;
        ArrayBlocks& blocks;
        ReadyTasks& ready;
        Dispatch& dispatch;
        OutsidePlace& outside;
        AtOnce& at_once;
        int workers;
        bool gpus;           ///< there are some
        SubmissionLog* log;  ///< nullptr where none is wanted
    };
    explicit Submission(const Parts& parts) : p_(parts) {}

    /// A task of the user's.
    struct Call {
        const TaskOptions& options;
        std::span<const AccessRecord> accesses;
        const KernelOps& ops;
        void* source;                            ///< what `ops` makes the kernels from
        std::span<const TaskHandle> after = {};  ///< which it follows
    };
    /// Submits the task from the calling thread; see Runtime::submit().
    Submitted submit(const Call& call);
    /// Nothing holds the task back: has it run, but not by the calling thread, which holds no order's lock.
    void queue(Task& task);

    /// Where the version's contents are when an internal task runs.
    enum class Contents {
        anywhere,
        at_home,  ///< in the host's memory
    };
    /// Submits a task of the runtime's own that uses all of the version; it runs even when its graph is cancelled.
    /// Under the scope's lock. May throw DeviceError for contents that are to come home.
    void submit_internal(Scope& scope, Version& version, Contents contents, std::function<void()> action);

  private:
    struct Entered {
        TaskRef task;
        Task* runnable;
    };
    Entered build(Scope& scope, const Call& call);
    void run(Task& task);
    Submitted record(Recorder& recorder, const Call& call);

    const Parts p_;
};

}  // namespace basalt::detail
