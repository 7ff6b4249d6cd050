#pragma once

#include "basalt/device.hpp"

namespace basalt_tests {

/// Launches a kernel with more threads in a block than any GPU has, and does not ask for the error.
void launch_too_large_a_block(basalt::Stream stream);

/// Launches a kernel that is aborted after a while.
void launch_trap(basalt::Stream stream);

/// Launches a kernel of one thread that takes so long.
void launch_spin(basalt::Stream stream, long long nanoseconds);

}  // namespace basalt_tests
