#pragma once

#include <string>

#include "runtime/graph/task_graph.hpp"

namespace basalt::detail {

/// The exception that is being handled came out of the task's kernel, or of its work on a device, at `place`, which
/// errors name. Its graph is cancelled and keeps the first of its errors; what the task should have written is noted as
/// unwritten.
void fail_task(TaskGraph& graph, Task& task, const std::string& place);

/// The task does not run. Its graph goes on with what does not depend on it, and keeps the error.
void drop_task(TaskGraph& graph, Task& task, const Unwritten::Refusal& refusal);

/// The task does not run, because its graph was cancelled.
void cancel_task(TaskGraph& graph, const Task& task);

}  // namespace basalt::detail
