// basalt.Runtime, waits that Ctrl-C ends, and errors.
#include "python/src/module.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace basalt_python {

namespace {

constexpr std::chrono::milliseconds between_looks_at_signals{50};
/// From here on a calculation takes about 20 ms, and a thread for it costs nothing that counts.
constexpr double long_calculation = 1e9;

unsigned long main_thread() {
    static const unsigned long ident = [] {
        const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
        return nb::cast<unsigned long>(thread.attr("ident"));
    }();
    return ident;
}

/// A calculation on a thread of its own, in a graph of its own.
class Calculation {
  public:
    Calculation(basalt::Runtime& runtime, const std::function<void()>& work)
        : graph_(runtime), thread_([this, &work] { run(work); }) {}
    Calculation(const Calculation&) = delete;
    Calculation& operator=(const Calculation&) = delete;
    ~Calculation() { thread_.join(); }

    bool wait_for(std::chrono::nanoseconds limit) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, limit, [this] { return done_; });
    }
    void cancel() { graph_.cancel(); }
    /// After its end: throws its error.
    void get() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    void run(const std::function<void()>& work) {
        try {
            const basalt::SubmitTo here(graph_);
            work();
            graph_.wait();
        } catch (...) {
            error_ = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }

    basalt::Graph graph_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    std::exception_ptr error_;
    std::thread thread_;
};

/// Calls runtime.progress, if there is one. Its errors are Python's to print: a calculation does not end by them.
class Progress {
  public:
    explicit Progress(const PyRuntime& runtime) : runtime_(runtime), before_(ran()) {}

    void show() const {
        if (runtime_.progress.is_none()) return;
        const auto [done, submitted] = ran();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
        try {
            runtime_.progress(done - before_.first, submitted - before_.second, passed.count());
        } catch (nb::python_error& error) {
            error.discard_as_unraisable("basalt: progress");
        }
    }

  private:
    std::pair<std::uint64_t, std::uint64_t> ran() const {
        if (runtime_.progress.is_none()) return {0, 0};
        const basalt::Statistics counted = runtime_.cpp().statistics();
        std::uint64_t done = 0;
        for (const auto& task : counted.by_name) done += task.count;
        return {done, counted.tasks};
    }

