// Mixed precision: from the first solution to the answer, certified or by factors in double.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "kernels/on_stream.hpp"
#include "runtime/engine/cancellable_call.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/choices/option_range.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/double_solve.hpp"
#include "tasks/mixed/low_factors.hpp"
#include "tasks/mixed/lowered.hpp"
#include "tasks/mixed/solve.hpp"
#include "tasks/mixed/system.hpp"

namespace basalt {

namespace {

using detail::DoubleColumns;
using detail::LoweredMatrix;
using detail::LowFactors;
using detail::require;
using detail::Vectors;

class Stopwatch {
  public:
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

constexpr int lapacks_limit = 30;  // ITERMAX of dsgesv

int limit_of(const MixedOptions& options, Index n) {
    constexpr Index order_a_step = 512;
    return options.iteration_limit.value_or(static_cast<int>(std::max<Index>(lapacks_limit, n / order_a_step)));
}

/// The mode of the factorization in single precision or below. Throws UsageError for one that cannot be.
FactorMode mode_of(const Runtime& runtime, const MixedOptions& options, Index n, TileShape tile) {
    const ProductPrecision products = options.products.value_or(ProductPrecision::split_bf16);
    const bool no_gpus = options.mode == FactorMode::automatic && runtime.gpus() == 0;
    require(is_single(products) || (options.mode != FactorMode::cpu && !no_gpus),
            std::string("MixedOptions::products = ") + name_of(products) +
                " in mode cpu; allowed are plain and split-bf16, or the modes hybrid and gpu");
    const FactorProblem problem{.m = n, .n = n, .precision = 's', .tile = tile};
    if (options.method == MixedMethod::cholesky) {
        CholeskyOptions cholesky = options.cholesky;
        cholesky.mode = options.mode;
        cholesky.products = products;
        return choose_cholesky_mode(runtime, cholesky, problem).mode;
    }
    LuOptions lu = options.lu;
    lu.mode = options.mode;
    lu.products = products;
    return choose_lu_mode(runtime, lu, problem).mode;
}

ProductPrecision products_of(const MixedOptions& options, FactorMode mode) {
    return options.products.value_or(mode == FactorMode::cpu ? ProductPrecision::plain : ProductPrecision::split_fp16);
}

/// B becomes further columns of A where that costs no tile column, whose update would take as long as any other's.
bool fits_behind(const DoubleColumns& a, Index right_hand_sides, const MixedOptions& options) {
    const TileGrid& grid = a.grid();
    if (options.method != MixedMethod::lu || a.order() == 0) return false;
    return grid.tile_cols() * grid.shape().width - a.order() >= right_hand_sides;
}

Vectors vectors_of(const Matrix<double>& b) {
    Vectors result(b.rows(), b.cols());
    const Index width = b.tile_shape().width;
    for (Index j = 0; j < b.tile_cols(); ++j) {
        const View<double> columns = b.host_view(j);
        for (Index i = 0; i < columns.rows(); ++i) {
            for (Index c = 0; c < columns.cols(); ++c) result(i, j * width + c) = columns(i, c);
        }
    }
    return result;
}

bool all_finite(const Vectors& b) {
    for (Index c = 0; c < b.k(); ++c) {
        if (!std::isfinite(b.norm(c))) return false;
    }
    return true;
}

/// Factors, refines and certifies. x gets the last iterate; it is the answer if the outcome is `refined`.
class MixedSolution {
  public:
    MixedSolution(Runtime& runtime, const DoubleColumns& a, const MixedOptions& options, FactorMode mode)
        : rt_(runtime), a_(a), options_(options) {
        result_.mode = mode;
        result_.products = products_of(options, mode);
        const Substitution usual = mode == FactorMode::cpu ? Substitution::cores : Substitution::gpu;
        const bool chosen = options.substitution == Substitution::automatic;
        result_.substitution = chosen ? usual : options.substitution;
    }

    MixedResult solve(const Vectors& b, Vectors& x) {
        const int limit = limit_of(options_, a_.order());
        int made = 0;
        if (a_.order() == 0 || b.k() == 0) {
            result_.backward_error = 0;
        } else {
            result_.outcome = all_finite(b) ? refined(b, x, limit, made) : MixedOutcome::not_finite;
        }
        result_.iterations = made;
        switch (result_.outcome) {
            case MixedOutcome::refined: break;
            case MixedOutcome::not_finite: result_.iterations = -2; break;
            case MixedOutcome::breakdown: result_.iterations = -3; break;
            case MixedOutcome::stagnation: result_.iterations = -4; break;
            case MixedOutcome::iteration_limit: result_.iterations = -std::max(limit, lapacks_limit) - 1; break;
        }
        return result_;
    }

