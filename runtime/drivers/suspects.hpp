#pragma once

#include "runtime/device/device.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// A task that may be the one whose work lost the device: it is the first of its stream that is not known to have
/// completed, and it waits for no such kernel on another stream. Copies that it waits for may have ended unnoticed.
struct Suspect {
    Task* task;
    StreamRole stream;
};

}  // namespace basalt::detail
