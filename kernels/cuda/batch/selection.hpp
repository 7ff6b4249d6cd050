#pragma once

#include <basalt/batch.hpp>

#include "kernels/cuda/batch/small.hpp"
#include "kernels/on_stream/batch_shapes.hpp"

/// Batches whose matrices have different shapes: a kernel for each class of sizes, which leaves the other matrices
/// alone. A batch of one shape has one class.
namespace basalt::cuda_detail::batch {

using Shapes = on_stream::BatchShapes;

/// A class of sizes above + 1 ... most. The size is the larger side of small matrices and of wide ones, otherwise the
/// number of rows. All matrices of a class have the kernel of the largest one.
struct Selection {
    Shapes shapes = Shapes::any;
    bool small = false;  ///< up to 32 rows and columns
    int above = 0, most = 0;

    /// Whether the matrix, of a list with these bounds, is of the class.
    template <class T>
    BASALT_DEVICE constexpr bool takes(const View<T>& bounds, const View<T>& matrix) const {
        if (!on_stream::treats(shapes, bounds, matrix)) return false;
        const Index rows = matrix.rows(), cols = matrix.cols(), larger = rows > cols ? rows : cols;
        if (small != (larger <= lanes)) return false;
        const Index size = small || shapes == Shapes::wide ? larger : rows;
        return size > above && size <= most;
    }
};

/// Calls f(selection) for the class of a uniform batch, or for all classes of a list that its bounds allow. Small
/// matrices have the classes of SmallShape, others one for each number of warps.
template <class T, class F>
void for_each_class(const BatchView<T>& a, Shapes shapes, const F& f) {
    const int rows = static_cast<int>(a.shape().rows()), cols = static_cast<int>(a.shape().cols());
    const int larger = rows > cols ? rows : cols, size = shapes == Shapes::wide ? larger : rows;
    if (a.uniform()) return f(Selection{shapes, larger <= lanes, -1, larger <= lanes ? larger : size});
    int above = -1;
    for (const int bound : {4, 8, 16, 24, lanes}) {
        const int most = bound < larger ? bound : larger;
        f(Selection{shapes, true, above, most});
        if (most == larger) return;
        above = most;
    }
    // only Shapes::any has matrices of at most 32 rows here: those with more columns
    for (above = shapes == Shapes::any ? -1 : lanes; above < size;) {
        const int next = above < 0 ? lanes : above + lanes, most = next < size ? next : size;
        f(Selection{shapes, false, above, most});
        above = most;
    }
}

}  // namespace basalt::cuda_detail::batch
