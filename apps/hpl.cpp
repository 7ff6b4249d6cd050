#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/gpu_options.hpp"
#include "apps/hpl_system.hpp"
#include "apps/input_files.hpp"
#include "apps/interrupt.hpp"
#include "apps/lu_rate.hpp"
#include "apps/output_files.hpp"
#include "apps/progress.hpp"
#include "apps/run_energy.hpp"
#include "apps/run_record.hpp"
#include "apps/setting_options.hpp"
#include "basalt/error.hpp"
#include "io/energy_report.hpp"
#include "io/hpl_dat.hpp"
#include "io/hpl_report.hpp"

namespace basalt {

namespace {

struct HplOptions {
    std::string file = "HPL.dat";
    bool ignore_grid = false;
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
    }

    /// Runs all tests, or those before a Ctrl-C; returns the exit status.
    int run();

  private:
    bool runs(const HplGrid& grid) const { return options_.ignore_grid || grid.p * grid.q == 1; }
    LuPlan plan_of(Index n, Index nb) const;
    Index last_case_that_runs() const;
    bool uses_gpus() const;
    double total_flops() const;
    void require_memory_for_all() const;
    std::ostream& open_output(OutputFiles& files);
    void run_cases(HplReport& report, OutputFiles& files);
    void run_case(const HplCase& test, bool last, HplReport& report, OutputFiles& files, Progress& progress);
    std::optional<HplCheck> checked(HplSystem& system) const;
    JsonRecord record_of(const HplCase& test, const HplTiming& timing, std::optional<HplCheck> check) const;

    const HplOptions& options_;
    const HplInput& input_;
    const Settings& settings_;
    Runtime runtime_;
    std::ofstream file_;
    Index done_ = 0;                      // cases run or skipped
    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
};

LuPlan HplRun::plan_of(Index n, Index nb) const { return hpl_plan(settings_, options_.gpu, runtime_, n, nb); }

Index HplRun::last_case_that_runs() const {
    Index k = hpl_case_count(input_) - 1;
    while (k >= 0 && !runs(hpl_case(input_, k).grid)) --k;
    return k;
}

/// Whether there is a test that does; the energy of GPUs is measured in all or none.
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

/// Before anything is written: a benchmark of hours must not end at its last size.
void HplRun::require_memory_for_all() const {
    if (last_case_that_runs() < 0) return;
    for (const Index n : input_.sizes) {
        for (const Index nb : input_.block_sizes) {
            require_room_for_hpl(settings_, options_.gpu, runtime_, n, nb);
        }
    }
}

std::ostream& HplRun::open_output(OutputFiles& files) {
    if (input_.device == 6) return files.human();
    if (input_.device == 7) return std::cerr;
    file_.open(input_.output_file);
    if (file_) return file_;
    throw WrongUse(fmt::format("{}:3: output file \"{}\": {}; allowed: a file in an existing folder", options_.file,
                               input_.output_file, std::generic_category().message(errno)));
}

JsonRecord HplRun::record_of(const HplCase& test, const HplTiming& timing, std::optional<HplCheck> check) const {
    const LuPlan plan = plan_of(test.n, test.nb);
    FactorRecord record = run_record(plan, plan.options.panel_width, runtime_);
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
    if (meter_) json["energy"] = to_json(meter_->last(), record.flops);
    return json;
}

std::optional<HplCheck> HplRun::checked(HplSystem& system) const {
    if (!(input_.threshold > 0)) return std::nullopt;
    HplCheck check = system.check();
    if (!(check.scaled_residual < input_.threshold)) check.a_one = system.a_one();  // printed of failed tests alone
    return check;
}

void HplRun::run_case(const HplCase& test, bool last, HplReport& report, OutputFiles& files, Progress& progress) {
    const LuPlan plan = plan_of(test.n, test.nb);
    spdlog::debug("N = {}: mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs", test.n, plan.mode_name(),
                  plan.reason, plan.tile.height, plan.tile.width, plan.options.panel_width, runtime_.workers(),
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
    files.record(record_of(test, timing, check));
    if (!check || check->scaled_residual < input_.threshold) runtime_.learn_run(plan.run, plan.mode, {timing.seconds});
}

void HplRun::run_cases(HplReport& report, OutputFiles& files) {
    Progress progress(total_flops(), Progress::wanted() ? measured_lu_rate<double>(runtime_) : 0);
    const Index cases_a_grid = hpl_case_count(input_) / std::ssize(input_.grids);
    const Index last = last_case_that_runs();
    for (const HplGrid& grid : input_.grids) {
        if (!runs(grid)) {
            report.skipped_grid(grid, cases_a_grid);
            done_ += cases_a_grid;
            continue;
        }
        if (grid.p * grid.q > 1) {
            std::cerr << fmt::format("basalt: the grid of {} x {} processes runs as one process (--ignore-grid)\n",
                                     grid.p, grid.q);
        }
        for (const Index end = done_ + cases_a_grid; done_ < end && !Interrupt::requested(); ++done_) {
            run_case(hpl_case(input_, done_), done_ == last, report, files, progress);
        }
    }
}

int HplRun::run() {
    OutputFiles files(settings_);
    if (options_.gpu.energy) meter_ = make_energy_meter(runtime_, uses_gpus(), files);
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
    report.summary();
    if (!out) throw MachineFailure("the report could not be written");
    if (report.ran() + report.skipped() < hpl_case_count(input_)) {
        throw Interrupted(fmt::format("interrupted after {} of {} tests", report.ran(), hpl_case_count(input_)));
    }
    return report.failed() == 0 && report.ran() > 0 ? exit_done : exit_check_failed;
}

int hpl(const HplOptions& options, const Settings& settings) {
    const HplInput input = read_input(options.file);
    return HplRun(options, input, settings).run();
}

}  // namespace

void add_hpl(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("hpl", "run the HPL benchmark that an HPL.dat describes, on HPL's matrix");
    const auto options = std::make_shared<HplOptions>();
    command->add_option("FILE", options->file, "input in HPL 2.3's format (default: HPL.dat)");
    command->add_flag("--ignore-grid", options->ignore_grid, "run grids of several processes as one process");
    add_setting_options(*command, settings, factor_settings());
    add_gpu_options(*command, options->gpu);
    add_energy_option(*command, options->gpu);
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return hpl(*options, settings); }; });
}

}  // namespace basalt
