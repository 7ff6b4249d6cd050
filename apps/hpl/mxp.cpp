#include "apps/hpl/mxp.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/factor/lu_plan.hpp"
#include "apps/hpl/system.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"
#include "basalt/mixed.hpp"

namespace basalt {

namespace {

/// One system and its solution.
class MxpSystem {
  public:
    MxpSystem(Runtime& runtime, Index n, const LuPlan& plan, const std::string& precision)
        : runtime_(runtime), n_(n), plan_(plan), matrix_(make_generator<double>("mxp", n, n + 1)) {
        options_.mode = plan.mode;
        options_.products = precision == "auto" ? usual_products() : factor_products(precision);
        options_.lu = plan.options;
        options_.fallback = Fallback::none;
        // HPL's rule without its factor of 16: n eps (||A|| ||x|| + ||b||)
        options_.tolerance = std::sqrt(static_cast<double>(std::max<Index>(n, 1)));
    }

    void solve() {
        Matrix<double> b(runtime_, n_, 1, {plan_.tile.height, 1}, "b"), x(runtime_, n_, 1, b.tile_shape(), "x");
        std::vector<double> right(static_cast<std::size_t>(n_));
        matrix_->fill(View<double>(right.data(), n_), 0, n_);
        b.load(View<const double>(right.data(), n_));
        runtime_.wait();
        const auto start = std::chrono::steady_clock::now();
        result_ = mixed_solve(runtime_, matrix_, b, x, plan_.tile, options_);
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

    const MixedResult& result() const { return result_; }
    double seconds() const { return seconds_; }
    double gflops() const { return seconds_ > 0 ? hpl_flops(n_) / seconds_ * 1e-9 : 0; }
    double lu_gflops() const {
        const auto n = static_cast<double>(n_);
        return result_.factor_seconds > 0 ? 2.0 / 3.0 * n * n * n / result_.factor_seconds * 1e-9 : 0;
    }
    /// ||b - A x|| / (eps (||A|| ||x|| + ||b||) n)
    double scaled_residual() const {
        constexpr double epsilon = 0x1p-53;
        return n_ > 0 ? result_.backward_error / (epsilon * static_cast<double>(n_)) : 0;
    }

  private:
    /// The matrix is so well-conditioned that the coarsest products suffice.
    ProductPrecision usual_products() const {
        return plan_.mode == FactorMode::cpu ? ProductPrecision::plain : ProductPrecision::fp16;
    }

    Runtime& runtime_;
    const Index n_;
    const LuPlan plan_;
    const std::shared_ptr<const Generator<double>> matrix_;
    MixedOptions options_;
    MixedResult result_;
    double seconds_ = 0;
};

JsonRecord record_of(const MxpSystem& system, Index n, const LuPlan& plan, const Runtime& runtime, bool passed) {
    FactorRecord record = run_record(plan, plan.panel_width, runtime);
    record.routine = "hpl_mxp";
    record.m = record.n = n;
    record.runs = {system.seconds()};
    record.flops = hpl_flops(n);
    record.residual_ratio = system.scaled_residual();
    record.passed = passed;
    JsonRecord json = to_json(record);
    json["factor_precision"] = factor_precision_name(system.result().products);
    json["iterations"] = system.result().iterations;
    json["lu_gflops"] = system.lu_gflops();
    json["factor_seconds"] = system.result().factor_seconds;
    json["refine_seconds"] = system.result().refine_seconds;
    return json;
}

}  // namespace

int run_mxp(const HplInput& input, const Settings& settings, const GpuOptions& gpu, const std::string& precision) {
    Runtime runtime(settings.runtime_config());
    require_gpus(settings, runtime);
    OutputFiles files(settings);
    bool all_passed = true;
    files.human()
        << "HPL-MxP: A is diagonally dominant; the rate of the whole run counts 2/3 N^3 + 3/2 N^2 over the time "
           "to a solution in double precision\n"
        << fmt::format("{:>9}{:>7}{:>8}{:>12}{:>14}{:>14}{:>12}  {}\n", "N", "NB", "factors", "seconds", "Gflop/s",
                       "LU Gflop/s", "iterations", "||Ax-b||/(eps(||A|| ||x||+||b||)N)");
    for (const Index n : input.sizes) {
        for (const Index nb : input.block_sizes) {
            LuPlan plan = lu_plan(settings, gpu, runtime, n, n, sizeof(float), nb, "hpl_mxp");
            if (plan.on_gpus()) {
                plan.data = Place::any();  // the factors are made there
                plan_moves(plan, runtime, n, n, sizeof(float));
            }
            require_room(plan, runtime, n, n, sizeof(float), 8 * static_cast<double>(n) * sizeof(double),
                         fmt::format("the system of N = {} in single precision", n));
            MxpSystem system(runtime, n, plan, precision);
            system.solve();
            const bool passed = system.scaled_residual() < input.threshold && !system.result().fell_back();
            all_passed = all_passed && passed;
            files.human() << fmt::format("{:>9}{:>7}{:>8}{:>12.3f}{:>14.2f}{:>14.2f}{:>12}  {:.3e} ...... {}\n", n,
                                         plan.panel_width, factor_precision_name(system.result().products),
                                         system.seconds(), system.gflops(), system.lu_gflops(),
                                         system.result().iterations, system.scaled_residual(),
                                         passed ? "PASSED" : "FAILED")
                          << std::flush;
            files.record(record_of(system, n, plan, runtime, passed));
        }
    }
    files.require_written();
    return all_passed ? exit_done : exit_check_failed;
}

}  // namespace basalt
