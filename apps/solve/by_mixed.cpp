#include <algorithm>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "apps/factor/cholesky_plan.hpp"
#include "apps/factor/lu_plan.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/runs/residual.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"
#include "apps/solve/right_hand_sides.hpp"
#include "basalt/mixed.hpp"

namespace basalt {

namespace {

class SolveByMixed final : public SolveMethod<double> {
  public:
    SolveByMixed(const SolveInput<double>& input, MixedMethod method, LuPlan plan)
        : runtime_(input.runtime), matrix_(input.matrix), plan_(std::move(plan)) {
        options_.method = method;
        options_.mode = plan_.mode;
        options_.products = factor_products(input.mixed.factor_precision);
        options_.refinement = input.mixed.refinement;
        options_.substitution = input.mixed.substitution;
        options_.substitution_lookahead = input.mixed.substitution_lookahead.value_or(1);
        options_.iteration_limit = input.mixed.iteration_limit;
        options_.fallback = Fallback::in_place;  // A is made again for each run
        options_.lu = plan_.options;
        options_.cholesky = cholesky_panel_options(input.settings, input.gpu);
        require_factor_precision(input.mixed.factor_precision, plan_.mode);
    }

    std::string routine() const override { return is_lu() ? "gesv" : "posv"; }
    double flops(Index right_hand_sides) const override {
        const auto n = static_cast<double>(rows());
        const double factoring = is_lu() ? lu_flops(rows(), rows()) : n * n * n / 3;
        return factoring + 2 * n * n * static_cast<double>(right_hand_sides);
    }
    double bytes(Index right_hand_sides) const override {
        const double in_single =
            plan_.stays_on_gpus() ? 0 : matrix_bytes(rows(), rows() + 1, plan_.tile, sizeof(float));
        return matrix_bytes(rows(), rows(), plan_.tile, sizeof(double)) + in_single +
               emulated_bytes(plan_, plan_.panel_width, runtime_, rows(), rows(), sizeof(double) + sizeof(float)) +
               refinement_bytes(rows(), right_hand_sides, options_.iteration_limit);
    }
    Index rows() const override { return matrix_->rows(); }
    TileShape tile(Index right_hand_sides) const override {
        return {plan_.tile.height, std::clamp<Index>(right_hand_sides, 1, plan_.tile.width)};
    }
    const FactorPlan& plan() const override { return plan_; }
    PanelPlaces panel_places() const override { return result_.panels; }
    FactorRecord record() const override { return run_record(plan_, plan_.panel_width, runtime_); }

    void prepare() override {
        a_ = {};
        a_ = make_matrix<double>(plan_, runtime_, matrix_, rows(), rows());
    }
    void submit(Matrix<double>& b) override {
        Matrix<double> x(runtime_, rows(), b.cols(), b.tile_shape(), "X");
        result_ = mixed_solve(runtime_, a_, b, x, options_);
        for (Index j = 0; j < b.tile_cols(); ++j) {
            runtime_.submit({.name = "copy x", .place = Place::cpu()}, read(x.column(j)), readwrite(b.column(j)),
                            [](View<const double> from, View<double> to) {
                                for (Index i = 0; i < to.rows(); ++i) {
                                    for (Index c = 0; c < to.cols(); ++c) to(i, c) = from(i, c);
                                }
                            });
        }
        runtime_.wait();
    }
    Index info() const override { return result_.info; }
    std::optional<double> reciprocal_condition(double a_inf) override {
        if (!condition_) condition_ = estimated_condition(a_inf);
        return condition_;
    }
    std::string meaning(Index info) const override {
        return is_lu() ? fmt::format("singular: U({0}, {0}) is exactly zero", info)
                       : fmt::format("not positive definite: its leading minor of order {} is not", info);
    }

