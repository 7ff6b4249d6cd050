#include "apps/input/gpu_options.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "apps/exit_status.hpp"

namespace basalt {

namespace {

constexpr const char* help = "--emulated-gpus 1 emulates one on CPU threads";

constexpr Index most_rows = Index{1} << 40;

std::string named(const Settings::Value& value) { return fmt::format("{} {}", value.origin, value.text); }

/// Whether the settings say that there shall be no GPU.
bool rules_gpus_out(const Settings& settings) {
    return settings.integer("BASALT_GPUS") == 0 && settings.integer("BASALT_EMULATED_GPUS") == 0;
}

/// Throws WrongUse where one setting asks for GPUs and another one for none, or for other ones.
void require_consistent_gpus(const Settings& settings) {
    const auto& mode = settings.value("BASALT_MODE");
    const auto& gpus = settings.value("BASALT_GPUS");
    const auto& emulated = settings.value("BASALT_EMULATED_GPUS");
    const bool real_ones = settings.given("BASALT_GPUS") && settings.integer("BASALT_GPUS") > 0;
    const bool emulated_ones = settings.given("BASALT_EMULATED_GPUS") && settings.integer("BASALT_EMULATED_GPUS") > 0;
    if (real_ones && emulated_ones)
        throw WrongUse(fmt::format("{} with {}; allowed: one of them", named(gpus), named(emulated)));
    if (mode.text == "cpu" && (real_ones || emulated_ones)) {
        throw WrongUse(fmt::format("{} with {}; allowed: --mode hybrid, gpu or auto",
                                   named(emulated_ones ? emulated : gpus), named(mode)));
    }
    if ((mode.text == "hybrid" || mode.text == "gpu") && rules_gpus_out(settings)) {
        throw WrongUse(fmt::format("{} with {}; allowed: --gpus 1 or more, --emulated-gpus, or --mode cpu or auto",
                                   named(mode), named(gpus)));
    }
}

}  // namespace

LuOptions GpuOptions::lu_options(const Settings& settings) const {
    LuOptions options = settings.lu_options();
    options.gpu_panels_below = panels_below;
    options.single_update_task = single_update_task;
    options.broadcast_from_host = broadcast_from_host;
    options.solve_by_inverse = !plain_solve;
    if (tf32) options.products = ProductPrecision::tf32;
    options.panel_log = panel_log;
    if (panel_log && settings.text("BASALT_TRACE").empty()) {
        throw WrongUse("--panel-log without a trace, which shows it; give --trace FILE too");
    }
    return options;
}

void GpuOptions::require_effect(const Settings& settings) const {
    require_consistent_gpus(settings);
    const auto& mode = settings.value("BASALT_MODE");
    const bool no_gpus = rules_gpus_out(settings), on_cores = mode.text == "cpu" || no_gpus;
    const auto refuse = [&](bool given, const std::string& option, const char* modes) {
        if (!given) return;
        throw WrongUse(mode.text == "cpu" || !no_gpus
                           ? fmt::format("{} with {}; allowed: --mode {}", option, named(mode), modes)
                           : fmt::format("{} with {}; allowed: with GPUs, --gpus 1 or more or --emulated-gpus", option,
                                         named(settings.value("BASALT_GPUS"))));
    };
    refuse(on_cores && settings.given("BASALT_GPU_MEM"), named(settings.value("BASALT_GPU_MEM")),
           "hybrid, gpu or auto");
    refuse(on_cores && data_on_gpus(settings), named(settings.value("BASALT_DATA")), "hybrid, gpu or auto");
    refuse(on_cores && single_update_task, "--single-update-task", "hybrid, gpu or auto");
    refuse(on_cores && broadcast_from_host, "--broadcast-from-host", "hybrid, gpu or auto");
    refuse(on_cores && tf32, "--tf32", "hybrid, gpu or auto");
    refuse(on_cores && panel_log, "--panel-log", "hybrid, gpu or auto");
    const bool no_gpu_mode = on_cores || mode.text == "hybrid", no_hybrid_mode = on_cores || mode.text == "gpu";
    refuse(no_gpu_mode && looking == Looking::left, "--left-looking", "gpu or auto");
    refuse(no_gpu_mode && looking == Looking::right, "--right-looking", "gpu or auto");
    refuse(no_hybrid_mode && panels_below.has_value(), "--gpu-panels-below", "hybrid or auto");
    refuse(no_hybrid_mode && plain_solve, "--plain-solve", "hybrid or auto");
    refuse(no_hybrid_mode && rows_on_cores, "--rows-on-cores", "hybrid or auto");
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
                const Index rows = parse_integer(panels_below, text, -1, most_rows, "-1: chosen by the program");
                options.panels_below = rows < 0 ? std::nullopt : std::optional<Index>(rows);
            },
            "mode hybrid: GPUs factor the first panel, and all of them from that number of rows left on, 0: never, "
            "-1: chosen by the program")
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

bool asks_for_gpus(const Settings& settings) {
    const auto some = [&settings](const char* variable) {
        return settings.given(variable) && settings.integer(variable) > 0;
    };
    return some("BASALT_GPUS") || some("BASALT_EMULATED_GPUS");
}

void require_gpus_used(const Settings& settings, FactorMode mode) {
    if (mode != FactorMode::cpu || !asks_for_gpus(settings)) return;
    const bool emulated = settings.integer("BASALT_EMULATED_GPUS") > 0;
    throw WrongUse(fmt::format("{} with options that only mode cpu has; allowed: those options without it",
                               named(settings.value(emulated ? "BASALT_EMULATED_GPUS" : "BASALT_GPUS"))));
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
    if (mode.text == "cpu") return;
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
