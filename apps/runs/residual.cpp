#include "apps/runs/residual.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "basalt/products.hpp"

namespace basalt {

namespace {

// A block of doubles is a scratch array of 256 KiB, which stays in the cache while it is used.
constexpr Index block_rows = 256;
constexpr Index block_cols = 128;

double larger(double a, double b) { return a > b || std::isnan(a) ? a : b; }

/// Calls use(block, first_col) for the blocks of rows [row, row + rows), from left to right.
template <class T, class Use>
void for_blocks(const Generator<T>& generator, Index row, Index rows, Index first_col, Index end_col, const Use& use) {
    std::vector<T> scratch(static_cast<std::size_t>(block_rows * block_cols));
    for (Index col = first_col; col < end_col; col += block_cols) {
        const Index cols = std::min(block_cols, end_col - col);
        const auto block = View<T>::column_major(scratch.data(), rows, cols, rows);
        generator.fill(block, row, col);
        use(View<const T>(block), col);
    }
}

/// residual -= A(row : row + rows, :) X for one block of rows. Returns the largest row sum of |A| in it.
template <class T>
double subtract_product(const Generator<T>& generator, Index row, View<const double> x, View<double> residual) {
    const Index rows = residual.rows();
    std::vector<double> row_sums(static_cast<std::size_t>(rows), 0.0);
    for_blocks(generator, row, rows, 0, x.rows(), [&](View<const T> block, Index first_col) {
        for (Index j = 0; j < block.cols(); ++j) {
            const T* const a = &block(0, j);
            for (Index i = 0; i < rows; ++i)
                row_sums[static_cast<std::size_t>(i)] += std::abs(static_cast<double>(a[i]));
            for (Index k = 0; k < x.cols(); ++k) {
                const double factor = x(first_col + j, k);
                double* const r = residual.data() + k * residual.col_stride();
                for (Index i = 0; i < rows; ++i) r[i] -= static_cast<double>(a[i]) * factor;
            }
        }
    });
    return max_magnitude(row_sums);
}

/// The largest column sum of |A| among columns [col, col + cols).
template <class T>
double one_norm_of_cols(const Generator<T>& generator, Index col, Index cols) {
    std::vector<double> sums(static_cast<std::size_t>(cols), 0.0);
    for (Index row = 0; row < generator.rows(); row += block_rows) {
        const Index rows = std::min(block_rows, generator.rows() - row);
        for_blocks(generator, row, rows, col, col + cols, [&](View<const T> block, Index first_col) {
            for (Index j = 0; j < block.cols(); ++j) {
                for (Index i = 0; i < rows; ++i) {
                    sums[static_cast<std::size_t>(first_col - col + j)] += std::abs(static_cast<double>(block(i, j)));
                }
            }
        });
    }
    return max_magnitude(sums);
}

}  // namespace

double max_magnitude(View<const double> x) {
    double largest = 0;
    for (Index i = 0; i < x.rows(); ++i) largest = larger(largest, std::abs(x[i]));
    return largest;
}

double max_magnitude(const std::vector<double>& x) {
    return max_magnitude(View<const double>(x.data(), std::ssize(x)));
}

double Residuals::column_norm(Index j, Index rows) const {
    return max_magnitude(View<const double>(elements.data() + j * rows, rows));
}

template <class T>
Residuals residuals(Runtime& runtime, const Generator<T>& generator, View<const double> x, View<const double> b) {
    Residuals result;
    result.elements.resize(static_cast<std::size_t>(b.size()));
    const auto all = View<double>::column_major(result.elements.data(), b.rows(), b.cols(), b.rows());
    std::vector<double> sums(static_cast<std::size_t>((b.rows() + block_rows - 1) / block_rows));
    for (Index part = 0; part < std::ssize(sums); ++part) {
        runtime.submit({.name = "residual"}, [&, part] {
            const Index row = part * block_rows;
            const auto mine = all.block(row, 0, std::min(block_rows, b.rows() - row), b.cols());
            for (Index k = 0; k < mine.cols(); ++k) {
                for (Index i = 0; i < mine.rows(); ++i) mine(i, k) = b(row + i, k);
            }
            sums[static_cast<std::size_t>(part)] = subtract_product(generator, row, x, mine);
        });
    }
    runtime.wait();
    result.a_inf = max_magnitude(sums);
    return result;
}

template <class T>
SystemNorms system_norms(Runtime& runtime, const Generator<T>& generator, const std::vector<double>& x,
                         const std::vector<double>& b) {
    const auto column = [](const std::vector<double>& v) { return View<const double>(v.data(), std::ssize(v)); };
    const Residuals all = residuals(runtime, generator, column(x), column(b));
    return {max_magnitude(all.elements), all.a_inf};
}

template <class T>
SystemNorms system_norms_on_gpus(Runtime& runtime, const Matrix<T>& matrix, std::vector<double> x,
                                 std::vector<double> b) {
    std::vector<double> row_sums(b.size(), 0.0), ones(x.size(), 1.0);
    const auto wrap = [&](std::vector<double>& v) { return Array<double>::wrap(runtime, v.data(), std::ssize(v)); };
    subtract_product(runtime, matrix, MatrixPart::all, wrap(x), wrap(b));
    subtract_product(runtime, matrix, MatrixPart::magnitudes, wrap(ones), wrap(row_sums));
    return {max_magnitude(b), max_magnitude(row_sums)};
}

template <class T>
double one_norm(Runtime& runtime, const Generator<T>& generator, Index cols) {
    std::vector<double> parts(static_cast<std::size_t>((cols + block_cols - 1) / block_cols));
    for (Index part = 0; part < std::ssize(parts); ++part) {
        runtime.submit({.name = "one norm"}, [&, part] {
            const Index col = part * block_cols;
            parts[static_cast<std::size_t>(part)] = one_norm_of_cols(generator, col, std::min(block_cols, cols - col));
        });
    }
    runtime.wait();
    return max_magnitude(parts);
}

template Residuals residuals(Runtime&, const Generator<float>&, View<const double>, View<const double>);
template Residuals residuals(Runtime&, const Generator<double>&, View<const double>, View<const double>);
template SystemNorms system_norms(Runtime&, const Generator<float>&, const std::vector<double>&,
                                  const std::vector<double>&);
template SystemNorms system_norms(Runtime&, const Generator<double>&, const std::vector<double>&,
                                  const std::vector<double>&);
template SystemNorms system_norms_on_gpus(Runtime&, const Matrix<float>&, std::vector<double>, std::vector<double>);
template SystemNorms system_norms_on_gpus(Runtime&, const Matrix<double>&, std::vector<double>, std::vector<double>);
template double one_norm(Runtime&, const Generator<float>&, Index);
template double one_norm(Runtime&, const Generator<double>&, Index);

}  // namespace basalt
