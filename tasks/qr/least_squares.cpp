// Least squares and solutions of least norm of matrices in tiles.
#include <algorithm>
#include <string>

#include "basalt/qr.hpp"
#include "kernels/triangle.hpp"
#include "tasks/qr/copy_plan.hpp"
#include "tiles/copy.hpp"

namespace basalt {

namespace {

/// to = from^T on the cores: a task for each pair of tile columns.
template <class T>
void submit_transposition(Runtime& runtime, const Matrix<T>& from, const Matrix<T>& to) {
    Index col = 0;
    for (Index j = 0; j < from.tile_cols(); ++j) {
        const Index width = from.column(j).cols;
        Index row = 0;
        for (Index i = 0; i < to.tile_cols(); ++i) {
            const Index height = to.column(i).cols;
            runtime.submit(
                {.name = "transpose", .tile = {static_cast<int>(i), static_cast<int>(j)}, .place = Place::cpu()},
                read(from.block(j, row, row + height, 0, width)), write(to.block(i, col, col + width, 0, height)),
                [](View<const T> a, View<T> b) { copy_elements<T>(transposed(a), b); });
            row += height;
        }
        col += width;
    }
}

}  // namespace

template <class T>
QrFactors<T> least_squares(Runtime& runtime, Matrix<T>& a, Matrix<T>& b, const QrOptions& options) {
    const Index rows = std::max(a.rows(), a.cols());
    if (b.rows() != rows) {
        throw UsageError("least_squares: B has " + std::to_string(b.rows()) + " rows; allowed is the larger of A's " +
                         std::to_string(a.rows()) + " x " + std::to_string(a.cols()));
    }
    if (&a.runtime() != &runtime || &b.runtime() != &runtime)
        throw UsageError("least_squares: A, B and runtime do not belong together");
    if (a.rows() >= a.cols()) {
        auto qr = qr_factor(runtime, a, options);
        qr_solve(runtime, qr, b);
        return qr;
    }
    const detail::QrCopyPlan<T> plan(runtime, options, a.cols(), a.rows());
    Matrix<T> transpose(runtime, a.cols(), a.rows(), plan.tile, "A^T");
    submit_transposition(runtime, a, transpose);
    auto qr = qr_factor(runtime, transpose, plan.options);
    qr_solve_transposed(runtime, qr, b);
    return qr;
}

template QrFactors<float> least_squares(Runtime&, Matrix<float>&, Matrix<float>&, const QrOptions&);
template QrFactors<double> least_squares(Runtime&, Matrix<double>&, Matrix<double>&, const QrOptions&);

}  // namespace basalt
