#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include "basalt/trace.hpp"

namespace basalt {

/// A file that holds no trace, or a broken one. what() is "FILE:LINE: byte OFFSET: " and the reason.
class TraceFileError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads what write_chrome_trace() writes, and other Chrome trace event JSON as far as it has complete events
/// (phase X): an object with "traceEvents" or the array alone. A row is a thread of a process; one that the file does
/// not describe is taken for a worker. Other phases and unknown keys are skipped. Times keep their nanoseconds.
///
/// Reads `in` as a stream: memory is needed for the trace, not for its text. `name` is the file's, for errors.
/// Throws TraceFileError for text that is not JSON or ends early, for a known key with a value it cannot have, and
/// for an event without row, begin or duration.
Trace read_chrome_trace(std::istream& in, const std::string& name);

}  // namespace basalt
