#include "runtime/execution/task_errors.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "basalt/error.hpp"
#include "runtime/graph/datum.hpp"
#include "runtime/graph/recorded_frame.hpp"
#include "runtime/graph/scope.hpp"

namespace basalt::detail {

namespace {

std::string data_label(const Task& task) {
    constexpr std::uint32_t most_shown = 8;
    std::string text;
    const BoundAccess* access = task.access_begin();
    for (std::uint32_t i = 0; i < std::min(task.access_count, most_shown); ++i) {
        const BoundAccess& a = access[i];
        if (i > 0) text += ", ";
        const Datum& datum = *a.version->datum;
        text += std::string(mode_name(a.mode)) + " " + datum.name +
                datum.text_of({a.row_begin, a.row_end, a.col_begin, a.col_end});
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

void fail_task(TaskGraph& graph, Task& task, const std::string& place) {
    if (task.kind == TaskKind::recorded) static_cast<RecordedFrame&>(task).bind_accesses();
    std::exception_ptr error = std::current_exception();
    const std::string reason = reason_of(task, place, error);
    // that a graph was cancelled is no news to it, nor that something in it was not written
    const bool known =
        task.scope->drained() && (is<Cancelled>(error) || is<DataError>(error) || is<PredecessorError>(error));
    // a child's error that the parent did not handle keeps naming the child
    if (!known && !is<TaskError>(error)) error = wrap_error(task, place, std::move(error));
    if (!known) task.scope->fail(error);
    // Behind the above: of tasks that reduce together in one graph, another one may begin just now. If it finds that
    // there are no contents, the graph has its error already.
    graph.unwritten().fail(task, reason);
    graph.outcomes().note(task, error);
}

void drop_task(TaskGraph& graph, Task& task, const Unwritten::Refusal& refusal) {
    const std::string what = "task " + task_label(task) + " did not run: " + refusal.why;
    const bool by_data = refusal.cause == Unwritten::Refusal::Cause::data;
    std::exception_ptr error =
        by_data ? std::make_exception_ptr(DataError(what)) : std::make_exception_ptr(PredecessorError(what));
    graph.outcomes().note(task, error);
    // that something was not written is no news to a graph that is cancelled: copies on devices run all the same
    if (!task.scope->drained()) task.scope->keep_error(std::move(error));
}

void cancel_task(TaskGraph& graph, const Task& task) {
    const std::string what = "task " + task_label(task) + " did not run, because its graph was cancelled";
    graph.unwritten().fail(task, what);
    graph.outcomes().note_dropped(task, std::make_exception_ptr(Cancelled(what)));
}

}  // namespace basalt::detail
