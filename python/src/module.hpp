#pragma once

#include <basalt/basalt.h>

#include <basalt/basalt.hpp>

#include <nanobind/nanobind.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "python/src/registry.hpp"

namespace basalt_python {

namespace nb = nanobind;

/// Throws what a status of the C interface means, with its text.
void check(basalt_status status);

/// basalt.Runtime.
class PyRuntime {
  public:
    /// `settings`: a dict of names and texts.
    explicit PyRuntime(const nb::dict& settings);
    ~PyRuntime() { close(); }
    PyRuntime(const PyRuntime&) = delete;
    PyRuntime& operator=(const PyRuntime&) = delete;

    /// Waits and ends the runtime; errors of tasks are logged by the library. Does nothing the second time.
    void close();
    bool closed() const { return runtime_ == nullptr; }
    /// Throws ValueError after close().
    basalt_runtime* handle() const;
    basalt::Runtime& cpp() const { return basalt_runtime_in_cpp(*handle()); }
    ArrayRegistry& arrays() { return arrays_; }

    /// Waits without the GIL. False when the time ran out. Ctrl-C cancels and raises KeyboardInterrupt.
    bool wait(std::optional<double> seconds);

    /// Called during long calculations as progress(tasks done, tasks submitted, seconds); None: nothing.
    nb::object progress = nb::none();

  private:
    basalt_runtime* runtime_ = nullptr;
    ArrayRegistry arrays_;
};

/// Whether the calling thread is the one for which Python's signal handlers run.
bool on_main_thread();

/// Whether the calling thread runs a Python function as a task.
extern thread_local int tasks_on_this_thread;

/// wait(limit) until it returns true, with the GIL released. Raises what a signal handler raises (KeyboardInterrupt),
/// after cancel() and the end of the wait.
void wait_for_signals_too(const std::function<bool(std::chrono::nanoseconds)>& wait,
                          const std::function<void()>& cancel);

/// Runs a calculation that submits tasks and waits, as a graph of its own with the GIL released. `multiplications`: an
/// estimate; long ones run on a thread of their own, so that Ctrl-C can cancel them and progress is shown.
void calculate(PyRuntime& runtime, double multiplications, const std::function<void()>& calculation);

void bind_runtime(nb::module_& module);
void bind_linalg(nb::module_& module);
void bind_tasks(nb::module_& module);

}  // namespace basalt_python
