#include "apps/run_record.hpp"

#include <fmt/format.h>

#include "apps/commit.hpp"
#include "apps/machine.hpp"

namespace basalt {

FactorRecord run_record(const Settings& settings, const Runtime& runtime) {
    FactorRecord record;
    record.cpus = runtime.workers();
    record.machine = machine_name(inspect_machine());
    record.commit = build_commit;
    record.mode = "cpu";
    if (!uses_gpus(settings, runtime)) return record;
    const auto gpus = runtime.devices();
    record.mode = "hybrid";
    record.gpus = runtime.gpus();
    record.emulated = gpus.front().emulated;
    record.data = settings.text("BASALT_DATA");
    if (!record.emulated) record.machine += fmt::format(", {} x {}", gpus.size(), gpus.front().model);
    return record;
}

bool uses_gpus(const Settings& settings, const Runtime& runtime) {
    return runtime.gpus() > 0 && settings.text("BASALT_MODE") != "cpu";
}

}  // namespace basalt
