#pragma once

#include <basalt/basalt.h>

#include "basalt/graph.hpp"
#include "basalt/loop.hpp"
#include "basalt/runtime.hpp"

namespace basalt::capi {

/// What `task` describes, submitted. Throws UsageError.
TaskHandle submit_task(Runtime& runtime, const basalt_task* task);
/// The same as a loop.
TaskHandle submit_loop(Runtime& runtime, const basalt_task* task, IndexRange range, Index grain);

void keep_handle(const TaskHandle& handle, basalt_handle* kept);
TaskHandle handle_in(const basalt_handle& kept);

}  // namespace basalt::capi
