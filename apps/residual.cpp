#include "apps/residual.hpp"

#include <algorithm>
#include <cmath>

namespace basalt {

namespace {

// A block is made in a scratch array of 256 KiB of double: it stays in cache while it is used.
constexpr Index block_rows = 256;
constexpr Index block_cols = 128;

double larger(double a, double b) {
    return a > b || std::isnan(a) ? a : b;
}

/// Calls use(block, first_col) for the blocks of rows [row, row + rows), from left to right.
template <class T, class Use>
void for_blocks(const Generator<T>& generator, Index row, Index rows, Index first_col, Index end_col,
                const Use& use) {
    std::vector<T> scratch(static_cast<std::size_t>(block_rows * block_cols));
    for (Index col = first_col; col < end_col; col += block_cols) {
        const Index cols = std::min(block_cols, end_col - col);
        const auto block = View<T>::column_major(scratch.data(), rows, cols, rows);
        generator.fill(block, row, col);
        use(View<const T>(block), col);
    }
}

/// The norms of rows [row, row + rows).
template <class T>
SystemNorms norms_of_rows(const Generator<T>& generator, Index row, Index rows, const std::vector<double>& x,
                          const std::vector<double>& b) {
    std::vector<double> residual(b.begin() + row, b.begin() + row + rows);
    std::vector<double> row_sums(static_cast<std::size_t>(rows), 0.0);
    for_blocks(generator, row, rows, 0, std::ssize(x), [&](View<const T> block, Index first_col) {
        for (Index j = 0; j < block.cols(); ++j) {
            const double x_j = x[static_cast<std::size_t>(first_col + j)];
            const T* column = &block(0, j);
            for (Index i = 0; i < rows; ++i) {
                const auto a = static_cast<double>(column[i]);
                residual[static_cast<std::size_t>(i)] -= a * x_j;
                row_sums[static_cast<std::size_t>(i)] += std::abs(a);
            }
        }
    });
    return {max_magnitude(residual), max_magnitude(row_sums)};
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
                    sums[static_cast<std::size_t>(first_col - col + j)] +=
                        std::abs(static_cast<double>(block(i, j)));
                }
            }
        });
    }
    return max_magnitude(sums);
}

}  // namespace

double max_magnitude(const std::vector<double>& x) {
    double largest = 0;
    for (const double value : x) largest = larger(largest, std::abs(value));
    return largest;
}

template <class T>
SystemNorms system_norms(Runtime& runtime, const Generator<T>& generator, const std::vector<double>& x,
                         const std::vector<double>& b) {
    std::vector<SystemNorms> parts(
        static_cast<std::size_t>((generator.rows() + block_rows - 1) / block_rows));
    for (Index part = 0; part < std::ssize(parts); ++part) {
        runtime.submit({.name = "residual"}, [&, part] {
            const Index row = part * block_rows;
            const Index rows = std::min(block_rows, generator.rows() - row);
            parts[static_cast<std::size_t>(part)] = norms_of_rows(generator, row, rows, x, b);
        });
    }
    runtime.wait();
    SystemNorms norms;
    for (const auto& part : parts) {
        norms.residual_inf = larger(part.residual_inf, norms.residual_inf);
        norms.a_inf = larger(part.a_inf, norms.a_inf);
    }
    return norms;
}

template <class T>
double one_norm(Runtime& runtime, const Generator<T>& generator, Index cols) {
    std::vector<double> parts(static_cast<std::size_t>((cols + block_cols - 1) / block_cols));
    for (Index part = 0; part < std::ssize(parts); ++part) {
        runtime.submit({.name = "one norm"}, [&, part] {
            const Index col = part * block_cols;
            parts[static_cast<std::size_t>(part)] =
                one_norm_of_cols(generator, col, std::min(block_cols, cols - col));
        });
    }
    runtime.wait();
    return max_magnitude(parts);
}

template SystemNorms system_norms(Runtime&, const Generator<float>&, const std::vector<double>&,
                                  const std::vector<double>&);
template SystemNorms system_norms(Runtime&, const Generator<double>&, const std::vector<double>&,
                                  const std::vector<double>&);
template double one_norm(Runtime&, const Generator<float>&, Index);
template double one_norm(Runtime&, const Generator<double>&, Index);

}  // namespace basalt
