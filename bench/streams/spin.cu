#include "bench/streams/spin.hpp"

#include <stdexcept>

#include <cuda_runtime_api.h>

namespace bench {

namespace {

__device__ std::int64_t timer() {
    std::int64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__global__ void spin_kernel(std::int64_t nanoseconds) {
    const std::int64_t begin = timer();
    while (timer() - begin < nanoseconds) {
    }
}

}  // namespace

void spin(basalt::Stream stream, std::int64_t nanoseconds) {
    spin_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream.native())>>>(nanoseconds);
    const cudaError_t status = cudaGetLastError();
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

}  // namespace bench