    std::string remark() const override {
        const std::string how = fmt::format("{}, {}", factor_precision_name(result_.products, result_.mode),
                                            result_.refinement == Refinement::gmres ? "gmres" : "classic");
        if (!result_.fell_back()) return fmt::format("  {}, {} iterations", how, result_.iterations);
        return fmt::format("  {}, fell back to double ({}): {}", how, result_.iterations,
                           outcome_text(result_.outcome));
    }
    void add_to(JsonRecord& json) const override {
        json["factor_precision"] = factor_precision_name(result_.products, result_.mode);
        json["iterations"] = result_.iterations;
        json["fallback"] = result_.fell_back();
        json["refine_seconds"] = result_.refine_seconds;
        json["factor_seconds"] = result_.factor_seconds;
        json["fallback_seconds"] = result_.fallback_seconds;
        json["refinement"] = result_.refinement == Refinement::gmres ? "gmres" : "classic";
        json["substitution"] = name_of(result_.substitution);
        json["outcome"] = outcome_text(result_.outcome);
    }

  private:
    bool is_lu() const { return options_.method == MixedMethod::lu; }

    /// From ||A^-1|| >= ||x|| / ||b|| for a right-hand side of random signs, whose solution is refined again. Where
    /// that says too little, and after a fallback, from factors in double.
    double estimated_condition(double a_inf) {
        constexpr double clearly_enough = 0x1p-33;  // it may be too large by some powers of ten
        if (!result_.fell_back()) {
            const double inverse = norm_of_solution();  // ||b|| is 1
            if (const double estimate = 1 / inverse / a_inf; estimate > clearly_enough) return estimate;
        }
        prepare();
        return is_lu()
                   ? condition_by(lu_factor(runtime_, a_, in_double(options_.lu)), a_inf)
                   : condition_by(cholesky_factor(runtime_, a_, Triangle::lower, in_double(options_.cholesky)), a_inf);
    }
    /// Infinite where the solution is not refined.
    double norm_of_solution() {
        Columns<double> signs(rows(), 1);
        std::minstd_rand random;  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same estimate for the same matrix
        for (double& sign : signs.elements) sign = random() % 2 == 0 ? 1 : -1;
        Matrix<double> b(runtime_, rows(), 1, tile(1), "signs"), x(runtime_, rows(), 1, tile(1), "x");
        b.load(signs.view());
        runtime_.wait();
        MixedOptions options = options_;
        options.fallback = Fallback::none;
        options.substitution = Substitution::automatic;
        if (mixed_solve(runtime_, a_, b, x, options).fell_back()) return std::numeric_limits<double>::infinity();
        Columns<double> solution(rows(), 1);
        x.store(solution.view());
        runtime_.wait();
        return max_magnitude(solution.elements);
    }
    template <class Options>
    Options in_double(Options options) const {
        options.mode = options_.mode;
        return options;
    }
    template <class Factors>
    double condition_by(const Factors& factors, double a_inf) {
        if (factors.info() > 0) return 0;
        if constexpr (std::is_same_v<Factors, LuFactors<double>>) {
            return lu_reciprocal_condition(runtime_, factors, a_inf);
        } else {
            return cholesky_reciprocal_condition(runtime_, factors, a_inf);
        }
    }

    Runtime& runtime_;
    const std::shared_ptr<const Generator<double>> matrix_;
    const LuPlan plan_;
    MixedOptions options_;
    Matrix<double> a_;
    MixedResult result_;
    std::optional<double> condition_;  ///< of all runs, since A is the same
};

}  // namespace

std::unique_ptr<SolveMethod<double>> solve_by_mixed(const SolveInput<double>& input, MixedMethod method) {
    const char* const name = method == MixedMethod::lu ? "mixed" : "mixed-cholesky";
    require_square(input, name);
    if (method == MixedMethod::cholesky) require_symmetric(input, name);
    const Index n = input.matrix->rows();
    return std::make_unique<SolveByMixed>(input, method,
                                          lu_plan(input.settings, input.gpu, input.runtime, n, n, sizeof(double)));
}

}  // namespace basalt
