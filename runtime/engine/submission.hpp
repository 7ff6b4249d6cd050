#pragma once

#include <cstddef>
#include <functional>

#include "runtime/engine/placement.hpp"
#include "runtime/engine/window.hpp"
#include "runtime/execution/dispatch.hpp"
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
        ReadyTasks& ready;
        Dispatch& dispatch;
        OutsidePlace& outside;
        int workers;
        bool gpus;  ///< there are some
    };
    explicit Submission(const Parts& parts) : p_(parts) {}

    /// Submits a task of the user's from the calling thread; see Runtime::submit().
    void submit(const TaskOptions& options, const AccessRecord* records, std::size_t count, const KernelOps& ops,
                void* source);

    /// Where the version's contents are when an internal task runs.
    enum class Contents {
        anywhere,
        at_home,  ///< in the host's memory
    };
    /// Submits a task of the runtime's own that uses all of the version; it runs even when its graph is cancelled.
    /// Under the scope's lock. May throw DeviceError for contents that are to come home.
    void submit_internal(Scope& scope, Version& version, Contents contents, std::function<void()> action);

  private:
    Task* build(Scope& scope, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                const KernelOps& ops, void* source);
    void run(Task& task);

    const Parts p_;
};

}  // namespace basalt::detail
