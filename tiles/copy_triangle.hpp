#pragma once

#include <algorithm>

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

#include "tiles/copy.hpp"
#include "tiles/transposed.hpp"

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

/// target(i, j) = 0 for i >= j + offset (lower) or i <= j + offset (upper).
template <class T>
void zero_triangle(Triangle triangle, Index offset, View<T> target) {
    if (target.row_stride() != 1) {
        triangle = transposed(triangle);
        offset = -offset;
        target = transposed(target);
    }
    for (Index j = 0; j < target.cols(); ++j) {
        const bool lower = triangle == Triangle::lower;
        const Index edge = std::clamp<Index>(lower ? j + offset : j + offset + 1, 0, target.rows());
        for (Index i = lower ? edge : 0; i < (lower ? target.rows() : edge); ++i) target(i, j) = T{0};
    }
}

/// zero_triangle()'s offset for what is on the other side of a triangle whose first column has its diagonal in row
/// `diagonal`.
constexpr Index offset_of_other_side(Triangle triangle, Index diagonal) {
    return triangle == Triangle::lower ? diagonal - 1 : diagonal + 1;
}
template <class T>
void zero_other_side(Triangle triangle, Index diagonal, View<T> target) {
    zero_triangle<T>(transposed(triangle), offset_of_other_side(triangle, diagonal), target);
}

}  // namespace basalt
