#pragma once

#include <cstdint>

#include "basalt/view.hpp"

namespace basalt {

/// Where a factorization runs. The results are equally accurate everywhere.
enum class FactorMode : std::uint8_t {
    /// The fastest mode by the learnt run times (Config::models). Without these: gpu if there are GPUs and the matrix
    /// is large enough, otherwise cpu; for LU with a lookahead above 1, hybrid instead of gpu.
    automatic,
    cpu,     ///< CPU cores only
    hybrid,  ///< panels on CPU cores as long as they keep ahead of the GPUs, all else on GPUs
    gpu,     ///< everything on GPUs; one core submits
};

/// How many panels of a factorization the cores factor, and how many the GPUs.
struct PanelPlaces {
    Index on_cores = 0;
    Index on_gpus = 0;
};

}  // namespace basalt
