#pragma once

#include "lapack/call.hpp"

namespace basalt::lapack {

/// Which calls are taken.
enum class Taking : std::uint8_t {
    none,   ///< BASALT_LAPACK=off
    large,  ///< auto, the default: those for which Basalt is expected to be faster
    all,    ///< always: every call with elements
};

/// The settings of the environment, as they were when the library was loaded.
struct Settings {
    Taking taking = Taking::large;
    double threshold = 0;  ///< BASALT_LAPACK_THRESHOLD; 0: that of each routine
};

const Settings& settings();

}  // namespace basalt::lapack
