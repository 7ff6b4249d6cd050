#include "tasks/mixed/low_factors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tasks/mixed/scaling.hpp"

namespace basalt::detail {

LowFactors::LowFactors(Runtime& runtime, LoweredMatrix& lowered, const MixedOptions& options, ProductPrecision products,
                       FactorMode mode)
    : rt_(runtime), lowered_(lowered), method_(options.method) {
    if (method_ == MixedMethod::cholesky) {
        CholeskyOptions cholesky = options.cholesky;
        cholesky.mode = mode;
        cholesky.products = products;
        cholesky.keep_other_side = false;
        cholesky_ = cholesky_factor(runtime, lowered.matrix(), Triangle::lower, cholesky);
        cholesky_prepare_solves(runtime, cholesky_);
    } else {
        LuOptions lu = options.lu;
        lu.mode = mode;
        lu.products = products;
        lu.left_interchanges = true;
        lu_ = lu_factor(runtime, lowered.matrix(), lu);
        lu_prepare_solves(runtime, lu_);
    }
}

bool LowFactors::are_complete() const {
    return (method_ == MixedMethod::cholesky ? cholesky_.info() : lu_.info()) == 0;
}

void LowFactors::solve_augmented(Vectors& x) {
    const Matrix<float> solution = lu_solve_augmented(rt_, lu_);
    take(solution, lowered_.augmented_scales(), x);
}

void LowFactors::solve(const Vectors& b, Vectors& x) {
    const Index n = b.n(), k = b.k();
    const std::vector<double>& rows = lowered_.factors().rows;
    std::vector<double> scales;
    std::vector<float> rounded(static_cast<std::size_t>(n * k));
    for (Index c = 0; c < k; ++c) {
        double largest = 0;
        for (Index i = 0; i < n; ++i) {
            largest = std::max(largest, std::abs(b(i, c) * rows[static_cast<std::size_t>(i)]));
        }
        const double scale = power_to_one(largest);
        for (Index i = 0; i < n; ++i) {
            const double scaled = b(i, c) * rows[static_cast<std::size_t>(i)] * scale;
            rounded[static_cast<std::size_t>(i * k + c)] = static_cast<float>(scaled);
        }
        scales.push_back(scale);
    }
    if (vectors_.rows() != n || vectors_.cols() != k) {
        const TileShape shape = lowered_.matrix().tile_shape();
        vectors_ = Matrix<float>(rt_, n, k, {shape.height, std::clamp<Index>(k, 1, shape.width)}, "corrections");
    }
    vectors_.load(View<const float>::row_major(rounded.data(), n, k, k));
    if (method_ == MixedMethod::cholesky) {
        cholesky_solve(rt_, cholesky_, vectors_);
    } else {
        lu_solve(rt_, lu_, vectors_);
    }
    take(vectors_, scales, x);
}

/// x = C y / scale for the scaled solution y.
void LowFactors::take(const Matrix<float>& solution, const std::vector<double>& scales, Vectors& x) const {
    const std::vector<double>& cols = lowered_.factors().cols;
    const Index width = solution.tile_shape().width;
    for (Index c = 0; c < x.k(); ++c) {
        const View<float> column = solution.host_view(c / width);
        const double scale = 1 / scales[static_cast<std::size_t>(c)];
        for (Index i = 0; i < x.n(); ++i) {
            x(i, c) = static_cast<double>(column(i, c % width)) * cols[static_cast<std::size_t>(i)] * scale;
        }
    }
}

}  // namespace basalt::detail
