#include "apps/factor/factor_runs.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "apps/exit_status.hpp"
#include "apps/factor/run_place.hpp"
#include "apps/runs/learnt_runs.hpp"
#include "apps/runs/progress.hpp"
#include "apps/runs/repeated_runs.hpp"
#include "apps/runs/residual.hpp"
#include "apps/runs/run_energy.hpp"
#include "apps/runs/run_record.hpp"
#include "io/energy/energy_report.hpp"

namespace basalt {

FactorRuns::FactorRuns(const FactorOptions& options, const FactorPlan& plan, FactorRoutine routine, Runtime& runtime,
                       OutputFiles& files)
    : options_(options), plan_(plan), routine_(std::move(routine)), runtime_(runtime), files_(files) {
    spdlog::debug("mode {} ({}), tiles of {} x {}, panels of {}, {} workers, {} GPUs, scheduler {}", plan.mode_name(),
                  plan.reason, plan.tile.height, plan.tile.width, routine_.panel_width, runtime.workers(),
                  runtime.gpus(), runtime.config().scheduler);
    if (options.gpu.energy) meter_ = make_energy_meter({.runtime = runtime, .on_gpus = plan.on_gpus()}, files);
}

int FactorRuns::run() {
    const Index runs = run_repeatedly(runtime_, options_.repeat,
                                      {.flops = routine_.flops,
                                       .rate = Progress::wanted() ? routine_.expected_rate() : 0,
                                       .once = [this] { run_once(); },
                                       .tell = [this] { write_line(); }});
    if (runs > 1) write_median();
    if (runs > 0) write_record();
    if (passed_) learn_runs(plan_, runtime_, seconds_, load_);
    require_completed(runs, options_.repeat);
    return passed_ || !options_.check ? exit_done : exit_check_failed;
}

void FactorRuns::run_once() {
    routine_.prepare();
    const bool last = std::ssize(seconds_) + 1 == options_.repeat;
    if (last) files_.begin_trace(runtime_);
    if (meter_) meter_->start();
    const auto start = std::chrono::steady_clock::now();
    routine_.factor();
    runtime_.wait();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (meter_) meter_->stop();
    if (last) files_.end_trace(runtime_);
    info_ = routine_.collect();
    passed_ = passed_ && has_factors();
    if (options_.check && has_factors()) {
        ratio_ = routine_.residual_ratio();
        passed_ = passed_ && ratio_ < passing_ratio;
        if (!(ratio_ <= worst_ratio_)) worst_ratio_ = ratio_;  // also where it is NaN
    }
    seconds_.push_back(seconds.count());
}

void FactorRuns::write_line() const {
    const double seconds = seconds_.back();
    const double gflops = seconds > 0 ? routine_.flops / seconds * 1e-9 : 0;
    const std::string check = !options_.check ? "not checked"
                              : has_factors()
                                  ? fmt::format("ratio {:.3g} {}", ratio_, ratio_ < passing_ratio ? "passed" : "FAILED")
                                  : *routine_.without_factors;
    files_.human() << fmt::format("{} {}{} {} x {}  {}  run {} of {}  {:.4f} s  {:.2f} Gflop/s  {}{}{}\n",
                                  routine_.command, options_.precision, routine_.variant, options_.rows(), options_.n,
                                  place_text(plan_, routine_.panel_places(), runtime_), seconds_.size(),
                                  options_.repeat, seconds, gflops, info_ ? fmt::format("info {}  ", *info_) : "",
                                  check, meter_ ? "  " + energy_text(meter_->last(), routine_.flops) : "")
                   << std::flush;
}

void FactorRuns::write_median() const {
    files_.human() << median_line(fmt::format("{} {}{} {} x {}", routine_.command, options_.precision, routine_.variant,
                                              options_.rows(), options_.n),
                                  seconds_, routine_.flops)
                   << std::flush;
}

void FactorRuns::write_record() const {
    FactorRecord record = run_record(plan_, routine_.panel_width, runtime_);
    record.routine = routine_.name;
    record.precision = options_.precision;
    record.m = options_.rows();
    record.n = options_.n;
    record.runs = seconds_;
    record.flops = routine_.flops;
    record.info = info_.value_or(0);
    if (options_.check && has_factors()) record.residual_ratio = worst_ratio_;
    if (options_.check) record.passed = passed_;
    JsonRecord json = to_json(record);
    add_places(json, plan_, routine_.panel_places());
    json.update(routine_.other_fields);
    if (meter_) json["energy"] = to_json(meter_->total(), record.flops * static_cast<double>(seconds_.size()));
    files_.record(json);
}

}  // namespace basalt
