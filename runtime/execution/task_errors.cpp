#include "runtime/execution/task_errors.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "basalt/error.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/graph/scope.hpp"

namespace basalt::detail {

namespace {

const char* mode_name(AccessMode mode) {
    switch (mode) {
        case AccessMode::read: return "read";
        case AccessMode::write: return "write";
        case AccessMode::readwrite: return "readwrite";
        case AccessMode::commute: return "commute";
    }
    return "";
}

std::string data_label(const Task& task) {
    constexpr std::uint32_t most_shown = 8;
    std::string text;
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < std::min(task.access_count, most_shown); ++i) {
        const BoundAccess& a = access[i];
        if (i > 0) text += ", ";
        text += std::string(mode_name(a.mode)) + " " + a.version->datum->name + " rows [" +
                std::to_string(a.row_begin) + ", " + std::to_string(a.row_end) + ")";
    }
    if (task.access_count > most_shown) text += ", ...";
    return text;
}

std::string reason_of(const Task& task, const std::string& place, const std::exception_ptr& error) {
    const auto step = task.step.get();
    const std::string of_step = step ? " of step " + std::to_string(*step) : "";
    return "task " + task_label(task) + of_step + " failed on " + place + ": " + message_of(error);
}

std::exception_ptr wrap_error(const Task& task, const std::string& device, std::exception_ptr cause) {
    const std::string label = task_label(task);
    const std::string data = data_label(task);
    std::string what = reason_of(task, device, cause);
    if (!data.empty()) what += " [" + data + "]";
    return std::make_exception_ptr(TaskError(what, label, data, device, std::move(cause)));
}

template <class E>
bool is(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const E&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

std::string message_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

void fail_task(Unwritten& unwritten, Task& task, const std::string& place) {
    std::exception_ptr error = std::current_exception();
    unwritten.fail(task, reason_of(task, place, error));
    // that a graph was cancelled is no news to it, nor that something in it was not written
    if (task.scope->drained() && (is<Cancelled>(error) || is<DataError>(error))) return;
    // a child's error that the parent did not handle keeps naming the child
    if (!is<TaskError>(error)) error = wrap_error(task, place, std::move(error));
    task.scope->fail(std::move(error));
}

void drop_task(Task& task, const std::string& missing) {
    const std::string what = "task " + task_label(task) + " did not run: " + missing;
    task.scope->keep_error(std::make_exception_ptr(DataError(what)));
}

}  // namespace basalt::detail
