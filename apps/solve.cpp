#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor_options.hpp"
#include "apps/input_matrix.hpp"
#include "apps/lu_rate.hpp"
#include "apps/matrix_file.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/output_files.hpp"
#include "apps/progress.hpp"
#include "apps/repeated_runs.hpp"
#include "apps/run_energy.hpp"
#include "apps/solve_check.hpp"
#include "apps/solve_method.hpp"
#include "io/energy_report.hpp"

namespace basalt {

namespace {

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

struct SolveOptions {
    FactorOptions matrix;
    std::string file;              ///< Matrix Market file of A; empty: as `matrix` says
    std::string right_hand_sides;  ///< Matrix Market file; empty: A * ones
    std::string output;            ///< gets the solution; empty: nothing does
    std::string method;            ///< empty: by the shape of A

    std::string matrix_name() const { return matrix.file.empty() ? "the matrix " + matrix.matrix : matrix.file; }
};

/// The solutions of one call of `basalt solve` and what came out of them.
template <class T>
class SolveRuns {
  public:
    /// `options.matrix` must have the size of `matrix`.
    SolveRuns(const SolveOptions& options, std::shared_ptr<const Generator<T>> matrix, const Settings& settings,
              Runtime& runtime, OutputFiles& files)
        : options_(options),
          runtime_(runtime),
          files_(files),
          matrix_(std::move(matrix)),
          method_name_(options.method.empty() ? usual_solve_method(matrix_->rows(), matrix_->cols()) : options.method),
          method_(make_solve_method<T>(method_name_,
                                       {runtime, matrix_, options.matrix_name(), settings, options.matrix.gpu})),
          b_(right_hand_sides()) {
        require_run_memory(b_.cols);
        x_ = Columns<T>(matrix_->cols(), b_.cols);
        const FactorRecord common = method_->record();
        spdlog::debug("{}, mode {}, tiles of {}, panels of {}, {} workers, {} GPUs, scheduler {}", method_name_,
                      common.mode, common.tile, common.nb, runtime.workers(), runtime.gpus(),
                      runtime.config().scheduler);
        if (options.matrix.gpu.energy) meter_ = make_energy_meter(runtime, method_->on_gpus(), files);
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
    void write_line() const;
    void write_record() const;
    int write_solution() const;

    const SolveOptions& options_;
    Runtime& runtime_;
    OutputFiles& files_;
    const std::shared_ptr<const Generator<T>> matrix_;
    const std::string method_name_;
    const std::unique_ptr<SolveMethod<T>> method_;
    const Columns<T> b_;

    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    Index info_ = 0;
    Columns<T> x_;        // of the last run
    SolveErrors errors_;  // of the last run
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
    const double bytes = method_->bytes() +
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
    if (runs > 0) write_record();
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
        passed_ = passed_ && errors_.ratio < max_ratio;
        if (!(errors_.ratio <= worst_ratio_)) worst_ratio_ = errors_.ratio;  // also where it is NaN
    }
    seconds_.push_back(seconds);
}

template <class T>
void SolveRuns<T>::load_right_hand_sides(Matrix<T>& b) {
    Columns<T> padded(b.rows(), b.cols());  // zeros below
    for (Index j = 0; j < b.cols(); ++j) std::copy_n(&b_.view()(0, j), b_.rows, &padded.view()(0, j));
    b.load(padded.view());
    runtime_.wait();
}

template <class T>
void SolveRuns<T>::store_solution(const Matrix<T>& b) {
    Columns<T> padded(b.rows(), b.cols());
    b.store(padded.view());
    runtime_.wait();
    for (Index j = 0; j < b.cols(); ++j) std::copy_n(&padded.view()(0, j), x_.rows, &x_.view()(0, j));
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
    return seconds.count();
}

template <class T>
void SolveRuns<T>::write_line() const {
    const double seconds = seconds_.back();
    const double flops = method_->flops(b_.cols);
    const std::string check = !solved() ? "no solution"
                              : options_.matrix.check
                                  ? fmt::format("backward error {:.3g}  ratio {:.3g} {}", errors_.backward_error,
                                                errors_.ratio, errors_.ratio < max_ratio ? "passed" : "FAILED")
                                  : "not checked";
    const std::string energy = meter_ ? "  " + energy_text(meter_->last(), flops) : std::string();
    files_.human() << fmt::format(
                          "solve {} {} {} x {}, {} right-hand side{}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  "
                          "info {}  {}{}\n",
                          method_name_, options_.matrix.precision, matrix_->rows(), matrix_->cols(), b_.cols,
                          b_.cols == 1 ? "" : "s", seconds_.size(), options_.matrix.repeat, seconds,
                          seconds > 0 ? flops / seconds * 1e-9 : 0, info_, check, energy)
                   << std::flush;
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
    json["nrhs"] = b_.cols;
    json["method"] = method_name_;
    json["factor_precision"] = std::string(1, options_.matrix.precision);
    json["iterations"] = 0;
    json["fallback"] = false;
    json["refine_seconds"] = 0.0;
    if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
    files_.record(json);
}

template <class T>
int SolveRuns<T>::write_solution() const {
    if (!solved()) {
        std::cerr << fmt::format(
            "basalt: {} is {}; {}\n", options_.matrix_name(), method_->meaning(info_),
            options_.output.empty() ? "there is no solution" : "there is no solution to write to " + options_.output);
        return exit_check_failed;
    }
    if (!options_.output.empty()) {
        write_matrix_file<T>(options_.output, x_.view());
        files_.human() << fmt::format("the solution, {} x {}, is in {}\n", x_.rows, x_.cols, options_.output);
    }
    return passed_ ? exit_done : exit_check_failed;
}

template <class T>
int run_solve(SolveOptions options, const Settings& settings, Runtime& runtime, OutputFiles& files) {
    auto matrix = input_matrix<T>(options.matrix);
    return SolveRuns<T>(options, std::move(matrix), settings, runtime, files).run();
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
    if (!options.method.empty() && options.method != "lu") matrix.gpu.require_effect_without_lu(options.method);
    if (options.method == "cholesky" && panel_threads_given(settings))
        throw WrongUse("--panel-threads with --method cholesky; allowed: --method lu or qr");
    Runtime runtime(settings.runtime_config());
    require_gpus(settings, runtime);
    OutputFiles files(settings);
    if (options.output == "-") throw WrongUse("-o = \"-\"; allowed: a file, for standard output has the report");
    if (!options.output.empty()) require_writable(options.output, "-o");
    if (options.matrix.precision == 's') return run_solve<float>(options, settings, runtime, files);
    return run_solve<double>(options, settings, runtime, files);
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
            "lu, cholesky (A symmetric positive definite) or qr (least squares, or least norm where A has fewer "
            "rows than columns); default: lu, and qr unless A is square")
        ->type_name("VALUE");
    add_factor_options(*command, settings, options->matrix);
    add_gpu_options(*command, options->matrix.gpu);
    command->get_option("--n")->description("columns of a generated matrix");
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return solve(*options, settings); }; });
}

}  // namespace basalt
