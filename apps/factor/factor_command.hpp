#pragma once

#include <iostream>

#include "apps/exit_status.hpp"
#include "apps/factor/factor_options.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/settings.hpp"
#include "apps/runs/output_files.hpp"

namespace basalt {

/// The common part of the subcommands that factor one matrix: prints the list of generators if the options ask for it,
/// otherwise calls run(T(), runtime, files) in the precision of the options. Returns the exit status.
template <class F>
int run_factorization(const FactorOptions& options, const Settings& settings, const F& run) {
    if (options.matrix == "list") {
        std::cout << generator_list();
        return exit_done;
    }
    options.gpu.require_effect(settings);
    Runtime runtime(settings.runtime_config());
    require_gpus(settings, runtime);
    OutputFiles files(settings);
    if (!options.file.empty()) files.add_input("--matrix", options.file);
    // NOLINTNEXTLINE(bugprone-branch-clone): the types differ
    const int status = options.precision == 's' ? run(float(), runtime, files) : run(double(), runtime, files);
    files.require_written();
    return status;
}

}  // namespace basalt
