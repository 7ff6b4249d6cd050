#pragma once

#include <cstdint>

namespace basalt {

/// Where a factorization runs. The results are equally accurate everywhere.
enum class FactorMode : std::uint8_t {
    /// What runs of that kind have taken so far speaks for (Config::models); where nothing was learnt: gpu when there
    /// are GPUs and the matrix is large enough, else cpu; LU with a lookahead above 1: hybrid.
    automatic,
    cpu,     ///< CPU cores alone
    hybrid,  ///< panels on CPU cores as long as they keep ahead of the GPUs, the rest on GPUs
    gpu,     ///< all of it on GPUs; one core submits
};

}  // namespace basalt
