#pragma once

#include <string>

namespace basalt {

/// The OpenBLAS that this program uses.
struct BlasInfo {
    std::string config;     ///< version and build options as OpenBLAS prints them
    std::string core;       ///< the processor type whose kernels it chose, e.g. "SkylakeX"
    std::string threading;  ///< "pthread", "OpenMP" or "none"
};

BlasInfo inspect_blas();

/// Whether the kernels of processor type `core` use AVX-512.
bool uses_avx512(const std::string& core);

}  // namespace basalt
