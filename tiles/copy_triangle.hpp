#pragma once

#include <algorithm>

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

#include "tiles/copy.hpp"

namespace basalt {

/// target(i, j) = source(i, j) for one triangle of two squares of equal order, the diagonal included, as
/// copy_elements() otherwise.
template <class T>
void copy_square_triangle(Triangle triangle, View<const T> source, View<T> target) {
    constexpr Index square_order = 32;  // on the diagonal, of squares that are copied by element
    const Index n = source.rows();
    for (Index j = 0; j < n; j += square_order) {
        const Index cols = std::min(square_order, n - j), end = j + cols;
        const bool lower = triangle == Triangle::lower;
        const Index first = lower ? end : 0, rows = lower ? n - end : j;
        copy_elements<T>(source.block(first, j, rows, cols), target.block(first, j, rows, cols));
        for (Index c = j; c < end; ++c) {
            for (Index i = lower ? c : j; i < (lower ? end : c + 1); ++i) target(i, c) = source(i, c);
        }
    }
}

}  // namespace basalt
