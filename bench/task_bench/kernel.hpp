#pragma once

#include <cstdint>

namespace bench {

/// Task Bench's compute-bound kernel: in each iteration every lane of a few vectors becomes x * x + x, by fused
/// multiply-adds where the processor has them. The vectors are independent, so that its units are busy; the iterations
/// of one are a chain. Touches no memory. About 1.5 ns an iteration.
double multiply_add(std::int64_t iterations);

}  // namespace bench
