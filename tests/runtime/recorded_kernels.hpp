#pragma once

#include <stdexcept>

#include "basalt/array.hpp"

/// Small kernels for tests of recordings.
namespace basalt_tests {

inline void increment(basalt::View<long> x) { ++x[0]; }
/// Does not commute with increment().
inline void twice(basalt::View<long> x) { x[0] *= 2; }
inline void fail(basalt::View<long>) { throw std::runtime_error("boom"); }

inline long value(const basalt::Array<long>& x) { return x.host_view()[0]; }

}  // namespace basalt_tests
