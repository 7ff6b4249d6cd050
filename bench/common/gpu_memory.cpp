#include "bench/common/gpu_memory.hpp"

#include <cuda_runtime_api.h>

#include "bench/common/gpu_check.hpp"
#include "runtime/device/cuda_check.hpp"

namespace bench {

GpuMemory::GpuMemory(std::size_t bytes, int gpu) {
    const basalt::detail::CurrentDevice current(gpu);
    if (bytes > 0) check_cuda(cudaMalloc(&data_, bytes), "cudaMalloc");
}
GpuMemory::~GpuMemory() { cudaFree(data_); }

void synchronize_gpus(int gpus) {
    for (int gpu = gpus - 1; gpu >= 0; --gpu) {
        check_cuda(cudaSetDevice(gpu), "cudaSetDevice");
        check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
}

}  // namespace bench
