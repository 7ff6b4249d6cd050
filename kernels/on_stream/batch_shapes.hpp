#pragma once

#include <cstdint>

#include <basalt/batch.hpp>

/// Which matrices of a list of different shapes a call treats. The callers have checked its bounds only, because the
/// list may lie in a GPU's memory.
namespace basalt::on_stream {

/// A matrix with more columns than rows, or without columns.
template <class T>
constexpr bool is_wide(const View<T>& matrix) {
    return matrix.rows() < matrix.cols() || matrix.cols() == 0;
}

/// Tall matrices are those that are not wide.
enum class BatchShapes : std::uint8_t { any, square, tall, wide };

/// Columns of a matrix are no further apart in a list, so that int numbers all elements.
constexpr Index most_listed_ld = Index{1} << 21;

/// Whether a call for such shapes treats the matrix, of a list with these bounds. Others have the INFO -1.
template <class T>
constexpr bool treats(BatchShapes shapes, const View<T>& bounds, const View<T>& matrix) {
    const Index rows = matrix.rows(), cols = matrix.cols(), ld = matrix.col_stride();
    const bool well_formed = rows >= 0 && rows <= bounds.rows() && cols >= 0 && cols <= bounds.cols() &&
                             matrix.row_stride() == 1 && ld >= rows && ld <= most_listed_ld;
    return well_formed &&
           (shapes == BatchShapes::any || (shapes == BatchShapes::square && rows == cols) ||
            (shapes == BatchShapes::tall && !is_wide(matrix)) || (shapes == BatchShapes::wide && is_wide(matrix)));
}

/// For the CPU twins: f(begin, end) for the whole of a uniform batch, or for each matrix of a list that the call
/// treats. INFO of the others becomes -1, unless info is null. A list without bounds was checked already.
template <class T, class F>
void for_each_treated(BatchShapes shapes, const BatchView<T>& a, Index* info, const F& f) {
    if (a.uniform() || !a.bounded()) return f(Index{0}, a.count());
    for (Index k = 0; k < a.count(); ++k) {
        if (treats(shapes, a.shape(), a[k])) {
            f(k, k + 1);
        } else if (info != nullptr) {
            info[k] = -1;
        }
    }
}

/// The part of `batch` that belongs to matrices begin ... end - 1 of A. For a list it is cut to the rows(matrix) rows
/// that are used.
template <class U, class T, class Rows>
BatchView<U> belonging(const BatchView<U>& batch, const BatchView<T>& a, Index begin, Index end, const Rows& rows) {
    if (a.uniform() || !a.bounded()) return batch.part(begin, end);
    const View<U> own = batch[begin];
    return BatchView<U>::strided(own.data(), 1, rows(a[begin]), batch.shape().cols(), own.col_stride(), 0);
}

/// rows(matrix) of what has a row for each row of the matrix.
inline constexpr auto as_many_rows = [](const auto& matrix) { return matrix.rows(); };

}  // namespace basalt::on_stream