    const PyRuntime& runtime_;
    const std::pair<std::uint64_t, std::uint64_t> before_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

thread_local int tasks_on_this_thread = 0;

bool on_main_thread() { return PyThread_get_thread_ident() == main_thread(); }

void check(basalt_status status) {
    const char* text = basalt_error_message();
    switch (status) {
        case BASALT_OK:
        case BASALT_TIMED_OUT: return;
        case BASALT_INVALID_ARGUMENT: throw basalt::UsageError(text);
        case BASALT_OUT_OF_MEMORY: throw std::bad_alloc();
        case BASALT_TASK_FAILED: throw basalt::TaskError(text, "", "", "", nullptr);
        case BASALT_NO_CONTENTS: throw basalt::DataError(text);
        case BASALT_PREDECESSOR_FAILED: throw basalt::PredecessorError(text);
        case BASALT_DEVICE_FAILED: throw basalt::DeviceError(text, 0);
        case BASALT_CANCELLED: throw basalt::Cancelled(text);
        case BASALT_FAILED: throw basalt::Error(text);
    }
    throw basalt::Error(text);
}

void wait_for_signals_too(const std::function<bool(std::chrono::nanoseconds)>& wait,
                          const std::function<void()>& cancel) {
    for (bool done = false; !done;) {
        {
            const nb::gil_scoped_release released;
            done = wait(between_looks_at_signals);
        }
        if (done || PyErr_CheckSignals() == 0) continue;
        nb::python_error raised;  // KeyboardInterrupt; keeps it while Python functions that still run go on
        {
            const nb::gil_scoped_release released;
            cancel();
            try {
                while (!wait(std::chrono::hours(1))) continue;
            } catch (const std::exception&) {  // that it was cancelled, or what a task threw before
            }
        }
        throw raised;  // NOLINT(misc-throw-by-value-catch-by-reference)
    }
}

void calculate(PyRuntime& runtime, double multiplications, const std::function<void()>& calculation) {
    basalt::Runtime& rt = runtime.cpp();
    if (tasks_on_this_thread > 0) {
        const nb::gil_scoped_release released;
        return calculation();
    }
    if (multiplications < long_calculation || !on_main_thread()) {
        const nb::gil_scoped_release released;
        basalt::Graph graph(rt);
        const basalt::SubmitTo here(graph);
        calculation();
        return graph.wait();
    }
    const Progress progress(runtime);
    Calculation running(rt, calculation);
    wait_for_signals_too(
        [&](std::chrono::nanoseconds limit) {
            if (running.wait_for(limit)) return true;
            const nb::gil_scoped_acquire acquired;
            progress.show();
            return false;
        },
        [&] { running.cancel(); });
    progress.show();
    running.get();
}

PyRuntime::PyRuntime(const nb::dict& settings) {
    basalt_settings* made = nullptr;
    check(basalt_settings_create(&made));
    const std::unique_ptr<basalt_settings, void (*)(basalt_settings*)> owner(made, basalt_settings_destroy);
    for (const auto& [name, value] : settings) {
        check(basalt_settings_set(made, nb::cast<std::string>(name).c_str(), nb::cast<std::string>(value).c_str()));
    }
    main_thread();
    const nb::gil_scoped_release released;
    check(basalt_runtime_create(made, &runtime_));
}

basalt_runtime* PyRuntime::handle() const {
    if (runtime_ == nullptr) throw basalt::UsageError("the runtime is closed");
    return runtime_;
}

void PyRuntime::close() {
    if (runtime_ == nullptr) return;
    basalt_runtime* const ending = std::exchange(runtime_, nullptr);
    {
        const nb::gil_scoped_release released;
        basalt_runtime_destroy(ending);
    }
    arrays_.forget();
}

bool PyRuntime::wait(std::optional<double> seconds) {
    basalt::Runtime& rt = cpp();
    if (seconds) {
        if (!(*seconds >= 0)) throw basalt::UsageError("timeout: allowed is 0 or more seconds");
        const nb::gil_scoped_release released;
        const auto limit = std::chrono::duration<double>(std::min(*seconds, 1e9));
        if (!rt.wait_for(std::chrono::duration_cast<std::chrono::nanoseconds>(limit))) return false;
    } else if (on_main_thread() && tasks_on_this_thread == 0) {
        try {
            wait_for_signals_too([&](std::chrono::nanoseconds limit) { return rt.wait_for(limit); },
                                 [&] { rt.cancel(); });
        } catch (...) {
            arrays_.forget();
            throw;
        }
    } else {
        const nb::gil_scoped_release released;
        rt.wait();
    }
    if (tasks_on_this_thread == 0) arrays_.forget();
    return true;
}

void bind_runtime(nb::module_& module) {
    nb::class_<PyRuntime>(module, "Runtime", nb::is_weak_referenceable())
        .def(nb::init<const nb::dict&>())
        .def("close", &PyRuntime::close)
        .def_prop_ro("closed", &PyRuntime::closed)
        .def_prop_ro("workers", [](const PyRuntime& rt) { return rt.cpp().workers(); })
        .def_prop_ro("gpus", [](const PyRuntime& rt) { return rt.cpp().gpus(); })
        .def_rw("progress", &PyRuntime::progress, nb::arg().none())
        .def("wait", &PyRuntime::wait, nb::arg("timeout").none() = nb::none())
        .def("cancel", [](const PyRuntime& rt) { rt.cpp().cancel(); })
        .def("start_trace", [](const PyRuntime& rt) { check(basalt_trace_start(rt.handle())); })
        .def("write_trace",
             [](const PyRuntime& rt, const std::string& file) { check(basalt_trace_write(rt.handle(), file.c_str())); })
        .def_prop_ro("_arrays", [](PyRuntime& rt) { return rt.arrays().size(); });
    module.def("setting_names", &basalt_setting_names);
    module.def("version", &basalt_version_text);
}

}  // namespace basalt_python
