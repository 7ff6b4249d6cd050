#pragma once

#include <functional>
#include <thread>

#include "apps/exit_status.hpp"

namespace basalt {

/// During the life of this object, the first Ctrl-C (SIGINT) or SIGTERM calls `drain` on a thread of its own, and again
/// every few milliseconds: a run has moments without a task that could be cancelled. A second signal ends the program
/// at once, as it would without this object. Only one object may exist at a time.
class Interrupt {
  public:
    /// `drain` must be safe to call at any time until the destructor returns, e.g. Runtime::cancel().
    explicit Interrupt(std::function<void()> drain);
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Whether a signal has come.
    static bool requested();
    /// The exit status for that signal.
    static ExitStatus status();

  private:
    void watch();

    std::function<void()> drain_;
    std::thread watcher_;
};

}  // namespace basalt
