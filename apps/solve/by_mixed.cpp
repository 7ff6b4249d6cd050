#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/factor/cholesky_plan.hpp"
#include "apps/factor/lu_plan.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"
#include "basalt/mixed.hpp"

namespace basalt {

namespace {

const char* reason_of(MixedOutcome outcome) {
    switch (outcome) {
        case MixedOutcome::refined: return "refined";
        case MixedOutcome::not_finite: return "A or B is not finite";
        case MixedOutcome::breakdown: return "the factors of low precision are not usable";
        case MixedOutcome::stagnation: return "the corrections do not become small";
        case MixedOutcome::iteration_limit: return "the limit of corrections was reached";
    }
    return "";
}

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
        options_.fallback = Fallback::in_place;  // A is made again for each run
        options_.lu = plan_.options;
        options_.cholesky = cholesky_panel_options(input.settings, input.gpu);
        if (plan_.mode == FactorMode::cpu && options_.products && !is_single(*options_.products)) {
            throw WrongUse(fmt::format("--factor-precision {} where the mode is cpu; allowed: s, or a mode with GPUs",
                                       input.mixed.factor_precision));
        }
    }

    std::string routine() const override { return is_lu() ? "gesv" : "posv"; }
    double flops(Index right_hand_sides) const override {
        const auto n = static_cast<double>(rows());
        const double factoring = is_lu() ? lu_flops(rows(), rows()) : n * n * n / 3;
        return factoring + 2 * n * n * static_cast<double>(right_hand_sides);
    }
    double bytes() const override {
        const double in_single =
            plan_.stays_on_gpus() ? 0 : matrix_bytes(rows(), rows() + 1, plan_.tile, sizeof(float));
        return matrix_bytes(rows(), rows(), plan_.tile, sizeof(double)) + in_single +
               emulated_bytes(plan_, plan_.panel_width, runtime_, rows(), rows(), sizeof(double) + sizeof(float));
    }
    Index rows() const override { return matrix_->rows(); }
    TileShape tile(Index right_hand_sides) const override {
        return {plan_.tile.height, std::clamp<Index>(right_hand_sides, 1, plan_.tile.width)};
    }
    const FactorPlan& plan() const override { return plan_; }
    PanelPlaces panel_places() const override { return {}; }
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
    std::optional<double> reciprocal_condition(double) override { return std::nullopt; }
    std::string meaning(Index info) const override {
        return is_lu() ? fmt::format("singular: U({0}, {0}) is exactly zero", info)
                       : fmt::format("not positive definite: its leading minor of order {} is not", info);
    }

    std::string remark() const override {
        const std::string how = fmt::format("{}, {}", factor_precision_name(result_.products),
                                            result_.refinement == Refinement::gmres ? "gmres" : "classic");
        if (!result_.fell_back()) return fmt::format("  {}, {} iterations", how, result_.iterations);
        return fmt::format("  {}, fell back to double ({}): {}", how, result_.iterations, reason_of(result_.outcome));
    }
    void add_to(JsonRecord& json) const override {
        json["factor_precision"] = factor_precision_name(result_.products);
        json["iterations"] = result_.iterations;
        json["fallback"] = result_.fell_back();
        json["refine_seconds"] = result_.refine_seconds;
        json["factor_seconds"] = result_.factor_seconds;
        json["fallback_seconds"] = result_.fallback_seconds;
        json["refinement"] = result_.refinement == Refinement::gmres ? "gmres" : "classic";
        json["substitution"] = name_of(result_.substitution);
        json["outcome"] = reason_of(result_.outcome);
    }

  private:
    bool is_lu() const { return options_.method == MixedMethod::lu; }

    Runtime& runtime_;
    const std::shared_ptr<const Generator<double>> matrix_;
    const LuPlan plan_;
    MixedOptions options_;
    Matrix<double> a_;
    MixedResult result_;
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
