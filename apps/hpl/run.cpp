#include "apps/hpl/run.hpp"

#include <algorithm>
#include <iostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/exit_status.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/hpl/system.hpp"
#include "apps/runs/interrupt.hpp"
#include "apps/runs/learnt_runs.hpp"
#include "apps/runs/repeated_runs.hpp"
#include "apps/runs/run_energy.hpp"
#include "io/energy/energy_report.hpp"

namespace basalt {

HplRun::HplRun(const HplOptions& options, HplInput input, const Settings& settings)
    : options_(options), input_(std::move(input)), settings_(settings), runtime_(settings.runtime_config()) {
    options.gpu.require_effect(settings);
    require_gpus(settings, runtime_);
}

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
void HplRun::require_room_for_all() const {
    if (!last_case_that_runs()) return;
    for (const Index n : input_.sizes) {
        for (const Index nb : input_.block_sizes) require_room(n, nb);
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

void HplRun::run_case(const HplCase& test, OutputFiles& files, Progress& progress) {
    const bool last = done_ == last_;  // the trace shows the last test
    const MachineLoad load;
    const LuPlan plan = plan_of(test.n, test.nb);
    spdlog::debug("N = {}: mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs", test.n, plan.mode_name(),
                  plan.reason, plan.tile.height, plan.tile.width, plan.panel_width, runtime_.workers(),
                  runtime_.gpus());
    prepare(test, plan);
    if (last) files.begin_trace(runtime_);
    progress.begin_run(hpl_flops(test.n));
    if (meter_) meter_->start();
    const HplTiming timing = solve();
    if (meter_) meter_->stop();
    progress.end_run();
    if (last) files.end_trace(runtime_);
    Result result = finish(test, plan, timing);
    ++ran_;
    if (!result.passed.value_or(true)) ++failed_;
    if (meter_) {
        files.human() << energy_text(meter_->last(), hpl_flops(test.n)) << std::endl;
        result.record["energy"] = to_json(meter_->last(), hpl_flops(test.n));
    }
    files.record(result.record);
    if (result.passed.value_or(true)) learn_runs(plan, runtime_, {timing.seconds}, load);
}

void HplRun::tell_skipped(const HplGrid& grid, Index cases) {
    std::cerr << fmt::format(
        "basalt: {}: skipped {} test{}: P x Q = {} x {} asks for {} processes, and this is one; --ignore-grid runs "
        "them as one\n",
        options_.file, cases, cases == 1 ? "" : "s", grid.p, grid.q, grid.p * grid.q);
}

void HplRun::run_cases(OutputFiles& files) {
    Progress progress(total_flops(), Progress::wanted() ? measured_lu_rate<double>(runtime_) : 0);
    const Index cases_a_grid = hpl_case_count(input_) / std::ssize(input_.grids);
    last_ = last_case_that_runs();
    for (const HplGrid& grid : input_.grids) {
        if (!runs(grid)) {
            skip(grid, cases_a_grid);
            tell_skipped(grid, cases_a_grid);
            done_ += cases_a_grid;
            continue;
        }
        if (grid.p * grid.q > 1) {
            std::cerr << fmt::format("basalt: the grid of {} x {} processes runs as one process (--ignore-grid)\n",
                                     grid.p, grid.q);
        }
        for (const Index end = done_ + cases_a_grid; done_ < end && !Interrupt::requested(); ++done_) {
            run_case(hpl_case(input_, done_), files, progress);
        }
    }
}

int HplRun::run() {
    require_room_for_all();
    tell_unused_panel_threads();
    OutputFiles files(settings_);
    files.add_input("FILE", options_.file);
    if (options_.gpu.energy) meter_ = make_energy_meter({.runtime = runtime_, .on_gpus = uses_gpus()}, files);
    begin_report(open_output(files));
    until_interrupted(runtime_, [&] { run_cases(files); });
    end_report();
    if (done_ < hpl_case_count(input_)) {
        throw Interrupted(fmt::format("interrupted after {} of {} tests", ran_, hpl_case_count(input_)),
                          Interrupt::status());
    }
    files.require_written();
    return failed_ == 0 && ran_ > 0 ? exit_done : exit_check_failed;
}

}  // namespace basalt
