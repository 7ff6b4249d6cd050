#pragma once

#include <exception>
#include <string>
#include <vector>

#include "runtime/device/device.hpp"
#include "runtime/graph/task.hpp"

namespace basalt::detail {

/// A task that may be the one whose work lost the device: it is the first of its stream that is not known to have
/// completed, and it waits for no such kernel on another stream. Copies that it waits for may have ended unnoticed.
struct Suspect {
    Task* task;
    StreamRole stream;
};

/// Tasks that compute, if there are any: copies rarely fault.
std::vector<Suspect> most_likely(std::vector<Suspect> suspects);

/// What the error of `suspects[chosen]` says. `why` is what a call of the lost device said, which came after the fault
/// and may have been about any task.
std::string fault_text(const std::vector<Suspect>& suspects, std::size_t chosen, const std::string& why);

}  // namespace basalt::detail
