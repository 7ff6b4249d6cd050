#pragma once

#include <algorithm>

#include <basalt/view.hpp>

namespace bench {

/// LAPACK's count of geqrf in its leading terms; 4/3 n^3 for m = n.
inline double qr_flops(basalt::Index m, basalt::Index n) {
    const auto k = static_cast<double>(std::min(m, n)), l = static_cast<double>(std::max(m, n));
    return 2 * k * k * (l - k / 3);
}

}  // namespace bench
