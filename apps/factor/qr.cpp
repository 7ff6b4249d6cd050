#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor/factor_command.hpp"
#include "apps/factor/factor_options.hpp"
#include "apps/factor/factor_runs.hpp"
#include "apps/factor/qr_check.hpp"
#include "apps/factor/qr_plan.hpp"
#include "apps/input/arguments.hpp"
#include "apps/input/input_matrix.hpp"
#include "apps/input/matrix_memory.hpp"

namespace basalt {

namespace {

constexpr Index widest_inner = Index{1} << 20;

/// LAPACK's count in its leading terms; 4/3 n^3 for m = n.
double qr_flops(Index m, Index n) {
    const auto k = static_cast<double>(std::min(m, n));
    const auto l = static_cast<double>(std::max(m, n));
    return 2 * k * k * (l - k / 3);
}

/// The options of `basalt qr`.
struct QrCommand {
    FactorOptions factor;
    QrOptions qr;  ///< method, inner width, tree and gpu_panels_below
};

const char* name_of(QrMethod method) { return method == QrMethod::tile ? "tile" : "blocked"; }

/// flop/s of a small factorization, measured now. A larger one is at least as fast.
template <class T>
double measured_qr_rate(Runtime& runtime) {
    constexpr Index n = 800;
    auto a = Matrix<T>::generate(runtime, make_generator<T>("random", n, n), n, n);
    runtime.wait();
    const auto start = std::chrono::steady_clock::now();
    qr_factor(runtime, a);
    runtime.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return qr_flops(n, n) / std::max(seconds.count(), 1e-9);
}

template <class T>
int run_qr(QrCommand command, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    const std::shared_ptr<const Generator<T>> matrix = input_matrix<T>(command.factor);
    const Index m = command.factor.rows(), n = command.factor.n;
    const QrPlan plan = qr_plan(settings, runtime, m, n, sizeof(T), command.qr);
    // the matrix, what emulated GPUs take, panels and their triangles T, and the vectors of the check
    constexpr double vectors = 6, panels = 5;
    const double lengths = static_cast<double>(m) + static_cast<double>(n);
    const double bytes = matrix_bytes(m, n, plan.tile, sizeof(T));
    require_memory(bytes + emulated_bytes(plan, plan.panel_width, runtime, m, n, sizeof(T)) +
                       vectors * lengths * sizeof(double) +
                       panels * lengths * static_cast<double>(plan.panel_width) * sizeof(T),
                   fmt::format("a {} x {} matrix", m, n));
    tell_unused_panel_threads(plan, settings);
    spdlog::debug("method {}", name_of(plan.options.method));

    std::optional<Matrix<T>> a;
    std::optional<QrFactors<T>> qr;
    FactorRoutine routine;
    routine.command = "qr";
    routine.name = "geqrf";
    routine.panel_width = plan.panel_width;
    routine.flops = qr_flops(m, n);
    routine.other_fields["method"] = name_of(plan.options.method);
    routine.expected_rate = [&] { return measured_qr_rate<T>(runtime); };
    routine.prepare = [&] {
        qr.reset();
        a.reset();  // two matrices may not fit
        a = make_matrix<T>(plan, runtime, matrix, m, n);
    };
    routine.factor = [&] {
        qr = qr_factor(runtime, *a, plan.options);
        return_matrix(plan, runtime, *a);
    };
    routine.panel_places = [&] { return qr->panel_places(); };
    routine.collect = [] { return std::nullopt; };
    routine.residual_ratio = [&] { return qr_residual_ratio(runtime, *matrix, *a, *qr); };
    return FactorRuns(command.factor, plan, routine, runtime, files).run();
}

int qr(const QrCommand& command, const Settings& settings) {
    return run_factorization(command.factor, settings, [&]<class T>(T, Runtime& runtime, OutputFiles& files) {
        return run_qr<T>(command, settings, runtime, files);
    });
}

void add_method_options(CLI::App& command, QrOptions& options) {
    const auto add = [&command](const char* name, const char* meaning, const auto& parse) {
        command.add_option_function<std::string>(name, parse, meaning)->type_name("VALUE");
    };
    add("--method", "blocked (LAPACK's form), tile (mode cpu), or auto: by shape (default: blocked)",
        [&options](const std::string& text) {
            const std::string method = parse_choice("--method", text, {"blocked", "tile", "auto"});
            options.method = method == "tile"   ? QrMethod::tile
                             : method == "auto" ? QrMethod::automatic
                                                : QrMethod::blocked;
        });
    add("--tree", "tall panels by a reduction tree, mode cpu: auto, never or always (default: auto)",
        [&options](const std::string& text) {
            const std::string tree = parse_choice("--tree", text, {"auto", "never", "always"});
            options.tree = tree == "auto" ? QrTree::automatic : tree == "always" ? QrTree::always : QrTree::never;
        });
    add("--inner-width", "method tile: columns of a panel with a triangle T of their own (default: by table)",
        [&options](const std::string& text) {
            options.inner_width = parse_integer("--inner-width", text, 1, widest_inner);
        });
}

void require_used_options(const QrOptions& options) {
    if (options.inner_width && options.method == QrMethod::blocked)
        throw WrongUse("--inner-width with --method blocked; allowed: --method tile or auto");
}

}  // namespace

void add_qr(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("qr", "factor one matrix by QR, check it, time it");
    const auto options = std::make_shared<QrCommand>();
    add_factor_options(*command, settings, options->factor);
    add_gpu_panels_option(*command, options->factor.gpu);
    add_method_options(*command, options->qr);
    command->callback([options, &settings, &chosen] {
        require_used_options(options->qr);
        options->qr.gpu_panels_below = options->factor.gpu.panels_below;
        chosen = [options, &settings] { return qr(*options, settings); };
    });
}

}  // namespace basalt
