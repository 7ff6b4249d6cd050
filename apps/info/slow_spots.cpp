#include "apps/info/slow_spots.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "apps/info/gpu_list.hpp"
#include "apps/input/gpu_options.hpp"

namespace basalt {

namespace {

void add_blas_spots(std::vector<std::string>& spots, const MachineInfo& machine, const BlasInfo& blas) {
    const bool has_avx512 = !machine.vector_units.empty() && machine.vector_units.back() == "AVX-512";
    if (has_avx512 && !uses_avx512(blas.core)) {
        spots.push_back(
            fmt::format("OpenBLAS runs kernels for {}{} on a CPU with AVX-512: set "
                        "OPENBLAS_CORETYPE=SkylakeX (dgemm was 1.6 times as fast on a Zen 5)",
                        blas.core, std::getenv("OPENBLAS_CORETYPE") != nullptr ? ", as OPENBLAS_CORETYPE asks," : ""));
    }
    if (blas.threading != "pthread") {
        spots.push_back(
            fmt::format("OpenBLAS was built with threads: {}; install its pthread variant "
                        "(libopenblas0-pthread), whose thread count can be set per call",
                        blas.threading));
    }
}

void add_core_spots(std::vector<std::string>& spots, const MachineInfo& machine, const Settings& settings) {
    const auto workers = settings.integer("BASALT_WORKERS");
    if (workers > usable_cores(machine)) {
        spots.push_back(fmt::format("{} workers ({}) share {} cores", workers, settings.value("BASALT_WORKERS").origin,
                                    usable_cores(machine)));
    }
    if (machine.load > 0.5 * usable_cores(machine)) {
        spots.push_back(fmt::format("other programs are running: the load is {:.1f}", machine.load));
    }
    if (machine.allowed_cores < machine.cores) {
        spots.push_back(fmt::format("the affinity mask leaves {} of {} cores", machine.allowed_cores, machine.cores));
    }
    if (machine.cgroup.cpus && *machine.cgroup.cpus < machine.allowed_cores) {
        spots.push_back(fmt::format("the control group's quota leaves {:.2f} of {} cores", *machine.cgroup.cpus,
                                    machine.allowed_cores));
    }
    if (machine.governor && *machine.governor == "powersave") {
        spots.push_back("the frequency governor is powersave: cpupower frequency-set -g performance");
    }
}

void add_gpu_spots(std::vector<std::string>& spots, const MachineInfo& machine, const CudaInfo& cuda,
                   const Settings& settings) {
    const auto count = static_cast<int>(cuda.gpus.size());
    const int on_bus = count == 0 ? nvidia_devices_on_bus() : count;
    if (count == 0 && on_bus > 0) {
        spots.push_back(
            fmt::format("NVIDIA GPUs on the PCI bus: {}, but none can be used: {}", on_bus, why_no_gpu(cuda)));
    }
    if (settings.integer("BASALT_EMULATED_GPUS") > 0) {
        spots.push_back(fmt::format("emulated GPUs ({}) run on CPU threads: good for tests, never fast",
                                    settings.value("BASALT_EMULATED_GPUS").origin));
    }
    if (count == 0) return;
    for (int i = 0; i < count; ++i) {
        if (std::ssize(cuda.gpus[static_cast<std::size_t>(i)].peers) < count - 1)
            spots.push_back(fmt::format("gpu {} does not reach all other GPUs: copies go through host memory", i));
    }
    if (machine.locked_memory) {
        spots.push_back(
            fmt::format("locked memory is limited to {} MiB: if pinning host memory fails, copies to GPUs "
                        "are slow (ulimit -l unlimited)",
                        *machine.locked_memory >> 20));
    }
    if (usable_cores(machine) <= count) {
        spots.push_back(fmt::format("{} cores for {} GPUs: the threads that feed the GPUs take them from the workers",
                                    usable_cores(machine), count));
    }
}

}  // namespace

std::vector<std::string> slow_spots(const MachineInfo& machine, const BlasInfo& blas, const CudaInfo& cuda,
                                    const Settings& settings) {
    std::vector<std::string> spots;
    add_blas_spots(spots, machine, blas);
    add_core_spots(spots, machine, settings);
    add_gpu_spots(spots, machine, cuda, settings);
    return spots;
}

}  // namespace basalt
