#pragma once

#include <iostream>

#include "apps/exit_status.hpp"
#include "apps/factor_options.hpp"
#include "apps/gpu_options.hpp"
#include "apps/output_files.hpp"
#include "apps/settings.hpp"

namespace basalt {

/// What the subcommands that factor one matrix have in common: the list of generators where that is asked for, or
/// run(T(), runtime, files) in the precision that is. Returns the exit status.
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
    return options.precision == 's' ? run(float(), runtime, files) : run(double(), runtime, files);
}

}  // namespace basalt
