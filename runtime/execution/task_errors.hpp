#pragma once

#include <exception>
#include <string>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// The exception that is being handled came out of the task's kernel, or of its work on a device, at `place`, which
/// errors name. Its graph is cancelled and keeps the first of its errors.
void fail_task(Task& task, const std::string& place);

}  // namespace basalt::detail
