#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/input/settings.hpp"
#include "basalt/cuda_info.hpp"

namespace basalt {

/// How a Cholesky factorization on GPUs goes through the matrix.
enum class Looking : std::uint8_t { left, right };

/// Options of the subcommands that factor a matrix which have no environment variable: of GPUs, and --energy.
struct GpuOptions {
    std::optional<Index> panels_below;  ///< gpu_panels_below of LuOptions, CholeskyOptions and QrOptions
    bool single_update_task = false;
    bool broadcast_from_host = false;
    bool plain_solve = false;
    bool rows_on_cores = false;      ///< CholeskyOptions::rows_on_cores; of `basalt cholesky` alone
    std::optional<Looking> looking;  ///< CholeskyOptions::left_looking; of `basalt cholesky` alone
    bool energy = false;             ///< measure it
    bool tf32 = false;               ///< LuOptions::products; of `basalt lu` alone
    bool panel_log = false;          ///< LuOptions::panel_log; of `basalt lu` alone

    /// The settings' options of LU and these. Throws WrongUse for a log of panels without the trace that shows it.
    LuOptions lu_options(const Settings& settings) const;
    /// Throws WrongUse for an option without effect in the mode that the settings ask for, or without GPUs where they
    /// ask for none, and for settings of GPUs that contradict each other. In mode auto every option has an effect.
    void require_effect(const Settings& settings) const;
    /// Throws WrongUse for an option that LU alone has a use for; `method`, not LU, is what else is done.
    void require_effect_without_lu(const std::string& method) const;
};

/// Add the options to `command`: those of LU, and --energy. `options` must outlive the parse.
void add_gpu_options(CLI::App& command, GpuOptions& options);
/// Adds --gpu-panels-below alone.
void add_gpu_panels_option(CLI::App& command, GpuOptions& options);
void add_energy_option(CLI::App& command, GpuOptions& options);

/// Adds those that only `basalt lu` has.
void add_lu_options(CLI::App& command, GpuOptions& options);

/// Whether the command line asks for GPUs, real or emulated ones: mode auto then is not cpu.
bool asks_for_gpus(const Settings& settings);

/// Throws WrongUse where the command line asks for GPUs and `mode`, in which its other options exist, has none.
void require_gpus_used(const Settings& settings, FactorMode mode);

/// Whether the command line has --panel-threads with a number of its own. What the environment says is for all
/// commands: those without such panels ignore it.
bool panel_threads_given(const Settings& settings);

/// Throws WrongUse where they are given in mode gpu, in which no cores factor panels.
void require_panels_on_cores(const Settings& settings);

/// Throws MachineFailure where the settings ask for GPUs that `runtime`, made from them, has not; it says why there
/// are none and what would help.
void require_gpus(const Settings& settings, const Runtime& runtime);

/// Whether the matrix shall lie in GPU memory before and after the run.
bool data_on_gpus(const Settings& settings);

/// Why there is no GPU, in words that end a sentence: "built without CUDA" and the like.
std::string why_no_gpu(const CudaInfo& cuda);
/// What is said where `wish` needs a GPU and the runtime has none.
std::string lacking_gpu(const std::string& wish, const Settings& settings);

}  // namespace basalt
