#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/factor/factor_command.hpp"
#include "apps/factor/factor_options.hpp"
#include "apps/factor/factor_runs.hpp"
#include "apps/factor/lu_check.hpp"
#include "apps/factor/lu_plan.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/input/input_matrix.hpp"

namespace basalt {

namespace {

/// The unit roundoff in which the factors are computed, relative to that of T.
template <class T>
double times_coarser(const LuPlan& plan) {
    constexpr double own = std::numeric_limits<T>::epsilon() / 2;
    const auto products = plan.options.products;
    return is_single_in_lu(products) ? 1 : roundoff_of(*products) / own;
}

template <class T>
int run_lu(FactorOptions options, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    const std::shared_ptr<const Generator<T>> matrix = input_matrix<T>(options);
    const LuPlan plan = lu_plan(settings, options.gpu, runtime, options.rows(), options.n, sizeof(T));
    constexpr double vectors = 4;  // of the check, in double, rows and columns long
    const double lengths = static_cast<double>(options.rows()) + static_cast<double>(options.n);
    require_room(plan, runtime, options.rows(), options.n, sizeof(T), vectors * lengths * sizeof(double),
                 fmt::format("a {} x {} matrix", options.rows(), options.n));

    tell_unused_panel_threads(plan, settings);

    std::optional<Matrix<T>> a;
    std::optional<LuFactors<T>> lu;  // only while it runs: the check can use the memory that it takes
    std::vector<Index> pivots;
    PanelPlaces places;
    FactorRoutine routine;
    routine.command = "lu";
    routine.name = "getrf";
    routine.variant = plan.options.products == ProductPrecision::tf32 ? " (tf32)" : "";
    routine.panel_width = plan.panel_width;
    routine.flops = lu_flops(options.rows(), options.n);
    if (plan.options.products == ProductPrecision::tf32) routine.other_fields["tf32"] = true;
    routine.expected_rate = [&] { return measured_lu_rate<T>(runtime); };
    routine.prepare = [&] {
        a.reset();  // two matrices may not fit
        a = make_matrix<T>(plan, runtime, matrix, options.rows(), options.n);
    };
    routine.factor = [&] {
        lu = lu_factor(runtime, *a, plan.options);
        return_matrix(plan, runtime, *a);
    };
    routine.collect = [&] {
        const Index info = lu->info();
        places = lu->panel_places();
        pivots = lu->pivots();
        lu.reset();
        return info;
    };
    routine.panel_places = [&] { return places; };
    routine.residual_ratio = [&] {
        const double ratio = plan.stays_on_gpus() ? lu_residual_ratio_on_gpus<T>(runtime, matrix, *a, pivots)
                                                  : lu_residual_ratio(runtime, *matrix, *a, pivots);
        return ratio / times_coarser<T>(plan);
    };
    return FactorRuns(options, plan, routine, runtime, files).run();
}

int lu(const FactorOptions& options, const Settings& settings) {
    return run_factorization(options, settings, [&]<class T>(T, Runtime& runtime, OutputFiles& files) {
        return run_lu<T>(options, settings, runtime, files);
    });
}

}  // namespace

void add_lu(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("lu", "factor one matrix by LU with partial pivoting, check it, time it");
    const auto options = std::make_shared<FactorOptions>();
    add_factor_options(*command, settings, *options);
    add_gpu_options(*command, options->gpu);
    add_lu_options(*command, options->gpu);
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return lu(*options, settings); }; });
}

}  // namespace basalt
