#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// Views of equal shape and strides. Neighbours are `stride` elements apart; with stride 0 all are the same view.
template <class T>
struct Strided {
    View<T> first;
    Index stride = 0;

    View<T> operator[](Index i) const {
        return View<T>(first.data() + i * stride, first.rows(), first.cols(), first.row_stride(), first.col_stride());
    }
};

}  // namespace basalt
