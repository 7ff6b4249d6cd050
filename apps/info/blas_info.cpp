#include "apps/info/blas_info.hpp"

#include <algorithm>
#include <array>

#include <cblas.h>

namespace basalt {

BlasInfo inspect_blas() {
    constexpr std::array<const char*, 3> kinds = {"none", "pthread", "OpenMP"};
    const auto kind = static_cast<std::size_t>(std::clamp(openblas_get_parallel(), 0, 2));
    return {openblas_get_config(), openblas_get_corename(), kinds[kind]};
}

bool uses_avx512(const std::string& core) {
    constexpr std::array<const char*, 3> wide = {"SkylakeX", "Cooperlake", "SapphireRapids"};
    return std::find(wide.begin(), wide.end(), core) != wide.end();
}

}  // namespace basalt
