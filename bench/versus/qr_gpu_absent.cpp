// Replaces qr_gpu.cpp in builds without CUDA.
#include "bench/versus/qr_gpu.hpp"

#include <stdexcept>

namespace bench {

int versus_qr_gpu(const VersusOptions&) {
    throw std::runtime_error("--mode hybrid and gpu: CUDA was not found when this was built");
}

}  // namespace bench
