#include "tiles/residual.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <basalt/error.hpp>

namespace basalt {

namespace {

// A block of 64 KiB in double: it stays in the second-level cache between being made and being used.
constexpr Index scratch_rows = 128;
constexpr Index scratch_cols = 64;

void check_system(Index rows, Index cols, Index row_begin, Index row_end, Index x_rows, Index b_rows) {
    if (row_begin < 0 || row_end < row_begin || row_end > rows) {
        throw UsageError("residual: rows [" + std::to_string(row_begin) + ", " + std::to_string(row_end) +
                         ") are not among the matrix's " + std::to_string(rows));
    }
    if (x_rows > cols || b_rows != rows) {
        throw UsageError("residual: x has " + std::to_string(x_rows) + " elements and b " + std::to_string(b_rows) +
                         "; the matrix is " + std::to_string(rows) + " x " + std::to_string(cols));
    }
}

}  // namespace

template <class T>
void subtract_product(View<const T> block, View<const T> x, View<double> residual) {
    if (block.col_stride() == 1) {
        for (Index i = 0; i < block.rows(); ++i) {
            double sum = 0;
            for (Index j = 0; j < block.cols(); ++j) {
                sum += static_cast<double>(block(i, j)) * static_cast<double>(x[j]);
            }
            residual[i] -= sum;
        }
        return;
    }
    for (Index j = 0; j < block.cols(); ++j) {
        const auto factor = static_cast<double>(x[j]);
        for (Index i = 0; i < block.rows(); ++i) residual[i] -= static_cast<double>(block(i, j)) * factor;
    }
}

template <class T>
ResidualNorms residual_norms(const Generator<T>& generator, Index row_begin, Index row_end, View<const T> x,
                             View<const T> b) {
    check_system(generator.rows(), generator.cols(), row_begin, row_end, x.rows(), b.rows());
    std::vector<T> scratch(scratch_rows * scratch_cols);
    std::vector<double> residual(scratch_rows);
    ResidualNorms norms;
    for (Index row = row_begin; row < row_end; row += scratch_rows) {
        const Index rows = std::min(scratch_rows, row_end - row);
        for (Index i = 0; i < rows; ++i) {
            residual[i] = static_cast<double>(b[row + i]);
            norms.rhs = max_or_nan(norms.rhs, std::abs(residual[i]));
        }
        InfinityNorm matrix(rows, row);
        for (Index col = 0; col < x.rows(); col += scratch_cols) {
            const Index cols = std::min(scratch_cols, x.rows() - col);
            const auto block = View<T>::column_major(scratch.data(), rows, cols, scratch_rows);
            generator.fill(block, row, col);
            subtract_product<T>(block, x.block(col, 0, cols, 1), View<double>(residual.data(), rows));
            matrix.accumulate<T>(block, row, col);
        }
        norms.matrix = max_or_nan(norms.matrix, matrix.value());
        for (Index i = 0; i < rows; ++i) norms.residual = max_or_nan(norms.residual, std::abs(residual[i]));
    }
    return norms;
}

template void subtract_product(View<const float>, View<const float>, View<double>);
template void subtract_product(View<const double>, View<const double>, View<double>);
template ResidualNorms residual_norms(const Generator<float>&, Index, Index, View<const float>, View<const float>);
template ResidualNorms residual_norms(const Generator<double>&, Index, Index, View<const double>, View<const double>);

}  // namespace basalt
