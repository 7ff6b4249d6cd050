#pragma once

#include "lapack/abi/rule.hpp"
#include "lapack/call.hpp"

namespace basalt::lapack {

/// Whether BASALT_LAPACK_LOG names a file.
bool log_is_on();

/// Seconds of a steady clock.
double now();

/// Appends a line about a call to the log: `symbol`, the shape, "taken" or "passed on" and why, seconds and rate. The
/// file is opened at the first line. Processes may share it: a line is one write. Thread-safe.
void log_call(const char* symbol, const Call& call, const Decision& decision, double seconds);

/// Appends a line about a query for the size of the workspace.
void log_query(const char* symbol, const Call& call);

/// Appends a line about a call with a wrong argument.
void log_refusal(const char* symbol, int argument);

}  // namespace basalt::lapack
