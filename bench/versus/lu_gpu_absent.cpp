// Replaces lu_gpu.cpp in builds without CUDA.
#include "bench/versus/lu_gpu.hpp"

#include <stdexcept>

namespace bench {

int versus_lu_gpu(const VersusOptions&) {
    throw std::runtime_error("--mode hybrid and gpu: CUDA was not found when this was built");
}

}  // namespace bench
