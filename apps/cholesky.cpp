#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/cholesky_check.hpp"
#include "apps/cholesky_plan.hpp"
#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor_command.hpp"
#include "apps/factor_options.hpp"
#include "apps/input_matrix.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/output_files.hpp"
#include "apps/progress.hpp"
#include "apps/repeated_runs.hpp"
#include "apps/run_energy.hpp"
#include "apps/run_record.hpp"
#include "apps/symmetry.hpp"
#include "io/energy_report.hpp"

namespace basalt {

namespace {

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

double cholesky_flops(Index n) {
    const auto order = static_cast<double>(n);
    return order * order * order / 3;
}

/// What `basalt cholesky` has beside the options of all factorizations.
struct CholeskyCommand {
    FactorOptions factor;
    Triangle triangle = Triangle::lower;
};

/// flop/s of a small factorization, made now: what a larger one will reach at least.
template <class T>
double measured_rate(Runtime& runtime) {
    constexpr Index n = 1000;
    auto a = Matrix<T>::generate(runtime, make_generator<T>("spd", n, n), n, n);
    runtime.wait();
    const auto start = std::chrono::steady_clock::now();
    cholesky_factor(runtime, a);
    runtime.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return cholesky_flops(n) / std::max(seconds.count(), 1e-9);
}

/// The factorizations of one call of `basalt cholesky` and what came out of them.
template <class T>
class CholeskyRuns {
  public:
    /// The options must have the size of `matrix`.
    CholeskyRuns(const CholeskyCommand& command, std::shared_ptr<const Generator<T>> matrix, const Settings& settings,
                 Runtime& runtime, OutputFiles& files)
        : options_(command.factor),
          triangle_(command.triangle),
          runtime_(runtime),
          files_(files),
          generator_(std::move(matrix)),
          plan_(cholesky_plan(settings, options_.gpu, triangle_, runtime, options_.n, sizeof(T))) {
        require_memory(run_bytes(), fmt::format("a {} x {} matrix", options_.rows(), options_.n));
        spdlog::debug("mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs, scheduler {}",
                      plan_.mode_name(), plan_.reason, plan_.tile.height, plan_.tile.width, plan_.options.panel_width,
                      runtime.workers(), runtime.gpus(), runtime.config().scheduler);
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
        return passed_ || !options_.check ? exit_done : exit_check_failed;
    }

  private:
    double flops() const { return cholesky_flops(options_.n); }
    bool upper() const { return triangle_ == Triangle::upper; }

    /// The matrix, on emulated GPUs another one, and the vectors of the check.
    double run_bytes() const {
        constexpr double vectors = 6;
        const double matrix = matrix_bytes(options_.n, options_.n, plan_.tile, sizeof(T));
        return matrix + emulated_bytes(runtime_, matrix) + vectors * static_cast<double>(options_.n) * sizeof(double);
    }

    /// Where INFO says that there is no factor, there is nothing to check, and the run has not passed.
    bool checked() const { return options_.check && info_ == 0; }

    void run_once() {
        auto a = make_matrix<T>(plan_, runtime_, generator_, options_.rows(), options_.n);
        const bool last = std::ssize(seconds_) + 1 == options_.repeat;
        if (last) files_.begin_trace(runtime_);
        if (meter_) meter_->start();
        const auto start = std::chrono::steady_clock::now();
        const auto cholesky = cholesky_factor(runtime_, a, triangle_, plan_.options);
        return_matrix(plan_, runtime_, a);
        runtime_.wait();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (meter_) meter_->stop();
        if (last) files_.end_trace(runtime_);
        info_ = cholesky.info();
        passed_ = passed_ && info_ == 0;
        if (checked()) {
            ratio_ = cholesky_residual_ratio(runtime_, *generator_, a, triangle_);
            passed_ = passed_ && ratio_ < max_ratio;
            if (!(ratio_ <= worst_ratio_)) worst_ratio_ = ratio_;  // also where it is NaN
        }
        seconds_.push_back(seconds.count());
    }

