#include "apps/runs/run_record.hpp"

#include <fmt/format.h>

#include "apps/info/machine.hpp"
#include "base/build_commit.hpp"

namespace basalt {

FactorRecord run_record(const FactorPlan& plan, Index panel_width, const Runtime& runtime) {
    static const std::string machine = machine_name(inspect_machine());  // the same for every record of a process
    FactorRecord record;
    record.nb = panel_width;
    record.tile = fmt::format("{}x{}", plan.tile.height, plan.tile.width);
    record.mode = plan.mode_name();
    record.cpus = runtime.workers();
    record.data = plan.data.is_cpu() ? "host" : "device";
    record.machine = machine;
    record.commit = build_commit;
    if (!plan.on_gpus()) return record;
    const auto gpus = runtime.devices();
    record.gpus = runtime.gpus();
    record.emulated = gpus.front().emulated;
    record.gpu_peak_bytes = runtime.statistics().most_gpu_bytes;
    if (!record.emulated) record.machine += fmt::format(", {} x {}", gpus.size(), gpus.front().model);
    return record;
}

}  // namespace basalt
