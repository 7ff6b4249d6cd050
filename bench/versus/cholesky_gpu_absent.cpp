// Replaces cholesky_gpu.cpp in builds without CUDA.
#include "bench/versus/cholesky_gpu.hpp"

#include <stdexcept>

namespace bench {

int versus_cholesky_gpu(const VersusOptions&) {
    throw std::runtime_error("--mode hybrid and gpu: CUDA was not found when this was built");
}

}  // namespace bench