    void write_line() const {
        const double seconds = seconds_.back();
        const double gflops = seconds > 0 ? flops() / seconds * 1e-9 : 0;
        const std::string check = checked()
                                      ? fmt::format("ratio {:.3g} {}", ratio_, ratio_ < max_ratio ? "passed" : "FAILED")
                                  : options_.check ? "not positive definite"
                                                   : "not checked";
        const std::string energy = meter_ ? "  " + energy_text(meter_->last(), flops()) : std::string();
        files_.human() << fmt::format("cholesky {}{} {} x {}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  info {}  {}{}\n",
                                      options_.precision, upper() ? " (upper)" : "", options_.rows(), options_.n,
                                      seconds_.size(), options_.repeat, seconds, gflops, info_, check, energy)
                       << std::flush;
    }

    void write_record() const {
        FactorRecord record = run_record(plan_, plan_.options.panel_width, runtime_);
        record.routine = "potrf";
        record.precision = options_.precision;
        record.m = options_.rows();
        record.n = options_.n;
        record.runs = seconds_;
        record.flops = flops();
        record.info = info_;
        if (checked()) record.residual_ratio = worst_ratio_;
        if (options_.check) record.passed = passed_;
        JsonRecord json = to_json(record);
        json["triangle"] = upper() ? "upper" : "lower";
        if (plan_.options.left_looking >= 0) json["looking"] = plan_.options.left_looking > 0 ? "left" : "right";
        if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
        files_.record(json);
    }

    const FactorOptions& options_;
    const Triangle triangle_;
    Runtime& runtime_;
    OutputFiles& files_;
    const std::shared_ptr<const Generator<T>> generator_;
    const CholeskyPlan plan_;

    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    Index info_ = 0;
    double ratio_ = 0;  // of the last run
    double worst_ratio_ = 0;
    bool passed_ = true;
};

/// Throws WrongUse for a matrix that is not square, or not symmetric by more than rounding.
template <class T>
void require_symmetric(const FactorOptions& options, Runtime& runtime, const Generator<T>& matrix) {
    if (matrix.rows() != matrix.cols()) {
        throw WrongUse(fmt::format("a {} x {} matrix for cholesky; allowed: square ones (--m as --n)", matrix.rows(),
                                   matrix.cols()));
    }
    if (options.matrix == "spd" && options.file.empty()) return;
    const Asymmetry found = asymmetry(runtime, matrix);
    const double allowed =
        static_cast<double>(matrix.rows()) * std::numeric_limits<T>::epsilon() * found.largest_element;
    if (found.largest_difference <= allowed) return;
    throw WrongUse(fmt::format(
        "--matrix {}: elements ({}, {}) and ({}, {}) differ by {:.3g}; allowed for cholesky: symmetric matrices",
        options.file.empty() ? options.matrix : options.file, found.row + 1, found.col + 1, found.col + 1,
        found.row + 1, found.largest_difference));
}

template <class T>
int run_cholesky(CholeskyCommand command, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    auto matrix = input_matrix<T>(command.factor);
    require_symmetric(command.factor, runtime, *matrix);
    return CholeskyRuns<T>(command, std::move(matrix), settings, runtime, files).run();
}

int cholesky(const CholeskyCommand& command, const Settings& settings) {
    if (panel_threads_given(settings))
        std::cerr << "basalt: --panel-threads changes nothing for cholesky, in which no threads share a panel\n";
    return run_factorization(command.factor, settings, [&]<class T>(T, Runtime& runtime, OutputFiles& files) {
        return run_cholesky<T>(command, settings, runtime, files);
    });
}

void add_looking_options(CLI::App& command, GpuOptions& options) {
    // as callbacks: a flag's variable becomes 0 where the flag is not given
    const auto add = [&](const char* flag, int left, const char* meaning) {
        return command.add_flag_callback(
            flag, [&options, left] { options.left_looking = left; }, meaning);
    };
    add("--left-looking", 1, "mode gpu: a panel gets all former ones at once (default: the library chooses)")
        ->excludes(add("--right-looking", 0, "mode gpu: a panel updates all that is right of it"));
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
