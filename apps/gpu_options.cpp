#include "apps/gpu_options.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

namespace {

constexpr const char* help = "--emulated-gpus 1 emulates one on CPU threads";

constexpr Index most_rows = Index{1} << 40;

std::string named(const Settings::Value& value) { return fmt::format("{} {}", value.origin, value.text); }

}  // namespace

LuOptions GpuOptions::lu_options(const Settings& settings) const {
    LuOptions options = settings.lu_options();
    options.gpu_panels_below = panels_below;
    options.single_update_task = single_update_task;
    options.broadcast_from_host = broadcast_from_host;
    options.solve_by_inverse = !plain_solve;
    options.tf32 = tf32;
    options.panel_log = panel_log;
    if (panel_log && settings.text("BASALT_TRACE").empty()) {
        throw WrongUse("--panel-log without a trace, which shows it; give --trace FILE too");
    }
    return options;
}

void GpuOptions::require_effect(const Settings& settings) const {
    const auto& mode = settings.value("BASALT_MODE");
    const auto refuse = [&mode](bool given, const char* option, const char* allowed) {
        if (given) throw WrongUse(fmt::format("{} with {}; allowed: --mode {}", option, named(mode), allowed));
    };
    if (mode.text == "cpu") {
        refuse(single_update_task, "--single-update-task", "hybrid, gpu or auto");
        refuse(broadcast_from_host, "--broadcast-from-host", "hybrid, gpu or auto");
    }
    if (mode.text == "cpu" || mode.text == "hybrid") {
        refuse(left_looking == 1, "--left-looking", "gpu or auto");
        refuse(left_looking == 0, "--right-looking", "gpu or auto");
    }
    if (mode.text == "cpu" || mode.text == "gpu") {
        refuse(panels_below >= 0, "--gpu-panels-below", "hybrid or auto");
        refuse(plain_solve, "--plain-solve", "hybrid or auto");
        refuse(rows_on_cores, "--rows-on-cores", "hybrid or auto");
    }
}

void GpuOptions::require_effect_without_lu(const std::string& method) const {
    const auto refuse = [&method](bool given, const char* option) {
        if (given) throw WrongUse(fmt::format("{} with --method {}; allowed: --method lu", option, method));
    };
    refuse(single_update_task, "--single-update-task");
    refuse(broadcast_from_host, "--broadcast-from-host");
    refuse(plain_solve, "--plain-solve");
}

void add_gpu_panels_option(CLI::App& command, GpuOptions& options) {
    constexpr const char* panels_below = "--gpu-panels-below";
    command
        .add_option_function<std::string>(
            panels_below,
            [&options](const std::string& text) {
                options.panels_below = parse_integer(panels_below, text, -1, most_rows, "-1: chosen by the program");
            },
            "hybrid: rows left from which on GPUs factor panels too, as they do the first one, 0: never, -1: chosen by "
            "the program")
        ->type_name("VALUE");
}

void add_gpu_options(CLI::App& command, GpuOptions& options) {
    add_gpu_panels_option(command, options);
    command.add_flag("--single-update-task", options.single_update_task,
                     "GPUs, for comparison: one update task a step and GPU, not the leading column first");
    command.add_flag("--broadcast-from-host", options.broadcast_from_host,
                     "GPUs, for comparison: each GPU is sent the panel, no ring of GPUs");
    command.add_flag("--plain-solve", options.plain_solve,
                     "hybrid, for comparison: always solve with the panel's triangle, never multiply by its inverse");
}

void add_energy_option(CLI::App& command, GpuOptions& options) {
    command.add_flag("--energy", options.energy,
                     "measure the energy of GPUs (NVML) and processor packages (RAPL) during the factorization");
}

void add_lu_options(CLI::App& command, GpuOptions& options) {
    command.add_flag(
        "--tf32", options.tf32,
        "GPUs, --precision s: trailing updates multiply in TF32; the check is by its unit roundoff, 2^-11");
    command.add_flag("--panel-log", options.panel_log,
                     "GPUs, --precision d: the trace shows what each block of a panel that a GPU factors is busy with");
}

bool panel_threads_given(const Settings& settings) {
    return settings.value("BASALT_PANEL_THREADS").origin == "--panel-threads" &&
           settings.integer("BASALT_PANEL_THREADS") > 0;
}

void require_panels_on_cores(const Settings& settings) {
    const auto& mode = settings.value("BASALT_MODE");
    if (mode.text != "gpu" || !panel_threads_given(settings)) return;
    throw WrongUse(fmt::format("{} with {}; allowed: --mode cpu, hybrid or auto",
                               named(settings.value("BASALT_PANEL_THREADS")), named(mode)));
}

std::string lacking_gpu(const std::string& wish, const Settings& settings) {
    const auto& gpus = settings.value("BASALT_GPUS");
    const std::string why = gpus.text == "0" ? named(gpus) : why_no_gpu(cuda_info());
    return fmt::format("{} needs a GPU, and there is none ({}); {}", wish, why, help);
}

void require_gpus(const Settings& settings, const Runtime& runtime) {
    const auto& mode = settings.value("BASALT_MODE");
    const auto& data = settings.value("BASALT_DATA");
    const auto& gpus = settings.value("BASALT_GPUS");
    if (mode.text == "cpu") {
        if (data_on_gpus(settings))
            throw MachineFailure(fmt::format("{} uses no GPU, so {} cannot be", named(mode), named(data)));
        return;
    }
    if (settings.integer("BASALT_EMULATED_GPUS") == 0 && settings.integer("BASALT_GPUS") > runtime.gpus()) {
        throw MachineFailure(
            runtime.gpus() == 0
                ? fmt::format("{}: there is no GPU ({}); {}", named(gpus), why_no_gpu(cuda_info()), help)
                : fmt::format("{}: GPUs that there are: {}", named(gpus), runtime.gpus()));
    }
    if (runtime.gpus() > 0) return;
    for (const auto* wish : {&mode, &data}) {
        if (wish->text == "hybrid" || wish->text == "gpu" || wish->text == "device")
            throw MachineFailure(lacking_gpu(named(*wish), settings));
    }
}

bool data_on_gpus(const Settings& settings) { return settings.text("BASALT_DATA") == "device"; }

std::string why_no_gpu(const CudaInfo& cuda) {
    if (cuda.built_with == 0) return "built without CUDA";
    if (cuda.driver == 0) return "no NVIDIA driver";
    if (!cuda.trouble.empty()) return cuda.trouble;
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
        return fmt::format("CUDA_VISIBLE_DEVICES={}", visible);
    return "the driver finds none";
}

}  // namespace basalt
