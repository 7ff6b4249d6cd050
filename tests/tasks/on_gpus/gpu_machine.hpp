#pragma once

#include <chrono>
#include <cstddef>

#include "basalt/runtime.hpp"

namespace basalt_tests {

/// What a runtime of the factorizations' tests runs on: emulated GPUs or real ones.
struct GpuMachine {
    int gpus = 1;
    int workers = 2;
    std::size_t memory = 0;  ///< of each GPU; 0: what it has
    bool peers = true;
    std::chrono::nanoseconds delay{0};
    bool emulated = true;

    basalt::Config config() const {
        basalt::Config config;
        config.workers = workers;
        config.gpu_memory = memory;
        config.gpus = gpus;
        if (!emulated) return config;
        config.emulation.gpus = gpus;
        config.emulation.peer_access = peers;
        config.emulation.longest_delay = delay;
        return config;
    }
};

}  // namespace basalt_tests
