#pragma once

#include "basalt/generator.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// How far a square matrix is from its transpose.
struct Asymmetry {
    double largest_element = 0;     ///< max |a_ij|
    double largest_difference = 0;  ///< max |a_ij - a_ji|
    Index row = 0;                  ///< where that is
    Index col = 0;
};

/// Runs as tasks of `runtime` and waits for them. For float and double.
template <class T>
Asymmetry asymmetry(Runtime& runtime, const Generator<T>& matrix);

}  // namespace basalt
