#pragma once

#include "lapack/call.hpp"

namespace basalt::lapack {

/// Calls the program's XERBLA (find_xerbla()), "xerbla_" in the spelling of the call, as LAPACK does when argument
/// number `argument` is not allowed. Without any, says so on standard error.
void call_xerbla(const char* spelling, const void* caller, const Call& call, int argument);

}  // namespace basalt::lapack
