#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor/cholesky_check.hpp"
#include "apps/factor/cholesky_plan.hpp"
#include "apps/factor/factor_command.hpp"
#include "apps/factor/factor_options.hpp"
#include "apps/factor/factor_runs.hpp"
#include "apps/factor/symmetry.hpp"
#include "apps/input/input_matrix.hpp"
#include "apps/input/matrix_memory.hpp"

namespace basalt {

namespace {

double cholesky_flops(Index n) {
    const auto order = static_cast<double>(n);
    return order * order * order / 3;
}

/// The options of `basalt cholesky`.
struct CholeskyCommand {
    FactorOptions factor;
    Triangle triangle = Triangle::lower;
};

/// flop/s of a small factorization, measured now. A larger one is at least as fast.
template <class T>
double measured_cholesky_rate(Runtime& runtime) {
    constexpr Index n = 1000;
    auto a = Matrix<T>::generate(runtime, make_generator<T>("spd", n, n), n, n);
    runtime.wait();
    const auto start = std::chrono::steady_clock::now();
    cholesky_factor(runtime, a);
    runtime.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return cholesky_flops(n) / std::max(seconds.count(), 1e-9);
}

/// Throws WrongUse for a matrix that is not square, or not symmetric by more than rounding.
template <class T>
void require_symmetric(const FactorOptions& options, Runtime& runtime, const Generator<T>& matrix) {
    if (matrix.rows() != matrix.cols()) {
        throw WrongUse(fmt::format("a {} x {} matrix for cholesky; allowed: square ones (--m as --n)", matrix.rows(),
                                   matrix.cols()));
    }
    if (options.matrix == "spd" && options.file.empty()) return;
    const Asymmetry found = asymmetry(runtime, matrix);
    if (is_rounding<T>(found, matrix.rows())) return;
    throw WrongUse(fmt::format("--matrix {}: {}; allowed for cholesky: symmetric matrices",
                               options.file.empty() ? options.matrix : options.file, text_of(found)));
}

template <class T>
int run_cholesky(CholeskyCommand command, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    const std::shared_ptr<const Generator<T>> matrix = input_matrix<T>(command.factor);
    require_symmetric(command.factor, runtime, *matrix);
    const Triangle triangle = command.triangle;
    const Index n = command.factor.n;
    const CholeskyPlan plan = cholesky_plan(settings, command.factor.gpu, triangle, runtime, n, sizeof(T));
    // the matrix, what emulated GPUs take, and the vectors of the check
    constexpr double vectors = 6;
    const double bytes = matrix_bytes(n, n, plan.tile, sizeof(T));
    require_memory(bytes + emulated_bytes(plan, plan.panel_width, runtime, n, n, sizeof(T)) +
                       vectors * static_cast<double>(n) * sizeof(double),
                   fmt::format("a {} x {} matrix", n, n));
    tell_unused_panel_threads(plan, settings);

    std::optional<Matrix<T>> a;
    std::optional<CholeskyFactors<T>> cholesky;
    FactorRoutine routine;
    routine.command = "cholesky";
    routine.name = "potrf";
    routine.variant = triangle == Triangle::upper ? " (upper)" : "";
    routine.panel_width = plan.panel_width;
    routine.flops = cholesky_flops(n);
    routine.other_fields["triangle"] = triangle == Triangle::upper ? "upper" : "lower";
    if (plan.options.left_looking) routine.other_fields["looking"] = *plan.options.left_looking ? "left" : "right";
    routine.expected_rate = [&] { return measured_cholesky_rate<T>(runtime); };
    routine.prepare = [&] {
        cholesky.reset();
        a.reset();  // two matrices may not fit
        a = make_matrix<T>(plan, runtime, matrix, n, n);
    };
    routine.factor = [&] {
        cholesky = cholesky_factor(runtime, *a, triangle, plan.options);
        return_matrix(plan, runtime, *a);
    };
    routine.panel_places = [&] { return cholesky->panel_places(); };
    routine.collect = [&] { return cholesky->info(); };
    routine.residual_ratio = [&] { return cholesky_residual_ratio(runtime, *matrix, *a, triangle); };
    routine.without_factors = "not positive definite";
    return FactorRuns(command.factor, plan, routine, runtime, files).run();
}

int cholesky(const CholeskyCommand& command, const Settings& settings) {
    return run_factorization(command.factor, settings, [&]<class T>(T, Runtime& runtime, OutputFiles& files) {
        return run_cholesky<T>(command, settings, runtime, files);
    });
}

void add_looking_options(CLI::App& command, GpuOptions& options) {
    const auto add = [&](const char* flag, Looking looking, const char* meaning) {
        return command.add_flag_callback(
            flag, [&options, looking] { options.looking = looking; }, meaning);
    };
    add("--left-looking", Looking::left,
        "mode gpu: a panel is updated by all earlier ones at once (default: chosen by the program)")
        ->excludes(add("--right-looking", Looking::right, "mode gpu: a panel updates all columns to its right"));
}

}  // namespace

void add_cholesky(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command =
        program.add_subcommand("cholesky", "factor one symmetric positive definite matrix, check it, time it");
    const auto options = std::make_shared<CholeskyCommand>();
    FactorOptions& factor = options->factor;
    factor.matrix = "spd";
    add_factor_options(*command, settings, factor);
    add_gpu_panels_option(*command, factor.gpu);
    command->add_flag_callback(
        "--upper", [options] { options->triangle = Triangle::upper; },
        "the upper triangle, A = U^T U (default: the lower one, A = L L^T)");
    add_looking_options(*command, factor.gpu);
    command->add_flag("--rows-on-cores", factor.gpu.rows_on_cores,
                      "hybrid, for comparison: the cores solve for a panel's rows below the square that they factor");
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return cholesky(*options, settings); }; });
}

}  // namespace basalt
