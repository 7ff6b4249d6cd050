#include "runtime/engine/settings.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/instruction_set.hpp"
#include "base/topology.hpp"

namespace basalt::detail {

namespace {

void require_range(const char* name, long value, long low, long high) {
    if (low <= value && value <= high) return;
    throw UsageError("Config::" + std::string(name) + " = " + std::to_string(value) + "; allowed is " +
                     std::to_string(low) + " to " + std::to_string(high));
}

void check_speeds(const Emulation& emulation) {
    constexpr double slowest = 1e6;
    const auto& slowness = emulation.slowness;
    if (!slowness.empty() && slowness.size() != static_cast<std::size_t>(emulation.gpus)) {
        throw UsageError("Config::emulation.slowness has " + std::to_string(slowness.size()) +
                         " numbers; allowed is none, or one for each of the " + std::to_string(emulation.gpus) +
                         " GPUs");
    }
    for (const double factor : slowness) {
        if (factor >= 1 && factor <= slowest) continue;
        throw UsageError("Config::emulation.slowness = " + std::to_string(factor) + "; allowed is 1 to 1e6");
    }
    const double rate = emulation.link_bytes_a_second;
    if (rate == 0 || (std::isfinite(rate) && rate >= 1e3)) return;
    throw UsageError("Config::emulation.link_bytes_a_second = " + std::to_string(rate) +
                     "; allowed is 0 (no limit), or 1000 or more");
}

/// The emulation that the runtime gets: its GPUs have what Config::gpu_memory lets it use. Throws UsageError
/// for settings out of range and for memory that the host could never hold. The default may be more than that.
Emulation checked_emulation(const Config& config) {
    Emulation emulation = config.emulation;
    if (emulation.failing_gpu) require_range("emulation.failing_gpu", *emulation.failing_gpu, 0, emulation.gpus - 1);
    if (emulation.longest_delay.count() < 0) {
        throw UsageError("Config::emulation.longest_delay = " + std::to_string(emulation.longest_delay.count()) +
                         " ns; allowed is 0 or more");
    }
    check_speeds(emulation);
    const std::size_t most = std::max(Emulation{}.memory, usable_memory() / static_cast<std::size_t>(emulation.gpus));
    const auto require_room = [&](const char* name, std::size_t bytes) {
        if (bytes <= most) return;
        throw UsageError("Config::" + std::string(name) + " = " + std::to_string(bytes) + " with " +
                         std::to_string(emulation.gpus) + (emulation.gpus == 1 ? " emulated GPU" : " emulated GPUs") +
                         "; allowed is up to " + std::to_string(most) + " bytes each, of the host's " +
                         std::to_string(usable_memory()));
    };
    require_room("emulation.memory", emulation.memory);
    require_room("gpu_memory", config.gpu_memory);
    emulation.memory = std::max(emulation.memory, config.gpu_memory);
    return emulation;
}

/// Streams of CUDA share 8 queues between host and GPU unless the environment asks for more when CUDA starts. In a
/// shared queue, a stream's kernel waits until the marks behind another stream's kernel have been reached.
void give_each_stream_its_queue() {
    [[maybe_unused]] static const int once = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

const TuningTables& tables_of(const Config& config) {
    return config.tuning ? *config.tuning : TuningTables::built_in();
}

}  // namespace

std::vector<std::unique_ptr<Device>> open_devices(const Config& config) {
    const int gpus = config.gpus.value_or(Config::most_gpus);
    require_range("gpus", gpus, 0, Config::most_gpus);
    require_range("emulation.gpus", config.emulation.gpus, 0, Config::most_gpus);
    require_range("gpu_streams", config.gpu_streams, 1, Config::most_gpu_streams);
    const TuningTables& tables = tables_of(config);
    if (config.tuning) tables.check("Config::tuning");
    if (config.emulation.gpus > 0) return make_emulated_devices(checked_emulation(config), tables);
    if (gpus > 0 && config.gpu_streams > 1) give_each_stream_its_queue();
    return make_cuda_devices(gpus, tables);
}

Tuning tuning_for(const Config& config, const std::vector<std::unique_ptr<Device>>& devices) {
    const TuningTables& tables = tables_of(config);
    const CpuTuning& cpu = tables.for_cpu(cpu_architecture());
    return {cpu, devices.empty() ? tables.for_gpu("sm_90") : devices.front()->tuning()};
}

Config checked(Config config, const std::vector<std::unique_ptr<Device>>& devices) {
    if (config.workers < 0 || config.workers > Config::most_workers) {
        throw UsageError("Config::workers = " + std::to_string(config.workers) + "; allowed is 0 (all cores) to " +
                         std::to_string(Config::most_workers));
    }
    if (config.window > Config::most_window) {
        throw UsageError("Config::window = " + std::to_string(config.window) + "; allowed is 1 to " +
                         std::to_string(Config::most_window) + ", or 0 for no limit");
    }
    if (config.watchdog.count() < 0 || config.watchdog > Config::longest_watchdog) {
        throw UsageError("Config::watchdog = " + std::to_string(config.watchdog.count()) +
                         " ms; allowed is 0 (none) to 24 hours");
    }
    if (config.workers == 0) {
        config.workers = usable_cores();
        // the thread that feeds a GPU polls: it has a core to itself where there are enough
        const bool feeds = !devices.empty() && !devices.front()->emulated();
        if (feeds) config.workers = std::max(1, config.workers - static_cast<int>(devices.size()));
    }
    return config;
}

}  // namespace basalt::detail
