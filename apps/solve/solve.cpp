#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor/factor_options.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/factor/run_place.hpp"
#include "apps/input/input_matrix.hpp"
#include "apps/input/matrix_file.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/progress.hpp"
#include "apps/runs/repeated_runs.hpp"
#include "apps/runs/residual.hpp"
#include "apps/runs/run_energy.hpp"
#include "apps/solve/check.hpp"
#include "apps/solve/method.hpp"
#include "io/energy/energy_report.hpp"
#include "io/files/matrix_market.hpp"

namespace basalt {

namespace {

struct SolveOptions {
    FactorOptions matrix;
    std::string file;                   ///< Matrix Market file of A; empty: as `matrix` says
    std::string right_hand_sides;       ///< Matrix Market file; empty: A * ones
    std::optional<std::string> output;  ///< file that gets the solution
    std::string method;                 ///< empty: by the shape of A
    MixedChoices mixed;

    std::string matrix_name() const { return matrix.file.empty() ? "the matrix " + matrix.matrix : matrix.file; }
};

/// The solutions of one call of `basalt solve` and their results.
template <class T>
class SolveRuns {
  public:
    /// `options.matrix` must have the size of `matrix`. `output` gets the solution, unless it is nullptr.
    SolveRuns(const SolveOptions& options, std::shared_ptr<const Generator<T>> matrix, const Settings& settings,
              Runtime& runtime, OutputFiles& files, OutputFile* output)
        : options_(options),
          runtime_(runtime),
          files_(files),
          output_(output),
          matrix_(std::move(matrix)),
          method_name_(options.method.empty() ? usual_solve_method(matrix_->rows(), matrix_->cols()) : options.method),
          method_(make_solve_method<T>(
              method_name_, {runtime, matrix_, options.matrix_name(), settings, options.matrix.gpu, options.mixed})),
          b_(right_hand_sides()) {
        require_run_memory(b_.cols);
        tell_unused_panel_threads(method_->plan(), settings);
        x_ = Columns<T>(matrix_->cols(), b_.cols);
        const FactorRecord common = method_->record();
        spdlog::debug("{}, mode {}, tiles of {}, panels of {}, {} workers, {} GPUs, scheduler {}", method_name_,
                      common.mode, common.tile, common.nb, runtime.workers(), runtime.gpus(),
                      runtime.config().scheduler);
        if (options.matrix.gpu.energy)
            meter_ = make_energy_meter({.runtime = runtime, .on_gpus = method_->plan().on_gpus()}, files);
    }

    /// All runs, or those before a Ctrl-C; returns the exit status.
    int run();

  private:
    Columns<T> right_hand_sides() const;
    void require_run_memory(Index right_hand_sides) const;
    void run_once();
    void load_right_hand_sides(Matrix<T>& b);
    double timed_solution(Matrix<T>& b);
    void store_solution(const Matrix<T>& b);
    bool solved() const { return info_ == 0; }
    std::string what() const;
    void write_line() const;
    void write_record() const;
    void warn_of_condition() const;
    int write_solution() const;

