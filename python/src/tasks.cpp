// Tasks that are Python functions.
#include "python/src/module.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace basalt_python {

namespace {

/// What a Python function raised, as the runtime keeps it: its text is known without the GIL.
class PythonFailed : public std::exception {
  public:
    PythonFailed(std::string text, std::shared_ptr<nb::object> error)
        : text_(std::move(text)), error_(std::move(error)) {}
    const char* what() const noexcept override { return text_.c_str(); }
    const nb::object& error() const { return *error_; }

  private:
    std::string text_;
    std::shared_ptr<nb::object> error_;
};

/// Gives an object back with the GIL, on whatever thread.
void drop_with_gil(nb::object* object) {
    const nb::gil_scoped_acquire acquired;
    delete object;
}
std::shared_ptr<nb::object> shared_object(nb::object object) {
    return {new nb::object(std::move(object)), &drop_with_gil};
}

/// A function, its arguments and, afterwards, what it returned.
struct PythonCall {
    nb::object function;
    nb::tuple arguments;
    nb::object result;

    void run() {
        const nb::gil_scoped_acquire acquired;
        ++tasks_on_this_thread;
        try {
            result = function(*arguments);
        } catch (nb::python_error& error) {
            --tasks_on_this_thread;
            std::string text = nb::cast<std::string>(nb::str(error.type().attr("__name__"))) + ": " +
                               nb::cast<std::string>(nb::str(error.value()));
            throw PythonFailed(std::move(text), shared_object(nb::borrow(error.value())));
        }
        --tasks_on_this_thread;
    }
};
void drop_call(PythonCall* call) {
    const nb::gil_scoped_acquire acquired;
    delete call;
}

/// basalt.Task.
class PyTask {
  public:
    PyTask(basalt::TaskHandle handle, std::shared_ptr<PythonCall> call) : handle_(handle), call_(std::move(call)) {}

    const basalt::TaskHandle& handle() const { return handle_; }
    bool done() const { return handle_.done(); }
    bool wait(std::optional<double> seconds) const {
        if (seconds) {
            if (!(*seconds >= 0)) throw basalt::UsageError("timeout: allowed is 0 or more seconds");
            const nb::gil_scoped_release released;
            const auto limit = std::chrono::duration<double>(std::min(*seconds, 1e9));
            return handle_.wait_for(std::chrono::duration_cast<std::chrono::nanoseconds>(limit));
        }
        if (on_main_thread() && tasks_on_this_thread == 0) {
            wait_for_signals_too([&](std::chrono::nanoseconds limit) { return handle_.wait_for(limit); }, [] {});
        } else {
            const nb::gil_scoped_release released;
            handle_.wait();
        }
        return true;
    }
    nb::object result() const {
        wait(std::nullopt);
        return call_->result;
    }

  private:
    basalt::TaskHandle handle_;
    std::shared_ptr<PythonCall> call_;
};

std::vector<Bytes> regions_of(PyRuntime& runtime, const nb::tuple& arrays) {
    std::vector<Bytes> regions;
    regions.reserve(arrays.size());
    for (const nb::handle array : arrays) regions.push_back(runtime.arrays().region(runtime.cpp(), array.ptr()));
    return regions;
}

PyTask submit(PyRuntime& runtime, const nb::object& function, const nb::tuple& reads, const nb::tuple& writes,
              const nb::tuple& arguments, const std::string& name, int priority, const std::vector<PyTask*>& after) {
    basalt::TaskOptions options;
    options.name = basalt::TaskName::intern(name);
    options.priority = priority;
    options.place = basalt::Place::cpu();
    const std::vector<Bytes> read = regions_of(runtime, reads), written = regions_of(runtime, writes);
    std::vector<basalt::TaskHandle> before;
    for (const PyTask* task : after) before.push_back(task->handle());
    const std::shared_ptr<PythonCall> call(new PythonCall{function, arguments, nb::none()}, &drop_call);
    basalt::Runtime& rt = runtime.cpp();
    const nb::gil_scoped_release released;  // submit() may run tasks
    const basalt::TaskHandle handle = rt.submit(options, basalt::after(before), basalt::read(read),
                                                basalt::readwrite(written), [call] { call->run(); });
    return {handle, call};
}

nb::object python_class(const char* name) { return nb::module_::import_("basalt._errors").attr(name); }

void raise(const char* type, const char* text, const nb::object& cause = nb::none()) {
    const nb::object error = python_class(type)(text);
    if (!cause.is_none()) nb::setattr(error, "__cause__", cause);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

/// The Python exception below a TaskError, which may stand for the error of a task inside the task.
nb::object cause_of(const std::exception_ptr& cause) {
    if (!cause) return nb::none();
    try {
        std::rethrow_exception(cause);
    } catch (const PythonFailed& failed) {
        return failed.error();
    } catch (const basalt::TaskError& inner) {
        return cause_of(inner.cause());
    } catch (...) {
        return nb::none();
    }
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const basalt::TaskError& error) {
        raise("TaskError", error.what(), cause_of(error.cause()));
    } catch (const basalt::DataError& error) {
        raise("DataError", error.what());
    } catch (const basalt::PredecessorError& error) {
        raise("PredecessorError", error.what());
    } catch (const basalt::DeviceError& error) {
        raise("DeviceError", error.what());
    } catch (const basalt::Cancelled& error) {
        raise("Cancelled", error.what());
    } catch (const basalt::Error& error) {
        raise("BasaltError", error.what());
    }
}

}  // namespace

void bind_tasks(nb::module_& module) {
    nb::register_exception_translator(&translate);
    nb::class_<PyTask>(module, "Task")
        .def_prop_ro("done", &PyTask::done)
        .def("wait", &PyTask::wait, nb::arg("timeout").none() = nb::none())
        .def("result", &PyTask::result);
    module.def("submit", &submit);
}

}  // namespace basalt_python

NB_MODULE(_basalt, module) {
    basalt_python::bind_runtime(module);
    basalt_python::bind_tasks(module);
    basalt_python::bind_linalg(module);
}
