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

}  // namespace basalt::lapack
