#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/arguments.hpp"
#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor_command.hpp"
#include "apps/factor_options.hpp"
#include "apps/input_matrix.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/output_files.hpp"
#include "apps/progress.hpp"
#include "apps/qr_check.hpp"
#include "apps/qr_plan.hpp"
#include "apps/repeated_runs.hpp"
#include "apps/run_energy.hpp"
#include "apps/run_record.hpp"
#include "io/energy_report.hpp"

namespace basalt {

namespace {

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this
constexpr Index widest_inner = Index{1} << 20;

/// LAPACK's count in its leading terms; 4/3 n^3 for m = n.
double qr_flops(Index m, Index n) {
    const auto k = static_cast<double>(std::min(m, n));
    const auto l = static_cast<double>(std::max(m, n));
    return 2 * k * k * (l - k / 3);
}

/// What `basalt qr` has beside the options of all factorizations.
struct QrCommand {
    FactorOptions factor;
    QrOptions qr;  ///< method, inner width, tree and gpu_panels_below
};

const char* name_of(QrMethod method) { return method == QrMethod::tile ? "tile" : "blocked"; }

/// flop/s of a small factorization, made now: what a larger one will reach at least.
template <class T>
double measured_rate(Runtime& runtime) {
    constexpr Index n = 800;
    auto a = Matrix<T>::generate(runtime, make_generator<T>("random", n, n), n, n);
    runtime.wait();
    const auto start = std::chrono::steady_clock::now();
    qr_factor(runtime, a);
    runtime.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return qr_flops(n, n) / std::max(seconds.count(), 1e-9);
}

/// The factorizations of one call of `basalt qr` and what came out of them.
template <class T>
class QrRuns {
  public:
    /// `options` must have the size of `matrix`.
    QrRuns(const QrCommand& command, std::shared_ptr<const Generator<T>> matrix, const Settings& settings,
           Runtime& runtime, OutputFiles& files)
        : options_(command.factor),
          runtime_(runtime),
          files_(files),
          generator_(std::move(matrix)),
          plan_(qr_plan(settings, runtime, options_.rows(), options_.n, sizeof(T), command.qr)) {
        require_memory(run_bytes(), fmt::format("a {} x {} matrix", options_.rows(), options_.n));
        spdlog::debug("mode {} ({}), method {}, tiles of {} x {}, panels of {}, {} workers, {} GPUs, scheduler {}",
                      plan_.mode_name(), plan_.reason, name_of(plan_.options.method), plan_.tile.height,
                      plan_.tile.width, plan_.options.panel_width, runtime.workers(), runtime.gpus(),
                      runtime.config().scheduler);
        if (options_.gpu.energy) meter_ = make_energy_meter(runtime, plan_.mode != FactorMode::cpu, files);
    }

    /// All runs, or those before a Ctrl-C; returns the exit status.
    int run() {
        const Index runs = run_repeatedly(runtime_, options_.repeat,
                                          {.flops = flops(),
                                           .rate = Progress::wanted() ? measured_rate<T>(runtime_) : 0,
                                           .once = [this] { run_once(); },
                                           .tell = [this] { write_line(); }});
        if (runs > 0) write_record();
        if (passed_) runtime_.learn_run(plan_.run, plan_.mode, seconds_);
        require_completed(runs, options_.repeat);
        return passed_ ? exit_done : exit_check_failed;
    }

  private:
    double flops() const { return qr_flops(options_.rows(), options_.n); }

    /// The matrix, on emulated GPUs another one, panels and their triangles, and the vectors of the check.
    double run_bytes() const {
        constexpr double vectors = 6, panels = 5;
        const double lengths = static_cast<double>(options_.rows()) + static_cast<double>(options_.n);
        const double matrix = matrix_bytes(options_.rows(), options_.n, plan_.tile, sizeof(T));
        return matrix + emulated_bytes(runtime_, matrix) + vectors * lengths * sizeof(double) +
               panels * lengths * static_cast<double>(plan_.options.panel_width) * sizeof(T);
    }

    void run_once() {
        auto a = make_matrix<T>(plan_, runtime_, generator_, options_.rows(), options_.n);
        const bool last = std::ssize(seconds_) + 1 == options_.repeat;
        if (last) files_.begin_trace(runtime_);
        if (meter_) meter_->start();
        const auto start = std::chrono::steady_clock::now();
        const auto qr = qr_factor(runtime_, a, plan_.options);
        return_matrix(plan_, runtime_, a);
        runtime_.wait();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (meter_) meter_->stop();
        if (last) files_.end_trace(runtime_);
        if (options_.check) {
            ratio_ = qr_residual_ratio(runtime_, *generator_, a, qr);
            passed_ = passed_ && ratio_ < max_ratio;
            if (!(ratio_ <= worst_ratio_)) worst_ratio_ = ratio_;  // also where it is NaN
        }
        seconds_.push_back(seconds.count());
    }

    void write_line() const {
        const double seconds = seconds_.back();
        const double gflops = seconds > 0 ? flops() / seconds * 1e-9 : 0;
        const std::string check = options_.check
                                      ? fmt::format("ratio {:.3g} {}", ratio_, ratio_ < max_ratio ? "passed" : "FAILED")
                                      : "not checked";
        const std::string energy = meter_ ? "  " + energy_text(meter_->last(), flops()) : std::string();
        files_.human() << fmt::format("qr {} {} x {}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  {}{}\n",
                                      options_.precision, options_.rows(), options_.n, seconds_.size(), options_.repeat,
                                      seconds, gflops, check, energy)
                       << std::flush;
    }

    void write_record() const {
        FactorRecord record = run_record(plan_, plan_.options.panel_width, runtime_);
        record.routine = "geqrf";
        record.precision = options_.precision;
        record.m = options_.rows();
        record.n = options_.n;
        record.runs = seconds_;
        record.flops = flops();
        if (options_.check) {
            record.residual_ratio = worst_ratio_;
            record.passed = passed_;
        }
        JsonRecord json = to_json(record);
        json["method"] = name_of(plan_.options.method);
        if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
        files_.record(json);
    }

    const FactorOptions& options_;
    Runtime& runtime_;
    OutputFiles& files_;
    const std::shared_ptr<const Generator<T>> generator_;
    const QrPlan plan_;

    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    double ratio_ = 0;  // of the last run
    double worst_ratio_ = 0;
    bool passed_ = true;
};

template <class T>
int run_qr(QrCommand command, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    auto matrix = input_matrix<T>(command.factor);
    return QrRuns<T>(command, std::move(matrix), settings, runtime, files).run();
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
    if (options.inner_width > 0 && options.method == QrMethod::blocked)
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