    /// ||A||_oo; NaN if A is not finite.
    double norm() const { return norm_; }

  private:
    MixedOutcome refined(const Vectors& b, Vectors& x, int limit, int& made) {
        const Stopwatch factoring;
        const bool augmented = fits_behind(a_, b.k(), options_);
        LoweredMatrix lowered(rt_, a_, options_, result_.products, result_.mode, augmented ? &b : nullptr);
        if (!lowered.is_finite()) return MixedOutcome::not_finite;
        LowFactors factors(rt_, lowered, options_, result_.products, result_.mode);
        const bool complete = factors.are_complete();
        rt_.wait();
        norm_ = lowered.norm();
        result_.factor_seconds = factoring.seconds();
        result_.panels = factors.panel_places();
        if (!complete) return MixedOutcome::breakdown;
        const Stopwatch refining;
        result_.substitution = factors.choose_substitution(options_, a_, b.k());
        detail::DoubleProduct product(rt_, a_, lowered.on_gpus() ? lowered.matrix().share_storage().get() : nullptr);
        const bool coarse = roundoff_of(result_.products) > roundoff_of(ProductPrecision::split_fp16);
        detail::MixedSystem system{
            product, factors, b, lowered, options_.tolerance, limit, coarse, Vectors(b.n(), b.k()), {}};
        using Sides = detail::MixedSystem::RightHandSides;
        system.begin(augmented ? Sides::factored_with_a : Sides::apart);
        const MixedOutcome outcome = detail::refine(system, options_.refinement, result_.refinement, made);
        system.measure_if_carried();
        result_.backward_error = detail::backward_error(system.residual, lowered.norm(), system.x, b);
        x = std::move(system.x);
        result_.refine_seconds = refining.seconds();
        return outcome;
    }

