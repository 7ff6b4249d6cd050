#include "apps/hpl/mxp.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/factor/run_place.hpp"
#include "apps/hpl/system.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/mixed_choices.hpp"
#include "basalt/mixed.hpp"

namespace basalt {

namespace {

/// The matrix is so well-conditioned that the coarsest products suffice.
ProductPrecision products_of(const std::string& precision, FactorMode mode) {
    const ProductPrecision usual = mode == FactorMode::cpu ? ProductPrecision::plain : ProductPrecision::fp16;
    return factor_products(precision).value_or(usual);
}

/// One system and its solution.
class MxpSystem {
  public:
    MxpSystem(Runtime& runtime, Index n, const LuPlan& plan, const std::string& precision)
        : runtime_(runtime),
          n_(n),
          plan_(plan),
          matrix_(make_generator<double>("mxp", n, n + 1)),
          b_(runtime, n, 1, {plan.tile.height, 1}, "b"),
          x_(runtime, n, 1, b_.tile_shape(), "x"),
          right_(static_cast<std::size_t>(n)) {
        options_.mode = plan.mode;
        options_.products = products_of(precision, plan.mode);
        options_.lu = plan.options;
        options_.fallback = Fallback::none;
        // HPL's rule without its factor of 16: n eps (||A|| ||x|| + ||b||)
        options_.tolerance = std::sqrt(static_cast<double>(std::max<Index>(n, 1)));
        matrix_->fill(View<double>(right_.data(), n), 0, n);
        b_.load(View<const double>(right_.data(), n));
        runtime.wait();
    }

    HplTiming solve() {
        HplTiming timing;
        timing.start = std::time(nullptr);
        const auto start = std::chrono::steady_clock::now();
        result_ = mixed_solve(runtime_, matrix_, b_, x_, plan_.tile, options_);
        timing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        timing.end = std::time(nullptr);
        return timing;
    }

    /// From the matrix generated again, not from the solver's own residual.
    HplCheck check() const {
        if (n_ == 0) return {};
        const std::vector<double> x = entries_of(x_);
        return hpl_check(system_norms(runtime_, *matrix_, x, right_), x, right_);
    }

    const MixedResult& result() const { return result_; }
    double lu_gflops() const {
        const auto n = static_cast<double>(n_);
        return result_.factor_seconds > 0 ? 2.0 / 3.0 * n * n * n / result_.factor_seconds * 1e-9 : 0;
    }

  private:
    Runtime& runtime_;
    const Index n_;
    const LuPlan plan_;
    const std::shared_ptr<const Generator<double>> matrix_;
    MixedOptions options_;
    Matrix<double> b_, x_;
    std::vector<double> right_;
    MixedResult result_;
};

class MxpTests final : public HplRun {
  public:
    using HplRun::HplRun;

  private:
    LuPlan plan_of(Index n, Index nb) const override;
    void require_room(Index n, Index nb) const override;
    void begin_report(std::ostream& out) override;
    void prepare(const HplCase& test, const LuPlan& plan) override {
        system_.reset();  // two may not fit
        system_.emplace(runtime(), test.n, plan, options().factor_precision);
    }
    HplTiming solve() override { return system_->solve(); }
    Result finish(const HplCase& test, const LuPlan& plan, const HplTiming& timing) override;
    void skip(const HplGrid&, Index) override {}
    void end_report() override {}

    std::ostream* out_ = nullptr;
    std::optional<MxpSystem> system_;
};

LuPlan MxpTests::plan_of(Index n, Index nb) const {
    const Index panel = std::min(nb, std::max<Index>(n, 1));
    LuPlan plan = lu_plan(settings(), options().gpu, runtime(), n, n, sizeof(float), panel, "hpl_mxp");
    take_block_size(plan, settings(), panel);
    if (plan.on_gpus()) plan.data = Place::any();  // the factors are made there
    plan_moves(plan, runtime(), n, n, sizeof(float));
    return plan;
}

void MxpTests::require_room(Index n, Index nb) const {
    constexpr double vectors = 8;
    const LuPlan plan = plan_of(n, nb);
    require_factor_precision(options().factor_precision, plan.mode);
    basalt::require_room(plan, runtime(), n, n, sizeof(float),
                         vectors * static_cast<double>(n) * sizeof(double) + refinement_bytes(n, 1),
                         fmt::format("the system of N = {} (NB = {}) in single precision", n, nb));
}

void MxpTests::begin_report(std::ostream& out) {
    out_ = &out;
    out << "HPL-MxP: A is diagonally dominant; the rate of the whole run counts 2/3 N^3 + 3/2 N^2 over the time to a "
           "solution in double precision\n"
        << fmt::format("{:>9}{:>7}{:>8}{:>12}{:>14}{:>14}{:>12}  {}\n", "N", "NB", "factors", "seconds", "Gflop/s",
                       "LU Gflop/s", "iterations", "||Ax-b||/(eps(||A|| ||x||+||b||)N)")
        << std::flush;
}

auto MxpTests::finish(const HplCase& test, const LuPlan& plan, const HplTiming& timing) -> Result {
    const MixedResult& mixed = system_->result();
    const std::string factors = factor_precision_name(mixed.products, mixed.mode);
    const double gflops = hpl_gflops(test.n, timing.seconds);
    std::optional<bool> passed;
    std::string verdict = "not checked";
    FactorRecord record = run_record(plan, plan.panel_width, runtime());
    if (checks()) {
        const double scaled = system_->check().scaled_residual;
        passed = scaled < input().threshold && !mixed.fell_back();
        verdict = fmt::format("{:.3e} ...... {}", scaled, *passed ? "PASSED" : "FAILED");
        record.residual_ratio = scaled;
        record.passed = passed;
    }
    if (mixed.fell_back()) verdict += fmt::format(": not refined, {}", outcome_text(mixed.outcome));
    *out_ << fmt::format("{:>9}{:>7}{:>8}{:>12.3f}{:>14.2f}{:>14.2f}{:>12}  {}\n", test.n, plan.panel_width, factors,
                         timing.seconds, gflops, system_->lu_gflops(), mixed.iterations, verdict)
          << std::flush;
    record.routine = "hpl_mxp";
    record.m = record.n = test.n;
    record.runs = {timing.seconds};
    record.flops = hpl_flops(test.n);
    JsonRecord json = to_json(record);
    add_places(json, plan, mixed.panels);
    json["factor_precision"] = factors;
    json["iterations"] = mixed.iterations;
    json["outcome"] = outcome_text(mixed.outcome);
    json["lu_gflops"] = system_->lu_gflops();
    json["factor_seconds"] = mixed.factor_seconds;
    json["refine_seconds"] = mixed.refine_seconds;
    system_.reset();
    return {json, passed};
}

}  // namespace

int run_mxp(const HplOptions& options, const HplInput& input, const Settings& settings) {
    HplInput used = input;  // the other lists are of HPL's algorithm
    used.depths.resize(1);
    used.broadcasts.resize(1);
    used.recursive_factors.resize(1);
    used.panel_factors.resize(1);
    used.stop_sizes.resize(1);
    used.divisions.resize(1);
    return MxpTests(options, std::move(used), settings).run();
}

}  // namespace basalt
