#pragma once

#include "basalt/basalt.hpp"

namespace basalt_tests {

/// Why a test that needs a GPU was skipped.
inline constexpr const char* no_gpu = "no GPU";

/// GPUs that a runtime finds here.
inline int gpus_here() {
    static const int count = [] {
        basalt::Config config;
        config.workers = 1;
        return basalt::Runtime(config).gpus();
    }();
    return count;
}

}  // namespace basalt_tests
