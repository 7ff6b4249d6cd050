#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/version.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/hpl/system.hpp"
#include "apps/info/blas_info.hpp"
#include "apps/info/gpu_list.hpp"
#include "apps/info/machine.hpp"
#include "apps/info/slow_spots.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/matrix_memory.hpp"
#include "apps/input/setting_options.hpp"
#include "basalt/run_models.hpp"
#include "basalt/tuning.hpp"
#include "basalt/version.hpp"
#include "base/build_commit.hpp"
#include "base/gpu_architectures.hpp"

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
    print("  cores            {} ({} hardware threads, {} packages), {}\n", machine.cores, machine.hardware_threads,
          machine.packages, machine.vector_units.empty() ? "no known vector unit" : joined(machine.vector_units));
    print("  affinity mask    {} ({} cores, {} hardware threads)\n", machine.affinity, machine.allowed_cores,
          machine.allowed_threads);
    print("  CPU quota        {}\n", machine.cgroup.cpus ? fmt::format("{:.2f} cores", *machine.cgroup.cpus) : "none");
    for (const auto& cache : machine.caches) {
        print("  cache {:<10} {} x {}\n", cache.name, cache.count, size_text(cache.bytes));
    }
    for (std::size_t i = 0; i < machine.numa.size(); ++i) {
        print("  NUMA node {:<6} {}, cores {}\n", i, size_text(machine.numa[i].bytes), machine.numa[i].cores);
    }
    const MemoryLimit memory = available_memory();
    print("  memory           {}, available {} ({})\n", size_text(machine.memory_bytes), size_text(memory.bytes),
          memory.reason);
    print("  memory limit     {}\n", machine.cgroup.memory_bytes ? size_text(*machine.cgroup.memory_bytes) : "none");
    print("  governor         {}\n", machine.governor.value_or("not told by the kernel"));
    print("  locked memory    {}\n",
          machine.locked_memory ? size_text(*machine.locked_memory) + " (ulimit -l)" : "no limit");
}

/// "sm_90" for capability 9.0.
std::string architecture_of(const CudaGpu& gpu) {
    std::string architecture = "sm_" + gpu.capability;
    architecture.erase(std::remove(architecture.begin(), architecture.end(), '.'), architecture.end());
    return architecture;
}

void print_gpus(const CudaInfo& cuda, const Settings& settings) {
    for (std::size_t i = 0; i < cuda.gpus.size(); ++i) {
        const CudaGpu& gpu = cuda.gpus[i];
        const auto near = cores_near(gpu);
        print("  gpu {:<12} {}, {}, {} multiprocessors, capability {}, at {}\n", i, gpu.model, size_text(gpu.memory),
              gpu.multiprocessors, gpu.capability, gpu.bus_id);
        print("  {:<16} near {}, reaches {}\n", "",
              !near             ? "cores that hwloc does not know"
              : near->numa_node ? fmt::format("cores {} (NUMA node {})", near->cores, *near->numa_node)
                                : fmt::format("cores {}", near->cores),
              gpu.peers.empty() ? "no other GPU" : fmt::format("GPUs {}", fmt::join(gpu.peers, ", ")));
        const std::string why = why_no_code_for(architecture_of(gpu));
        if (!why.empty()) print("  {:<16} refused: {}\n", "", why);
    }
    if (cuda.gpus.empty()) print("  GPUs             none: {}\n", why_no_gpu(cuda));
    const Config config = settings.runtime_config();
    if (config.emulation.gpus > 0) {
        const std::size_t memory = config.gpu_memory > 0 ? config.gpu_memory : config.emulation.memory;
        print("  emulated GPUs    {} of {} each ({})\n", config.emulation.gpus, size_text(memory),
              settings.value("BASALT_EMULATED_GPUS").origin);
    }
}

/// The largest N for HPL.dat that stays in the memory of the GPUs, as far as other programs do not use it.
std::string hpl_line(const Settings& settings) {
    constexpr const char* title = "  hpl on GPUs      ";
    try {
        const Runtime runtime(settings.runtime_config());
        const Index nb = settings.integer("BASALT_NB") > 0 ? settings.integer("BASALT_NB") : widest_gpu_panel;
        const Index largest = largest_hpl_order(settings, {}, runtime, nb);
        if (largest == 0) return "";
        return fmt::format("{}N up to {} stays in their memory (NB = {})\n", title, largest, nb);
    } catch (const DeviceError& error) {  // a GPU that fails does not end the inventory
        return fmt::format("{}{}\n", title, error.what());
    }
}

