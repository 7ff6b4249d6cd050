#include "tasks/mixed/low_factors.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "basalt/error.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/lu/factor.hpp"
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
        factor_by_lu(lu);
    }
}

void LowFactors::factor_by_lu(const LuOptions& options) {
    const ProductPrecision products = options.products.value();
    std::optional<SubmitTo> here;
    std::function<void(const Panel&)> look;
    if (!inside_task(rt_)) {
        graph_ = std::make_unique<Graph>(rt_);
        cancelled_together_.emplace(rt_, *graph_);
        here.emplace(*graph_);
        if (roundoff_of(products) <= roundoff_of(ProductPrecision::split_fp16)) {
            watch_.emplace(*graph_, *lowered_.matrix().share_storage(), products, lowered_.where());
            look = [this](const Panel& panel) { watch_->look(panel); };
        }
    }
    lu_ = lu_factor_observed(rt_, lowered_.matrix(), options, look);
    lu_prepare_solves(rt_, lu_);
}

bool LowFactors::are_complete() {
    try {
        if (graph_ != nullptr) graph_->wait();
    } catch (const Cancelled&) {  // by the watch, or with the caller's graph, whose wait() tells it
        return false;
    }
    return (method_ == MixedMethod::cholesky ? cholesky_.info() : lu_.info()) == 0;
}

basalt::Substitution LowFactors::choose_substitution(const MixedOptions& options, const DoubleColumns& a,
                                                     Index right_hand_sides) {
    const basalt::Substitution wanted = options.substitution;
    const bool by_blocks = wanted == basalt::Substitution::blocked_backward || wanted == basalt::Substitution::blocked;
    if (by_blocks && BlockedSubstitution::is_possible(lu_, right_hand_sides)) {
        blocks_ = std::make_unique<BlockedSubstitution>(rt_, a, lowered_, lu_, options, right_hand_sides);
        return wanted;
    }
    if (wanted == basalt::Substitution::cores && lowered_.on_gpus()) bring_to_host();
    const std::size_t bytes = static_cast<std::size_t>(a.order() * right_hand_sides) * sizeof(float);
    return gpus_to_solve_on(*lowered_.matrix().share_storage(), bytes).empty() ? basalt::Substitution::cores
                                                                               : basalt::Substitution::gpu;
}

/// Cores solve with factors that are in the host's memory, even if GPUs have them too.
void LowFactors::bring_to_host() const {
    const MatrixStorage& storage = *lowered_.matrix().share_storage();
    for (Index j = 0; j < storage.grid().tile_cols(); ++j) {
        rt_.prefetch(lowered_.matrix().column(j), Place::cpu());
    }
}

void LowFactors::solve_augmented(Vectors& x) {
    const Matrix<float> solution = lu_solve_augmented(rt_, lu_);
    take(solution, lowered_.augmented_scales(), x);
}

void LowFactors::solve_augmented(const Vectors& b, Vectors& x, Vectors& rest) {
    blocks_->solve_augmented(lowered_.augmented_scales(), b, x, rest);
}

void LowFactors::solve(const Vectors& b, Vectors& x, Vectors& rest) {
    const std::vector<double> scales = load(b);
    blocks_->solve(vectors_, scales, b, x, rest);
}

void LowFactors::solve(const Vectors& b, Vectors& x) {
    const std::vector<double> scales = load(b);
    if (method_ == MixedMethod::cholesky) {
        cholesky_solve(rt_, cholesky_, vectors_);
    } else {
        lu_solve(rt_, lu_, vectors_);
    }
    take(vectors_, scales, x);
}

std::vector<double> LowFactors::load(const Vectors& b) {
    const Index n = b.n(), k = b.k();
    const double* const rows = lowered_.factors().rows.data();
    std::vector<double> scales;
    rounded_.resize(static_cast<std::size_t>(n * k));
    for (Index c = 0; c < k; ++c) {
        const double scale = power_to_one(b.scaled_norm(c, lowered_.factors().rows));
        const View<const double> from = b.view().block(0, c, n, 1);
        const auto to = View<float>::row_major(rounded_.data() + c, n, 1, k);
        for (Index i = 0; i < n; ++i) to[i] = static_cast<float>(from[i] * rows[i] * scale);
        scales.push_back(scale);
    }
    if (vectors_.rows() != n || vectors_.cols() != k) {
        const TileShape shape = lowered_.matrix().tile_shape();
        const Index most = std::max(shape.width, few_right_hand_sides);
        vectors_ = Matrix<float>(rt_, n, k, {shape.height, std::clamp<Index>(k, 1, most)}, "corrections");
    }
    vectors_.load(View<const float>::row_major(rounded_.data(), n, k, k));
    return scales;
}

/// x = C y / scale for the scaled solution y.
void LowFactors::take(const Matrix<float>& solution, const std::vector<double>& scales, Vectors& x) const {
    const double* const cols = lowered_.factors().cols.data();
    const Index width = solution.tile_shape().width;
    for (Index c = 0; c < x.k(); ++c) {
        const View<float> tile_column = solution.host_view(c / width);
        const View<float> from = tile_column.block(0, c % width, x.n(), 1);
        const View<double> to = x.view().block(0, c, x.n(), 1);
        const double scale = 1 / scales[static_cast<std::size_t>(c)];
        for (Index i = 0; i < x.n(); ++i) to[i] = static_cast<double>(from[i]) * cols[i] * scale;
    }
}

}  // namespace basalt::detail
