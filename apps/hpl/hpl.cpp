#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/factor/run_place.hpp"
#include "apps/hpl/mxp.hpp"
#include "apps/hpl/report_stream.hpp"
#include "apps/hpl/system.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/input_files.hpp"
#include "apps/input/setting_options.hpp"
#include "apps/runs/interrupt.hpp"
#include "apps/runs/learnt_runs.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/progress.hpp"
#include "apps/runs/repeated_runs.hpp"
#include "apps/runs/run_energy.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"
#include "basalt/error.hpp"
#include "io/energy/energy_report.hpp"
#include "io/hpl/hpl_dat.hpp"
#include "io/hpl/hpl_report.hpp"

namespace basalt {

namespace {

struct HplOptions {
    std::string file = "HPL.dat";
    bool ignore_grid = false;
    bool mxp = false;
    std::string factor_precision = "auto";  ///< of --mxp
    GpuOptions gpu;
};

HplInput read_input(const std::string& path) {
    std::ifstream in = open_input(path, "a file in the format of HPL.dat");
    try {
        return read_hpl_dat(in, path);
    } catch (const HplDatError& error) {
        throw WrongUse(error.what());
    }
}

/// The tests of one input, run one after the other.
class HplRun {
  public:
    HplRun(const HplOptions& options, const HplInput& input, const Settings& settings)
        : options_(options), input_(input), settings_(settings), runtime_(settings.runtime_config()) {
        options.gpu.require_effect(settings);
        require_gpus(settings, runtime_);
        require_memory_for_all();
        tell_unused_panel_threads();
    }

    /// Runs all tests, or those before a Ctrl-C; returns the exit status.
    int run();

  private:
    bool runs(const HplGrid& grid) const { return options_.ignore_grid || grid.p * grid.q == 1; }
    LuPlan plan_of(Index n, Index nb) const;
    std::optional<Index> last_case_that_runs() const;
    bool uses_gpus() const;
    double total_flops() const;
    void require_memory_for_all() const;
    void tell_unused_panel_threads() const;
    std::ostream& open_output(OutputFiles& files);
    void run_cases(HplReport& report, OutputFiles& files);
    void run_case(const HplCase& test, HplReport& report, OutputFiles& files, Progress& progress);
    std::optional<HplCheck> checked(HplSystem& system) const;
    JsonRecord record_of(const HplCase& test, const HplSystem& system, const HplTiming& timing,
                         std::optional<HplCheck> check) const;
    void tell_skipped(const HplGrid& grid, Index cases);

