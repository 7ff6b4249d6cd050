#pragma once

#include <cstddef>

#include "lapack/call.hpp"

namespace basalt::lapack {

/// Has the engine execute a call; loads it from this library's folder if it is not there. False if that is not possible
/// or fails: then the arrays are as they were, and `reason` says why. Also false for calls that the engine itself
/// causes.
bool execute(Call& call, char* reason, std::size_t size);

/// Whether the calling thread is inside the engine.
bool inside_engine();

/// Whether this process was forked while another thread was in a call that began before any was done. It cannot use the
/// engine: what that thread left half done may keep it from ever going on.
bool forked_at_first_call();

}  // namespace basalt::lapack
