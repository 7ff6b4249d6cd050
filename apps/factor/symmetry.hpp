#pragma once

#include <limits>
#include <string>

#include "basalt/generator.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// How far a square matrix is from its transpose.
struct Asymmetry {
    double largest_element = 0;     ///< max |a_ij|
    double largest_difference = 0;  ///< max |a_ij - a_ji|
    Index row = 0;                  ///< of that difference
    Index col = 0;
};

/// Whether a matrix of order n passes for symmetric: the asymmetry is no larger than what the rounding of a
/// factorization in T adds to the matrix.
template <class T>
bool is_rounding(const Asymmetry& found, Index n) {
    return found.largest_difference <=
           static_cast<double>(n) * std::numeric_limits<T>::epsilon() * found.largest_element;
}

/// "elements (3, 1) and (1, 3) differ by 0.5", counted from 1.
std::string text_of(const Asymmetry& found);

/// Runs as tasks of `runtime` and waits for them. For float and double.
template <class T>
Asymmetry asymmetry(Runtime& runtime, const Generator<T>& matrix);

}  // namespace basalt