    const HplOptions& options_;
    const HplInput& input_;
    const Settings& settings_;
    Runtime runtime_;
    std::optional<ReportStream> report_file_;
    Index done_ = 0;                      // cases run or skipped
    std::optional<Index> last_;           // the last case that runs
    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
};

LuPlan HplRun::plan_of(Index n, Index nb) const { return hpl_plan(settings_, options_.gpu, runtime_, n, nb); }

std::optional<Index> HplRun::last_case_that_runs() const {
    for (Index k = hpl_case_count(input_) - 1; k >= 0; --k) {
        if (runs(hpl_case(input_, k).grid)) return k;
    }
    return std::nullopt;
}

/// Whether any test uses GPUs. The energy of GPUs is measured in all tests or in none.
bool HplRun::uses_gpus() const {
    return std::any_of(input_.sizes.begin(), input_.sizes.end(), [this](Index n) {
        return std::any_of(input_.block_sizes.begin(), input_.block_sizes.end(),
                           [&](Index nb) { return plan_of(n, nb).mode != LuMode::cpu; });
    });
}

double HplRun::total_flops() const {
    double sum = 0;
    for (Index k = 0; k < hpl_case_count(input_); ++k) {
        const HplCase test = hpl_case(input_, k);
        if (runs(test.grid)) sum += hpl_flops(test.n);
    }
    return sum;
}

/// Called before anything is written: a benchmark of hours must not fail at its last size.
void HplRun::require_memory_for_all() const {
    if (!last_case_that_runs()) return;
    for (const Index n : input_.sizes) {
        for (const Index nb : input_.block_sizes) {
            require_room_for_hpl(settings_, options_.gpu, runtime_, n, nb);
        }
    }
}

/// Once, if no test has a use for them.
void HplRun::tell_unused_panel_threads() const {
    std::optional<LuPlan> last;
    for (const Index n : input_.sizes) {
        for (const Index nb : input_.block_sizes) {
            last = plan_of(n, nb);
            if (last->threads_share_panels) return;
        }
    }
    if (last) basalt::tell_unused_panel_threads(*last, settings_);
}

std::ostream& HplRun::open_output(OutputFiles& files) {
    if (input_.device == 6) return files.human();
    if (input_.device == 7) return std::cerr;
    OutputFile& file = files.open(fmt::format("{}:3: output file", options_.file), input_.output_file);
    return report_file_.emplace(files, file);
}

JsonRecord HplRun::record_of(const HplCase& test, const HplSystem& system, const HplTiming& timing,
                             std::optional<HplCheck> check) const {
    const LuPlan plan = plan_of(test.n, test.nb);
    FactorRecord record = run_record(plan, plan.panel_width, runtime_);
    record.routine = "hpl";
    record.m = record.n = test.n;
    record.nb = test.nb;
    record.runs = {timing.seconds};
    record.flops = hpl_flops(test.n);
    if (check) {
        record.residual_ratio = check->scaled_residual;
        record.passed = check->scaled_residual < input_.threshold;
    }
    JsonRecord json = to_json(record);
    add_places(json, plan, system.panel_places());
    if (meter_) json["energy"] = to_json(meter_->last(), record.flops);
    return json;
}

std::optional<HplCheck> HplRun::checked(HplSystem& system) const {
    if (!(input_.threshold > 0)) return std::nullopt;
    HplCheck check = system.check();
    if (!(check.scaled_residual < input_.threshold)) check.a_one = system.a_one();  // printed for failed tests only
    return check;
}

void HplRun::run_case(const HplCase& test, HplReport& report, OutputFiles& files, Progress& progress) {
    const bool last = done_ == last_;  // the trace shows the last test
    const MachineLoad load;
    const LuPlan plan = plan_of(test.n, test.nb);
    spdlog::debug("N = {}: mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs", test.n, plan.mode_name(),
                  plan.reason, plan.tile.height, plan.tile.width, plan.panel_width, runtime_.workers(),
                  runtime_.gpus());
    HplSystem system(runtime_, test.n, plan);
    if (last) files.begin_trace(runtime_);
    progress.begin_run(hpl_flops(test.n));
    if (meter_) meter_->start();
    const HplTiming timing = system.solve();
    if (meter_) meter_->stop();
    progress.end_run();
    if (last) files.end_trace(runtime_);
    const auto check = checked(system);
    if (check) {
        report.checked_result(test, timing, *check);
    } else {
        report.unchecked_result(test, timing);
    }
    if (meter_) files.human() << energy_text(meter_->last(), hpl_flops(test.n)) << std::endl;
    files.record(record_of(test, system, timing, check));
    if (!check || check->scaled_residual < input_.threshold) learn_runs(plan, runtime_, {timing.seconds}, load);
}

void HplRun::tell_skipped(const HplGrid& grid, Index cases) {
    std::cerr << fmt::format(
        "basalt: {}: skipped {} test{}: P x Q = {} x {} asks for {} processes, and this is one; --ignore-grid runs "
        "them as one\n",
        options_.file, cases, cases == 1 ? "" : "s", grid.p, grid.q, grid.p * grid.q);
}

void HplRun::run_cases(HplReport& report, OutputFiles& files) {
    Progress progress(total_flops(), Progress::wanted() ? measured_lu_rate<double>(runtime_) : 0);
    const Index cases_a_grid = hpl_case_count(input_) / std::ssize(input_.grids);
    last_ = last_case_that_runs();
    for (const HplGrid& grid : input_.grids) {
        if (!runs(grid)) {
            report.skipped_grid(grid, cases_a_grid);
            tell_skipped(grid, cases_a_grid);
            done_ += cases_a_grid;
            continue;
        }
        if (grid.p * grid.q > 1) {
            std::cerr << fmt::format("basalt: the grid of {} x {} processes runs as one process (--ignore-grid)\n",
                                     grid.p, grid.q);
        }
        for (const Index end = done_ + cases_a_grid; done_ < end && !Interrupt::requested(); ++done_) {
            run_case(hpl_case(input_, done_), report, files, progress);
        }
    }
}

int HplRun::run() {
    OutputFiles files(settings_);
    files.add_input("FILE", options_.file);
    if (options_.gpu.energy) meter_ = make_energy_meter({.runtime = runtime_, .on_gpus = uses_gpus()}, files);
    std::ostream& out = open_output(files);
    HplReport report(out, input_);
    report.header();
    {
        const Interrupt interrupt([this] { runtime_.cancel(); });
        try {
            run_cases(report, files);
        } catch (const Cancelled&) {
            if (!Interrupt::requested()) throw;
        }
    }
    clear_cancellation(runtime_);
    report.summary();
    if (report.ran() + report.skipped() < hpl_case_count(input_)) {
        throw Interrupted(fmt::format("interrupted after {} of {} tests", report.ran(), hpl_case_count(input_)),
                          Interrupt::status());
    }
    files.require_written();
    return report.failed() == 0 && report.ran() > 0 ? exit_done : exit_check_failed;
}

int hpl(const HplOptions& options, const Settings& settings) {
    const HplInput input = read_input(options.file);
    if (!options.mxp && options.factor_precision != "auto")
        throw WrongUse("--factor-precision without --mxp; allowed: with it");
    if (options.mxp) return run_mxp(input, settings, options.gpu, options.factor_precision);
    return HplRun(options, input, settings).run();
}

}  // namespace

void add_hpl(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("hpl", "run the HPL benchmark that an HPL.dat describes, on HPL's matrix");
    const auto options = std::make_shared<HplOptions>();
    command->add_option("FILE", options->file, "input in HPL 2.3's format (default: HPL.dat)");
    command->add_flag("--ignore-grid", options->ignore_grid, "run grids of several processes as one process");
    command->add_flag(
        "--mxp", options->mxp,
        "HPL-MxP in place of HPL: its matrix, factored in low precision and refined; of FILE, N, NB and the "
        "threshold count");
    command
        ->add_option_function<std::string>(
            "--factor-precision",
            [options](const std::string& text) {
                options->factor_precision = parse_choice("--factor-precision", text, factor_precision_names());
            },
            "with --mxp: s, and on GPUs fp16x2, tf32, bf16 or fp16; default: fp16, on cores s")
        ->type_name("VALUE");
    add_setting_options(*command, settings, factor_settings());
    add_gpu_options(*command, options->gpu);
    add_energy_option(*command, options->gpu);
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return hpl(*options, settings); }; });
}

}  // namespace basalt
