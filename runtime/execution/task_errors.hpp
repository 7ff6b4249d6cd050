#pragma once

#include <exception>
#include <string>

#include "runtime/graph/task.hpp"
#include "runtime/graph/unwritten.hpp"

namespace basalt::detail {

/// What the exception says.
std::string message_of(const std::exception_ptr& error);

/// The exception that is being handled came out of the task's kernel, or of its work on a device, at `place`, which
/// errors name. Its graph is cancelled and keeps the first of its errors; what the task should have written is noted as
/// unwritten.
void fail_task(Unwritten& unwritten, Task& task, const std::string& place);

/// The task does not run, because data that it reads have no contents: `missing` says which and why. Its graph goes on
/// with what does not depend on it, and keeps the error.
void drop_task(Task& task, const std::string& missing);

}  // namespace basalt::detail
