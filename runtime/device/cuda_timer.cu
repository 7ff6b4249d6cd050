#include "runtime/device/cuda_timer.hpp"

namespace basalt::detail {

namespace {

__global__ void read_timer_kernel(std::int64_t* result) { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(*result)); }

}  // namespace

cudaError_t enqueue_timer_reading(std::int64_t* pinned, cudaStream_t stream) {
    read_timer_kernel<<<1, 1, 0, stream>>>(pinned);
    return cudaGetLastError();
}

}  // namespace basalt::detail
