#pragma once

#include <cstdint>

#include "basalt/task_options.hpp"

namespace basalt {

/// A stretch of the program that traces show, from construction to destruction: `const Span span("assembly");`.
///
/// Inside a task it goes to the trace of the task's runtime, as a bar in the task's own. Outside of tasks it goes to
/// the trace of every runtime that records one when it ends; each such thread has a row of its own. A span that began
/// before any trace did is not recorded. While nothing records it costs a load and a branch.
///
/// The same thread constructs and destroys it, in reverse order of other spans. Thread-safe otherwise.
class [[nodiscard]] Span {
  public:
    explicit Span(TaskName name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

  private:
    const char* name_;
    std::int64_t begin_ns_;  ///< 0: not recorded
};

/// The value of a quantity from now on, such as a residual or a number of bytes: a curve in the same traces that a Span
/// would go to. Thread-safe.
void counter(TaskName name, double value);

}  // namespace basalt
