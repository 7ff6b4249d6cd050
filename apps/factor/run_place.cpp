#include "apps/factor/run_place.hpp"

#include <fmt/format.h>

namespace basalt {

namespace {

std::string counted(Index count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string place_text(const FactorPlan& plan, const PanelPlaces& panels, const Runtime& runtime) {
    const std::string mode = fmt::format("mode {}{}", plan.mode_name(), plan.learnt ? " (learnt)" : "");
    const std::string cores = counted(runtime.workers(), "core");
    if (!plan.on_gpus()) return fmt::format("{}, {}, {}", mode, cores, counted(panels.on_cores, "panel"));
    const std::string gpus = counted(runtime.gpus(), runtime.devices().front().emulated ? "emulated GPU" : "GPU");
    return fmt::format("{}, {}{}, panels: {} on cores, {} on GPUs", mode,
                       plan.mode == FactorMode::hybrid ? cores + " + " : "", gpus, panels.on_cores, panels.on_gpus);
}

void add_places(JsonRecord& record, const FactorPlan& plan, const PanelPlaces& panels) {
    record["panels"] = {{"cores", panels.on_cores}, {"gpus", panels.on_gpus}};
    if (plan.learnt) record["mode_by"] = "models";
}

}  // namespace basalt
