#pragma once

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

namespace basalt {

/// Which side of the unknown the triangular matrix stands on: left is T X = B, right is X T = B.
enum class Side { left, right };

/// Whether the diagonal is read or taken to be ones.
enum class Diagonal { stored, unit };

/// The transposed window: same elements, strides exchanged. A lower triangle becomes an upper one.
template <class T>
constexpr View<T> transposed(View<T> a) {
    return View<T>(a.data(), a.cols(), a.rows(), a.col_stride(), a.row_stride());
}

}  // namespace basalt
