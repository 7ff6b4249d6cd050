#include "apps/runs/learnt_runs.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace basalt {

namespace {

constexpr double least_order = 512;
constexpr double most_others = 0.1;
constexpr double shortest = 0.2;

double order_of(const RunCase& run) {
    const auto m = static_cast<double>(run.m), n = static_cast<double>(run.n);
    return std::cbrt(m * n * std::min(m, n));
}

}  // namespace

std::string why_not_learnt(const FactorPlan& plan, const Runtime& runtime, const MachineLoad& load) {
    if (order_of(plan.run) < least_order) return fmt::format("the order is below {:.0f}", least_order);
    if (plan.on_gpus() && runtime.devices().front().emulated) return "the GPUs are emulated";
    const MachineLoad::Interval during = load.so_far();
    if (during.others > most_others)
        return fmt::format("other processes took {:.0f} % of the cores' time", 100 * during.others);
    const MachineLoad::Average before = MachineLoad::last_minute();
    if (during.seconds < shortest && before.runnable > before.cores / 2.0) {
        return fmt::format("the runs are short, and {} processes ran in the last minute on {} cores", before.runnable,
                           before.cores);
    }
    return {};
}

void learn_runs(const FactorPlan& plan, const Runtime& runtime, const std::vector<double>& seconds,
                const MachineLoad& load) {
    if (runtime.config().models.empty()) return;
    if (const std::string reason = why_not_learnt(plan, runtime, load); !reason.empty()) {
        spdlog::debug("nothing is learnt from these runs: {}", reason);
        return;
    }
    runtime.learn_run(plan.run, plan.mode, seconds);
    spdlog::debug("learnt from these runs: {}", runtime.config().models);
}

}  // namespace basalt