    const SolveOptions& options_;
    Runtime& runtime_;
    OutputFiles& files_;
    OutputFile* const output_;
    const std::shared_ptr<const Generator<T>> matrix_;
    const std::string method_name_;
    const std::unique_ptr<SolveMethod<T>> method_;
    const Columns<T> b_;

    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    Index info_ = 0;
    PanelPlaces panels_;               // of the last run
    Columns<T> x_;                     // of the last run
    SolveErrors errors_;               // of the last run
    std::optional<double> condition_;  // reciprocal, of the last run, unless it is not checked
    double worst_ratio_ = 0;
    bool passed_ = true;
};

template <class T>
Columns<T> SolveRuns<T>::right_hand_sides() const {
    if (!options_.right_hand_sides.empty())
        return read_right_hand_sides<T>(options_.right_hand_sides, matrix_->rows(), options_.matrix_name());
    require_run_memory(1);  // a matrix of few elements may have long rows or columns
    return row_sums<T>(runtime_, *matrix_);
}

/// Of the matrix, B and X in tiles and as columns, and the check.
template <class T>
void SolveRuns<T>::require_run_memory(Index right_hand_sides) const {
    constexpr double vectors = 4;  // of the check in double, and a copy with padding
    const auto lengths = static_cast<double>(matrix_->rows()) + static_cast<double>(matrix_->cols());
    const double bytes = method_->bytes(right_hand_sides) +
                         matrix_bytes(method_->rows(), right_hand_sides, method_->tile(right_hand_sides), sizeof(T)) +
                         vectors * lengths * static_cast<double>(right_hand_sides) * sizeof(double);
    require_memory(bytes, fmt::format("a {} x {} matrix with {} right-hand side{}", matrix_->rows(), matrix_->cols(),
                                      right_hand_sides, right_hand_sides == 1 ? "" : "s"));
}

template <class T>
int SolveRuns<T>::run() {
    const Index repeat = options_.matrix.repeat;
    const Index runs = run_repeatedly(runtime_, repeat,
                                      {.flops = method_->flops(b_.cols),
                                       .rate = Progress::wanted() ? measured_lu_rate<T>(runtime_) : 0,
                                       .once = [this] { run_once(); },
                                       .tell = [this] { write_line(); }});
    if (runs > 1) files_.human() << median_line(what(), seconds_, method_->flops(b_.cols)) << std::flush;
    if (runs > 0) {
        write_record();
        warn_of_condition();
    }
    require_completed(runs, repeat);
    return write_solution();
}

template <class T>
void SolveRuns<T>::run_once() {
    method_->prepare();
    Matrix<T> b(runtime_, method_->rows(), b_.cols, method_->tile(b_.cols), "B");
    load_right_hand_sides(b);
    const double seconds = timed_solution(b);
    store_solution(b);
    if (options_.matrix.check && solved()) {
        errors_ = solve_errors(runtime_, matrix_, x_, b_);
        if (std::isfinite(errors_.a_inf)) condition_ = method_->reciprocal_condition(errors_.a_inf);
        passed_ = passed_ && errors_.ratio < passing_ratio;
        if (!(errors_.ratio <= worst_ratio_)) worst_ratio_ = errors_.ratio;  // also where it is NaN
    }
    seconds_.push_back(seconds);
}

template <class T>
void SolveRuns<T>::load_right_hand_sides(Matrix<T>& b) {
    Columns<T> padded(b.rows(), b.cols());  // zeros below
    copy_top_rows(b_, padded);
    b.load(padded.view());
    runtime_.wait();
}

template <class T>
void SolveRuns<T>::store_solution(const Matrix<T>& b) {
    Columns<T> padded(b.rows(), b.cols());
    b.store(padded.view());
    runtime_.wait();
    copy_top_rows(padded, x_);
}

template <class T>
double SolveRuns<T>::timed_solution(Matrix<T>& b) {
    const bool last = std::ssize(seconds_) + 1 == options_.matrix.repeat;
    if (last) files_.begin_trace(runtime_);
    if (meter_) meter_->start();
    const auto start = std::chrono::steady_clock::now();
    method_->submit(b);
    runtime_.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (meter_) meter_->stop();
    if (last) files_.end_trace(runtime_);
    info_ = method_->info();
    panels_ = method_->panel_places();
    return seconds.count();
}

/// The problem, as lines begin with it.
template <class T>
std::string SolveRuns<T>::what() const {
    return fmt::format("solve {} {} {} x {}, {} right-hand side{}", method_name_, options_.matrix.precision,
                       matrix_->rows(), matrix_->cols(), b_.cols, b_.cols == 1 ? "" : "s");
}

template <class T>
void SolveRuns<T>::write_line() const {
    const double seconds = seconds_.back();
    const double flops = method_->flops(b_.cols);
    const std::string check = !solved() ? "no solution"
                              : options_.matrix.check
                                  ? fmt::format("backward error {:.3g}  ratio {:.3g} {}", errors_.backward_error,
                                                errors_.ratio, errors_.ratio < passing_ratio ? "passed" : "FAILED")
                                  : "not checked";
    const std::string energy = meter_ ? "  " + energy_text(meter_->last(), flops) : std::string();
    files_.human() << fmt::format("{}  {}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  info {}  {}{}{}\n", what(),
                                  place_text(method_->plan(), panels_, runtime_), seconds_.size(),
                                  options_.matrix.repeat, seconds, seconds > 0 ? flops / seconds * 1e-9 : 0, info_,
                                  check, method_->remark(), energy)
                   << std::flush;
}

template <class T>
void SolveRuns<T>::warn_of_condition() const {
    constexpr double epsilon = std::numeric_limits<T>::epsilon() / 2;
    if (!condition_ || *condition_ >= epsilon) return;
    std::cerr << fmt::format(
        "basalt: warning: {} is ill-conditioned: its reciprocal condition number is about {:.2g}, below the unit "
        "roundoff {:.2g}; the solution may have no correct digit\n",
        options_.matrix_name(), *condition_, epsilon);
}

template <class T>
void SolveRuns<T>::write_record() const {
    FactorRecord record = method_->record();
    record.routine = method_->routine();
    record.precision = options_.matrix.precision;
    record.m = matrix_->rows();
    record.n = matrix_->cols();
    record.runs = seconds_;
    record.flops = method_->flops(b_.cols);
    if (options_.matrix.check && solved()) {
        record.residual_ratio = worst_ratio_;
        record.passed = passed_;
    }
    record.info = info_;
    JsonRecord json = to_json(record);
    add_places(json, method_->plan(), panels_);
    json["reciprocal_condition"] = condition_ ? JsonRecord(*condition_) : JsonRecord(nullptr);
    json["nrhs"] = b_.cols;
    json["method"] = method_name_;
    json["factor_precision"] = std::string(1, options_.matrix.precision);
    json["iterations"] = 0;
    json["fallback"] = false;
    json["refine_seconds"] = 0.0;
    method_->add_to(json);
    if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
    files_.record(json);
}

template <class T>
int SolveRuns<T>::write_solution() const {
    if (!solved()) {
        std::cerr << fmt::format(
            "basalt: {} is {}; {}\n", options_.matrix_name(), method_->meaning(info_),
            output_ == nullptr ? "there is no solution" : "there is no solution to write to " + output_->path());
        return exit_check_failed;
    }
    const auto write = [this](std::ostream& out) { write_matrix_market<T>(out, x_.view()); };
    if (output_ != nullptr && files_.write(*output_, "the solution", write)) {
        files_.human() << fmt::format("{}, {} x {}, is in {}\n",
                                      passed_ ? "the solution" : "the result, which failed the check", x_.rows, x_.cols,
                                      output_->path());
    }
    return passed_ ? exit_done : exit_check_failed;
}

template <class T>
int run_solve(SolveOptions options, const Settings& settings, Runtime& runtime, OutputFiles& files,
              OutputFile* output) {
    auto matrix = input_matrix<T>(options.matrix);
    return SolveRuns<T>(options, std::move(matrix), settings, runtime, files, output).run();
}

int solve(SolveOptions options, const Settings& settings) {
    FactorOptions& matrix = options.matrix;
    if (matrix.matrix == "list") {
        std::cout << generator_list();
        return exit_done;
    }
    if (!options.file.empty()) {
        if (matrix.matrix_given) throw WrongUse(fmt::format("{} and --matrix; allowed: one of them", options.file));
        matrix.file = options.file;
    }
    if (matrix.file.empty() && !matrix.n_given)
        throw WrongUse("no matrix; allowed: a Matrix Market file, or --n N for a matrix that --matrix generates");
    matrix.gpu.require_effect(settings);
    if (!options.method.empty() && options.method != "lu" && options.method != "mixed")
        matrix.gpu.require_effect_without_lu(options.method);
    options.mixed.require_effect(options.method);
    if ((options.method == "cholesky" || options.method == "mixed-cholesky") && panel_threads_given(settings)) {
        throw WrongUse(
            fmt::format("--panel-threads with --method {}; allowed: --method lu or qr, or mixed", options.method));
    }
    Runtime runtime(settings.runtime_config());
    require_gpus(settings, runtime);
    OutputFiles files(settings);
    if (!matrix.file.empty()) files.add_input(options.file.empty() ? "--matrix" : "A.mtx", matrix.file);
    if (!options.right_hand_sides.empty()) files.add_input("b.mtx", options.right_hand_sides);
    OutputFile* const output = options.output ? &files.open("-o", *options.output) : nullptr;
    const int status = matrix.precision == 's' ? run_solve<float>(options, settings, runtime, files, output)
                                               : run_solve<double>(options, settings, runtime, files, output);
    files.require_written();
    return status;
}

}  // namespace

void add_solve(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command =
        program.add_subcommand("solve", "solve A X = B for the matrices of Matrix Market files, check it, time it");
    const auto options = std::make_shared<SolveOptions>();
    command->add_option("A.mtx", options->file, "the matrix A; without it, --n and --matrix generate one")
        ->type_name("FILE");
    command->add_option("b.mtx", options->right_hand_sides, "right-hand sides, one a column (default: A * ones)")
        ->type_name("FILE");
    command->add_option("-o,--output", options->output, "file that gets the solution, a Matrix Market array")
        ->type_name("x.mtx");
    command
        ->add_option_function<std::string>(
            "--method",
            [options](const std::string& text) {
                options->method = parse_choice("--method", text, solve_method_names());
            },
            "lu, cholesky (A symmetric positive definite), qr (least squares, or least norm where A has fewer "
            "rows than columns), mixed or mixed-cholesky (factors of low precision, refined to double); default: lu, "
            "and qr unless A is square")
        ->type_name("VALUE");
    add_mixed_options(*command, options->mixed);
    add_factor_options(*command, settings, options->matrix);
    add_gpu_options(*command, options->matrix.gpu);
    command->get_option("--n")->description("columns of a generated matrix");
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return solve(*options, settings); }; });
}

}  // namespace basalt
