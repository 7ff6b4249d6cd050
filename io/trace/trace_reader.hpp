#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include "basalt/trace.hpp"

namespace basalt {

/// A file without a trace, or with a damaged one. what() is "FILE:LINE: byte OFFSET: " and the reason.
class TraceFileError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Reads the files of write_chrome_trace(), and the complete events (phase X) of other Chrome trace event JSON: an
/// object with "traceEvents", or the array alone. Each thread of a process is a row; a row that the file does not
/// describe counts as a worker. Skips other phases and unknown keys. Times keep their nanoseconds.
///
/// Reads `in` as a stream: it needs memory for the trace, but not for its text. `name` is the file's name, for
/// messages. Throws TraceFileError for text that is not JSON or ends early, for a known key with a value that is not
/// allowed, and for an event without a row, a begin or a duration.
Trace read_chrome_trace(std::istream& in, const std::string& name);

}  // namespace basalt