std::string version_text(int cuda_version) {
    return cuda_version == 0 ? "none" : fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

void print_libraries(const MachineInfo& machine, const BlasInfo& blas, const CudaInfo& cuda) {
    print("libraries\n  basalt           {} ({})\n", version, build_commit);
    print("  OpenBLAS         {}, kernels for {}, threads: {}\n", blas.config, blas.core, blas.threading);
    print("  hwloc            {}\n", machine.hwloc_version);
    print("  oneTBB           {} (interface {})\n", TBB_runtime_version(), TBB_runtime_interface_version());
    if (cuda.built_with == 0) {
        print("  CUDA             built without\n");
    } else {
        print("  CUDA             built with {}, runtime {}, driver {}\n", version_text(cuda.built_with),
              version_text(cuda.runtime), cuda.driver == 0 ? "none" : "for " + version_text(cuda.driver));
        print("  GPU kernels      for {}\n", fmt::format("{}", fmt::join(built_gpu_architectures(), ", ")));
    }
    print("  fmt              {}.{}.{}\n", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
}

/// The entries of the tuning tables that this machine uses.
void print_tuning(const CudaInfo& cuda, const Settings& settings) {
    const Config config = settings.runtime_config();
    const TuningTables& tables = config.tuning ? *config.tuning : TuningTables::built_in();
    print("tuning ({})\n", config.tuning ? settings.text("BASALT_TUNING") : "built-in tables");
    const auto line = [](const std::string& place, const std::string& entry, const std::string& architecture) {
        print("  {:<16} {}{}\n", place, entry, entry == architecture ? "" : ", the nearest to " + architecture);
    };
    line("cores", tables.for_cpu(cpu_architecture()).architecture, cpu_architecture());
    if (config.emulation.gpus > 0) {
        const std::string& taken_for = config.emulation.architecture;
        return line("emulated GPUs", tables.for_gpu(taken_for).architecture, taken_for);
    }
    for (std::size_t i = 0; i < cuda.gpus.size(); ++i) {
        const std::string architecture = architecture_of(cuda.gpus[i]);
        line(fmt::format("gpu {}", i), tables.for_gpu(architecture).architecture, architecture);
    }
}

/// The runs that mode auto knows.
void print_models(const Settings& settings) {
    const std::string path = settings.runtime_config().models;
    if (path.empty()) return print("models (none: mode auto goes by the tuning tables)\n");
    print(
        "models ({}): mode auto takes the fastest where runs near the size are known, else it goes by the tuning "
        "tables\n",
        path);
    const std::vector<std::string> lines = RunModels(path).lines();
    for (const std::string& line : lines) print("  {}\n", line);
    if (lines.empty()) print("  nothing learnt yet\n");
}

void print_settings(const Settings& settings) {
    print("settings (option before environment before default)\n");
    for (const auto& info : setting_table()) {
        const auto& value = settings.value(info.variable);
        print("  {:<21} {:<9} from {:<21} {}\n", info.variable, value.text.empty() ? "(none)" : value.text,
              value.origin, info.meaning);
    }
}

int info(const Settings& settings) {
    const MachineInfo machine = inspect_machine();
    const BlasInfo blas = inspect_blas();
    const CudaInfo cuda = cuda_info();
    const std::string hpl = hpl_line(settings);  // makes a runtime: bad settings throw before anything is printed
    print_machine(machine);
    print_gpus(cuda, settings);
    print("{}", hpl);
    print_libraries(machine, blas, cuda);
    print_tuning(cuda, settings);
    if (settings.integer("BASALT_VERBOSE") != 0) print_models(settings);
    print_settings(settings);
    for (const auto& spot : slow_spots(machine, blas, cuda, settings)) print("warning: {}\n", spot);
    return exit_done;
}

}  // namespace

void add_info(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("info", "show the machine, the libraries and every setting");
    add_setting_options(*command, settings, factor_settings());
    add_setting_options(*command, settings, {"BASALT_NB"});
    command->callback([&settings, &chosen] { chosen = [&settings] { return info(settings); }; });
}

}  // namespace basalt
