#pragma once

#include <functional>

#include "base/process.hpp"
#include "runtime/observe/observers.hpp"
#include "runtime/workers/progress.hpp"

namespace basalt::detail {

/// A runtime among those of its process, from when it is complete to the begin of its end: what becomes of it when the
/// process forks or exits.
///
/// In a child process, an inherited runtime has no threads. It is left as it is: its memory stays, and whatever would
/// use it finds its ProcessMark old. The same happens when the process exits while tasks are in flight, since neither
/// can a task wait for its own end nor should a program that exits wait for others. No task begins then, and the thread
/// that exits gives those that run a second to end.
class LivingRuntime {
  public:
    LivingRuntime(Observers& observers, Progress& progress);
    ~LivingRuntime();
    LivingRuntime(const LivingRuntime&) = delete;
    LivingRuntime& operator=(const LivingRuntime&) = delete;

    const ProcessMark& mark() const { return mark_; }

  private:
    friend class LivingRuntimes;
    const ProcessMark mark_;
    Observers& observers_;
    Progress& progress_;
};

}  // namespace basalt::detail
