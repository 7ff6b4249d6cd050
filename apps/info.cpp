#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <tbb/version.h>

#include "apps/blas_info.hpp"
#include "apps/commands.hpp"
#include "apps/commit.hpp"
#include "apps/exit_status.hpp"
#include "apps/machine.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/setting_options.hpp"
#include "basalt/version.hpp"

namespace basalt {

namespace {

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    std::cout << fmt::format(format, std::forward<Args>(args)...);
}

std::string size_text(std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (value >= 0x1p30) return fmt::format("{:.1f} GiB", value / 0x1p30);
    if (value >= 0x1p20) return fmt::format("{:.1f} MiB", value / 0x1p20);
    return fmt::format("{:.0f} KiB", value / 0x1p10);
}

void print_machine(const MachineInfo& machine) {
    print("machine\n  CPU              {}\n", machine.cpu_model);
    print("  cores            {} ({} hardware threads, {} packages), {}\n", machine.cores,
          machine.hardware_threads, machine.packages,
          machine.vector_units.empty() ? "no known vector unit" : joined(machine.vector_units));
    print("  affinity mask    {} ({} cores, {} hardware threads)\n", machine.affinity, machine.allowed_cores,
          machine.allowed_threads);
    print("  CPU quota        {}\n",
          machine.cgroup.cpus ? fmt::format("{:.2f} cores", *machine.cgroup.cpus) : "none");
    for (const auto& cache : machine.caches) {
        print("  cache {:<10} {} x {}\n", cache.name, cache.count, size_text(cache.bytes));
    }
    for (std::size_t i = 0; i < machine.numa.size(); ++i) {
        print("  NUMA node {:<6} {}, cores {}\n", i, size_text(machine.numa[i].bytes), machine.numa[i].cores);
    }
    const MemoryLimit memory = available_memory();
    print("  memory           {}, available {} ({})\n", size_text(machine.memory_bytes),
          size_text(memory.bytes), memory.reason);
    print("  memory limit     {}\n",
          machine.cgroup.memory_bytes ? size_text(*machine.cgroup.memory_bytes) : "none");
    print("  governor         {}\n", machine.governor.value_or("not told by the kernel"));
    print("  GPUs             none: built without CUDA\n");
}

void print_libraries(const MachineInfo& machine, const BlasInfo& blas) {
    print("libraries\n  basalt           {} ({})\n", version, build_commit);
    print("  OpenBLAS         {}, kernels for {}, threads: {}\n", blas.config, blas.core, blas.threading);
    print("  hwloc            {}\n", machine.hwloc_version);
    print("  oneTBB           {} (interface {})\n", TBB_runtime_version(), TBB_runtime_interface_version());
    print("  fmt              {}.{}.{}\n", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
}

void print_settings(const Settings& settings) {
    print("settings (option before environment before default)\n");
    for (const auto& info : setting_table()) {
        const auto& value = settings.value(info.variable);
        print("  {:<21} {:<9} from {:<21} {}\n", info.variable, value.text.empty() ? "(none)" : value.text,
              value.origin, info.meaning);
    }
}

/// What will be slow on this machine, and what to do about it.
std::vector<std::string> slow_spots(const MachineInfo& machine, const BlasInfo& blas,
                                    const Settings& settings) {
    std::vector<std::string> spots;
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
    const auto workers = settings.integer("BASALT_WORKERS");
    if (workers > usable_cores(machine)) {
        spots.push_back(fmt::format("{} workers ({}) share {} cores", workers,
                                    settings.value("BASALT_WORKERS").origin, usable_cores(machine)));
    }
    if (machine.load > 0.5 * usable_cores(machine)) {
        spots.push_back(fmt::format("other programs are running: the load is {:.1f}", machine.load));
    }
    if (machine.allowed_cores < machine.cores) {
        spots.push_back(
            fmt::format("the affinity mask leaves {} of {} cores", machine.allowed_cores, machine.cores));
    }
    if (machine.cgroup.cpus && *machine.cgroup.cpus < machine.allowed_cores) {
        spots.push_back(fmt::format("the control group's quota leaves {:.2f} of {} cores",
                                    *machine.cgroup.cpus, machine.allowed_cores));
    }
    if (machine.governor && *machine.governor == "powersave") {
        spots.push_back("the frequency governor is powersave: cpupower frequency-set -g performance");
    }
    return spots;
}

int info(const Settings& settings) {
    const MachineInfo machine = inspect_machine();
    const BlasInfo blas = inspect_blas();
    print_machine(machine);
    print_libraries(machine, blas);
    print_settings(settings);
    for (const auto& spot : slow_spots(machine, blas, settings)) print("warning: {}\n", spot);
    return exit_done;
}

}  // namespace

void add_info(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("info", "show the machine, the libraries and every setting");
    add_setting_options(*command, settings,
                        {"BASALT_WORKERS", "BASALT_SCHEDULER", "BASALT_MODE", "BASALT_NB", "BASALT_TILE",
                         "BASALT_LOOKAHEAD", "BASALT_PANEL_THREADS", "BASALT_TRACE", "BASALT_JSON"});
    command->callback([&settings, &chosen] { chosen = [&settings] { return info(settings); }; });
}

}  // namespace basalt
