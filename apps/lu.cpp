#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor_command.hpp"
#include "apps/factor_options.hpp"
#include "apps/input_matrix.hpp"
#include "apps/lu_check.hpp"
#include "apps/lu_plan.hpp"
#include "apps/lu_rate.hpp"
#include "apps/output_files.hpp"
#include "apps/progress.hpp"
#include "apps/repeated_runs.hpp"
#include "apps/run_energy.hpp"
#include "apps/run_record.hpp"
#include "basalt/error.hpp"
#include "io/energy_report.hpp"

namespace basalt {

namespace {

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

/// The factorizations of one call of `basalt lu` and what came out of them.
template <class T>
class LuRuns {
  public:
    /// `options` must have the size of `matrix`.
    LuRuns(const FactorOptions& options, std::shared_ptr<const Generator<T>> matrix, const Settings& settings,
           Runtime& runtime, OutputFiles& files)
        : options_(options),
          runtime_(runtime),
          files_(files),
          generator_(std::move(matrix)),
          plan_(lu_plan(settings, options.gpu, runtime, options.rows(), options.n, sizeof(T))) {
        constexpr double vectors = 4;  // of the check, in double, rows and columns long
        const double lengths = static_cast<double>(options.rows()) + static_cast<double>(options.n);
        require_room(plan_, runtime, options.rows(), options.n, sizeof(T), vectors * lengths * sizeof(double),
                     fmt::format("a {} x {} matrix", options.rows(), options.n));
        spdlog::debug("mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs, scheduler {}",
                      plan_.mode_name(), plan_.reason, plan_.tile.height, plan_.tile.width, plan_.options.panel_width,
                      runtime.workers(), runtime.gpus(), runtime.config().scheduler);
        if (options.gpu.energy) meter_ = make_energy_meter(runtime, plan_.mode != LuMode::cpu, files);
    }

    /// All runs, or those before a Ctrl-C; returns the exit status.
    int run();

  private:
    /// How much larger the unit roundoff of what the factors are made in is than that of T.
    double times_coarser() const {
        constexpr double tf32_roundoff = 0x1p-11, own = std::numeric_limits<T>::epsilon() / 2;
        return plan_.options.tf32 ? tf32_roundoff / own : 1;
    }
    void run_once();
    double timed_factorization(Matrix<T>& a, std::vector<Index>& pivots);
    void write_line() const;
    void write_record() const;

    const FactorOptions& options_;
    Runtime& runtime_;
    OutputFiles& files_;
    const std::shared_ptr<const Generator<T>> generator_;
    const LuPlan plan_;

    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    Index info_ = 0;
    double ratio_ = 0;  // of the last run
    double worst_ratio_ = 0;
    bool passed_ = true;
};

template <class T>
int LuRuns<T>::run() {
    const Index runs = run_repeatedly(runtime_, options_.repeat,
                                      {.flops = lu_flops(options_.rows(), options_.n),
                                       .rate = Progress::wanted() ? measured_lu_rate<T>(runtime_) : 0,
                                       .once = [this] { run_once(); },
                                       .tell = [this] { write_line(); }});
    if (runs > 0) write_record();
    if (passed_) runtime_.learn_run(plan_.run, plan_.mode, seconds_);
    require_completed(runs, options_.repeat);
    return passed_ ? exit_done : exit_check_failed;
}

template <class T>
void LuRuns<T>::run_once() {
    auto a = make_matrix<T>(plan_, runtime_, generator_, options_.rows(), options_.n);
    std::vector<Index> pivots;
    const double seconds = timed_factorization(a, pivots);
    if (options_.check) {
        ratio_ = plan_.stays_on_gpus() ? lu_residual_ratio_on_gpus<T>(runtime_, generator_, a, pivots)
                                       : lu_residual_ratio(runtime_, *generator_, a, pivots);
        ratio_ /= times_coarser();
        passed_ = passed_ && ratio_ < max_ratio;
        if (!(ratio_ <= worst_ratio_)) worst_ratio_ = ratio_;  // also where it is NaN
    }
    seconds_.push_back(seconds);
}

template <class T>
double LuRuns<T>::timed_factorization(Matrix<T>& a, std::vector<Index>& pivots) {
    const bool last = std::ssize(seconds_) + 1 == options_.repeat;
    if (last) files_.begin_trace(runtime_);
    if (meter_) meter_->start();
    const auto start = std::chrono::steady_clock::now();
    const auto lu = lu_factor(runtime_, a, plan_.options);
    return_matrix(plan_, runtime_, a);
    runtime_.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (meter_) meter_->stop();
    if (last) files_.end_trace(runtime_);
    info_ = lu.info();
    pivots = lu.pivots();
    return seconds.count();
}

template <class T>
void LuRuns<T>::write_line() const {
    const double seconds = seconds_.back();
    const double gflops = seconds > 0 ? lu_flops(options_.rows(), options_.n) / seconds * 1e-9 : 0;
    const std::string check = options_.check
                                  ? fmt::format("ratio {:.3g} {}", ratio_, ratio_ < max_ratio ? "passed" : "FAILED")
                                  : "not checked";
    const std::string energy =
        meter_ ? "  " + energy_text(meter_->last(), lu_flops(options_.rows(), options_.n)) : std::string();
    files_.human() << fmt::format("lu {}{} {} x {}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  info {}  {}{}\n",
                                  options_.precision, plan_.options.tf32 ? " (tf32)" : "", options_.rows(), options_.n,
                                  seconds_.size(), options_.repeat, seconds, gflops, info_, check, energy)
                   << std::flush;
}

template <class T>
void LuRuns<T>::write_record() const {
    FactorRecord record = run_record(plan_, plan_.options.panel_width, runtime_);
    record.routine = "getrf";
    record.precision = options_.precision;
    record.m = options_.rows();
    record.n = options_.n;
    record.runs = seconds_;
    record.flops = lu_flops(record.m, record.n);
    if (options_.check) {
        record.residual_ratio = worst_ratio_;
        record.passed = passed_;
    }
    record.info = info_;
    JsonRecord json = to_json(record);
    if (plan_.options.tf32) json["tf32"] = true;
    if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
    files_.record(json);
}

template <class T>
int run_lu(FactorOptions options, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    auto matrix = input_matrix<T>(options);
    return LuRuns<T>(options, std::move(matrix), settings, runtime, files).run();
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
