#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/batch/batch_options.hpp"
#include "apps/batch/batch_problem.hpp"
#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/info/machine.hpp"
#include "apps/input/arguments.hpp"
#include "apps/input/setting_options.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/repeated_runs.hpp"
#include "apps/runs/residual.hpp"
#include "apps/runs/run_energy.hpp"
#include "base/build_commit.hpp"
#include "io/energy/energy_report.hpp"

namespace basalt {

namespace {

constexpr Index most_order = 4096, most_matrices = 100'000'000, most_sides = 4096;

/// The runs of one call and their results.
template <class T>
class BatchRuns {
  public:
    BatchRuns(const BatchOptions& options, Runtime& runtime, OutputFiles& files)
        : options_(options), runtime_(runtime), files_(files), problem_(runtime, options) {
        if (options.gpu.energy) meter_ = make_energy_meter({.runtime = runtime, .on_gpus = false}, files);
    }

    int run() {
        const Index runs = run_repeatedly(
            runtime_, options_.repeat,
            {.flops = problem_.flops(), .rate = 0, .once = [this] { run_once(); }, .tell = [this] { write_line(); }});
        if (runs > 1) files_.human() << median_line(title(), seconds_, problem_.flops()) << std::flush;
        if (runs > 0) write_record();
        require_completed(runs, options_.repeat);
        return passed_ || !options_.check ? exit_done : exit_check_failed;
    }

  private:
    std::string title() const {
        return fmt::format("batch {} {} {} x {} x {}", problem_.routine(), options_.precision, options_.count,
                           options_.rows(), options_.n);
    }

    void run_once() {
        problem_.prepare();
        const bool last = std::ssize(seconds_) + 1 == options_.repeat;
        if (last) files_.begin_trace(runtime_);
        if (meter_) meter_->start();
        const auto start = std::chrono::steady_clock::now();
        problem_.run();
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (meter_) meter_->stop();
        if (last) files_.end_trace(runtime_);
        seconds_.push_back(seconds.count());
        passed_ = passed_ && problem_.failed() == 0;
        if (!options_.check) return;
        ratio_ = problem_.residual_ratio();
        passed_ = passed_ && ratio_ < passing_ratio;
        if (!(ratio_ <= worst_ratio_)) worst_ratio_ = ratio_;  // also where it is NaN
    }

    void write_line() const {
        const double seconds = seconds_.back();
        const std::string check =
            options_.check ? fmt::format("ratio {:.3g} {}", ratio_, ratio_ < passing_ratio ? "passed" : "FAILED")
                           : "not checked";
        files_.human() << fmt::format(
                              "{}  {} cores  run {} of {}  {:.6f} s  {:.2f} Gflop/s  {:.4g} matrices/s  failed {}  "
                              "{}{}\n",
                              title(), runtime_.workers(), seconds_.size(), options_.repeat, seconds,
                              seconds > 0 ? problem_.flops() / seconds * 1e-9 : 0.0,
                              seconds > 0 ? static_cast<double>(options_.count) / seconds : 0.0, problem_.failed(),
                              check, meter_ ? "  " + energy_text(meter_->last(), problem_.flops()) : "")
                       << std::flush;
    }

    void write_record() const {
        const double seconds = median(seconds_);
        JsonRecord json;
        json["routine"] = problem_.routine();
        json["precision"] = std::string(1, options_.precision);
        json["m"] = options_.rows();
        json["n"] = options_.n;
        json["count"] = options_.count;
        if (options_.solve) json["nrhs"] = options_.nrhs;
        json["mode"] = "cpu";
        json["cpus"] = runtime_.workers();
        json["gpus"] = 0;
        json["emulated"] = false;
        json["data"] = "host";
        json["seconds"] = seconds;
        json["gflops"] = seconds > 0 ? problem_.flops() / seconds * 1e-9 : 0.0;
        json["residual_ratio"] = options_.check ? JsonRecord(worst_ratio_) : JsonRecord();
        json["passed"] = options_.check ? JsonRecord(passed_) : JsonRecord();
        json["failed"] = problem_.failed();
        json["runs"] = seconds_;
        json["machine"] = machine_name(inspect_machine());
        json["commit"] = build_commit;
        if (meter_) {
            json["energy"] = to_json(meter_->total(), problem_.flops() * static_cast<double>(seconds_.size()));
        }
        files_.record(json);
    }

    const BatchOptions& options_;
    Runtime& runtime_;
    OutputFiles& files_;
    BatchProblem<T> problem_;
    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    double ratio_ = 0, worst_ratio_ = 0;
    bool passed_ = true;
};

int run_batch(const BatchOptions& options, const Settings& settings) {
    if (options.method.empty()) throw WrongUse("batch: no factorization; allowed: cholesky, lu, qr");
    if (options.m && options.method != "qr") {
        throw WrongUse(fmt::format("--m {}: {} has square matrices; allowed with qr", *options.m, options.method));
    }
    Config config = settings.runtime_config();
    config.gpus = 0;
    Runtime runtime(config);
    OutputFiles files(settings);
    const int status = options.precision == 's' ? BatchRuns<float>(options, runtime, files).run()
                                                : BatchRuns<double>(options, runtime, files).run();
    files.require_written();
    return status;
}

void add_batch_options(CLI::App& command, BatchOptions& options) {
    const auto value = [&command](const std::string& name, const std::string& meaning, const auto& parse) {
        command.add_option_function<std::string>(name, parse, meaning)->type_name("VALUE");
    };
    const auto integer = [&value](const std::string& name, Index& number, Index high, const std::string& meaning) {
        value(name, fmt::format("{} (default: {})", meaning, number),
              [name, &number, high](const std::string& text) { number = parse_integer(name, text, 1, high); });
    };
    value("method", "cholesky, lu or qr", [&options](const std::string& text) {
        options.method = parse_choice("batch", text, {"cholesky", "lu", "qr"});
    });
    value("--m", "rows of each matrix, with qr (default: as --n)",
          [&options](const std::string& text) { options.m = parse_integer("--m", text, 1, most_order); });
    integer("--n", options.n, most_order, "order of each matrix, or its columns");
    integer("--count", options.count, most_matrices, "matrices");
    integer("--nrhs", options.nrhs, most_sides, "right-hand sides of each matrix, with --solve");
    integer("--repeat", options.repeat, 1'000'000, "runs, each on fresh matrices");
    value("--precision", "s (single) or d (double) (default: d)", [&options](const std::string& text) {
        options.precision = parse_choice("--precision", text, {"s", "d"}).front();
    });
    value("--seed", "seed of the first matrix (default: 0)",
          [&options](const std::string& text) { options.seed = parse_seed("--seed", text); });
    command.add_flag_callback(
        "--solve", [&options] { options.solve = true; }, "factor and solve in one pass; least squares with qr");
    command.add_flag_callback(
        "--check", [&options] { options.check = true; }, "check every matrix (the default)");
    command.add_flag_callback(
        "--no-check", [&options] { options.check = false; }, "do not check the results");
    add_energy_option(command, options.gpu);
}

}  // namespace

void add_batch(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("batch", "factor many small matrices on cores, check them, time it");
    const auto options = std::make_shared<BatchOptions>();
    add_batch_options(*command, *options);
    add_setting_options(*command, settings, {"BASALT_WORKERS", "BASALT_SCHEDULER", "BASALT_TRACE", "BASALT_JSON"});
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return run_batch(*options, settings); }; });
}

}  // namespace basalt
