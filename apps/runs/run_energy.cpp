#include "apps/runs/run_energy.hpp"

#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "io/energy/energy_report.hpp"
#include "io/energy/machine_energy.hpp"

namespace basalt {

std::unique_ptr<EnergyMeter> make_energy_meter(const MeteredRun& run, OutputFiles& files) {
    EnergyCounters found = machine_energy_counters(run.on_gpus ? run.runtime.devices() : std::vector<DeviceInfo>());
    const std::string uncounted = uncounted_text(found.uncounted);
    if (found.counters.empty()) {
        throw MachineFailure(fmt::format("--energy: no energy counter can be read: {}", uncounted));
    }
    if (!uncounted.empty()) files.human() << "energy is not counted of " << uncounted << std::endl;
    return std::make_unique<EnergyMeter>(std::move(found));
}

}  // namespace basalt