    Runtime& rt_;
    const DoubleColumns& a_;
    const MixedOptions options_;
    MixedResult result_;
    double norm_ = std::numeric_limits<double>::quiet_NaN();
};

/// Throws UsageError for a substitution that cannot be.
void require_substitution(const Runtime& runtime, const MixedOptions& options, FactorMode mode,
                          Index right_hand_sides) {
    const Substitution wanted = options.substitution;
    const std::string option = std::string("MixedOptions::substitution = ") + name_of(wanted);
    if (wanted == Substitution::automatic || wanted == Substitution::cores) return;
    require(mode != FactorMode::cpu, option + " in mode cpu; allowed are auto and cores, or the modes hybrid and gpu");
    if (wanted == Substitution::gpu) return;
    require(options.method == MixedMethod::lu, option + " with MixedOptions::method = cholesky; allowed is lu");
    require(options.refinement != Refinement::gmres,
            option + " with MixedOptions::refinement = gmres; allowed are auto and classic");
    require(runtime.gpus() == 1, option + " with " + std::to_string(runtime.gpus()) + " GPUs; allowed is one GPU");
    require(right_hand_sides <= detail::few_right_hand_sides, option + " for " + std::to_string(right_hand_sides) +
                                                                  " right-hand sides; allowed are up to " +
                                                                  std::to_string(detail::few_right_hand_sides));
}

void check_options(const MixedOptions& options) {
    detail::require_at_least("MixedOptions::iteration_limit", options.iteration_limit, 0);
    require(options.substitution_lookahead == 1 || options.substitution_lookahead == 2,
            "MixedOptions::substitution_lookahead = " + std::to_string(options.substitution_lookahead) +
                "; allowed are 1 and 2");
    require(options.tolerance > 0,
            "MixedOptions::tolerance = " + std::to_string(options.tolerance) + "; allowed are numbers above 0");
}

void require_system(const Runtime& runtime, Index n, const Matrix<double>& b, const Matrix<double>& x) {
    require(&b.runtime() == &runtime && &x.runtime() == &runtime,
            "mixed_solve: the matrices belong to another runtime");
    require(b.rows() == n, "mixed_solve: B has " + std::to_string(b.rows()) + " rows; A has " + std::to_string(n));
    require(x.rows() == b.rows() && x.cols() == b.cols(),
            "mixed_solve: X is " + std::to_string(x.rows()) + " x " + std::to_string(x.cols()) + "; B is " +
                std::to_string(b.rows()) + " x " + std::to_string(b.cols()));
    require(b.share_storage() != x.share_storage(), "mixed_solve: B and X are the same matrix");
}

/// X = the vectors.
void store(Runtime& runtime, const Vectors& from, Matrix<double>& x) {
    if (from.n() == 0 || from.k() == 0) return;
    x.load(from.view());
    runtime.wait();
}

MixedResult solve_stored(Runtime& runtime, Matrix<double>& a, const Matrix<double>& b, Matrix<double>& x,
                         const MixedOptions& options, LuFactors<double>& lu) {
    check_options(options);
    const Index n = a.rows();
    require(&a.runtime() == &runtime, "mixed_solve: the matrices belong to another runtime");
    require(a.cols() == n,
            "mixed_solve: A is " + std::to_string(n) + " x " + std::to_string(a.cols()) + "; allowed are square ones");
    require_system(runtime, n, b, x);
    const DoubleColumns columns(a);
    const Vectors right_hand_sides = vectors_of(b);
    Vectors solution(n, b.cols());
    const FactorMode mode = mode_of(runtime, options, n, a.tile_shape());
    require_substitution(runtime, options, mode, b.cols());
    MixedSolution refinement(runtime, columns, options, mode);
    MixedResult result = refinement.solve(right_hand_sides, solution);
    store(runtime, solution, x);
    if (!result.fell_back() || options.fallback == Fallback::none) return result;
    const Stopwatch again;
    detail::DoubleSolve in_double(runtime, a, options);
    result.info = in_double.solve(right_hand_sides, x);
    lu = in_double.lu();
    result.fallback_seconds = again.seconds();
    result.backward_error = in_double.backward_error(right_hand_sides, x, refinement.norm());
    return result;
}

MixedResult solve_generated(Runtime& runtime, const std::shared_ptr<const Generator<double>>& a,
                            const Matrix<double>& b, Matrix<double>& x, TileShape tile, const MixedOptions& options) {
    check_options(options);
    const Index n = b.rows();
    require(a != nullptr && a->rows() >= n && a->cols() >= n, "mixed_solve: the generator makes less than the " +
                                                                  std::to_string(n) + " x " + std::to_string(n) +
                                                                  " matrix that B's rows ask for");
    require_system(runtime, n, b, x);
    const FactorMode mode = mode_of(runtime, options, n, tile);
    require_substitution(runtime, options, mode, b.cols());
    if (tile == TileShape{}) {
        const bool on_cores = mode == FactorMode::cpu;
        const TileShape usual =
            default_lu_tile(runtime.tuning(), n, n, on_cores ? 0 : runtime.gpus(), mode == FactorMode::gpu);
        tile = on_cores ? usual : fitting_tile(runtime, usual, n, n, sizeof(float));
    }
    const DoubleColumns columns(runtime, a, TileGrid(n, n, tile));
    if (mode != FactorMode::cpu) columns.require_on_gpus();
    Vectors solution(n, b.cols());
    const MixedResult result = MixedSolution(runtime, columns, options, mode).solve(vectors_of(b), solution);
    store(runtime, solution, x);
    return result;
}

}  // namespace

MixedResult detail::solve_mixed(Runtime& runtime, Matrix<double>& a, const Matrix<double>& b, Matrix<double>& x,
                                const MixedOptions& options, LuFactors<double>& lu) {
    return cancellable(runtime, [&] { return solve_stored(runtime, a, b, x, options, lu); });
}

MixedResult mixed_solve(Runtime& runtime, Matrix<double>& a, const Matrix<double>& b, Matrix<double>& x,
                        const MixedOptions& options) {
    LuFactors<double> in_double;
    return detail::solve_mixed(runtime, a, b, x, options, in_double);
}

MixedResult mixed_solve(Runtime& runtime, const std::shared_ptr<const Generator<double>>& a, const Matrix<double>& b,
                        Matrix<double>& x, TileShape tile, const MixedOptions& options) {
    return detail::cancellable(runtime, [&] { return solve_generated(runtime, a, b, x, tile, options); });
}

}  // namespace basalt
