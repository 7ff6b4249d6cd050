#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/input/gpu_options.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// The options of `basalt batch`, besides the settings.
struct BatchOptions {
    std::string method;      ///< cholesky, lu or qr
    std::optional<Index> m;  ///< as n if not given; of qr alone
    Index n = 32;
    Index count = 10'000;
    char precision = 'd';
    bool solve = false;
    Index nrhs = 1;
    std::uint64_t seed = 0;
    Index repeat = 1;
    bool check = true;
    GpuOptions gpu;  ///< --energy

    Index rows() const { return m.value_or(n); }
    /// Columns of the right-hand sides; 0 without --solve.
    Index sides() const { return solve ? nrhs : 0; }
};

}  // namespace basalt
