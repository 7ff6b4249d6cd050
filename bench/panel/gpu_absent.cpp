// Replaces gpu.cpp in builds without CUDA.
#include "bench/panel/gpu.hpp"

#include <stdexcept>

namespace bench {

void bench_panel_gpu(const PanelOptions&) {
    throw std::runtime_error("--mode gpu: CUDA was not found when this was built");
}

}  // namespace bench
