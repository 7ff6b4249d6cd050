#pragma once

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

namespace basalt {

/// The transposed window: same elements, strides exchanged. A lower triangle becomes an upper one.
template <class T>
constexpr View<T> transposed(View<T> a) {
    return View<T>(a.data(), a.cols(), a.rows(), a.col_stride(), a.row_stride());
}
constexpr Triangle transposed(Triangle triangle) {
    return triangle == Triangle::lower ? Triangle::upper : Triangle::lower;
}

}  // namespace basalt
