#include "tests/devices/faulty_kernels.hpp"

#include <cuda_runtime_api.h>

namespace basalt_tests {

namespace {

__device__ long long timer() {
    long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

__device__ void spin(long long nanoseconds) {
    const long long begin = timer();
    while (timer() - begin < nanoseconds) {
    }
}

__global__ void spin_kernel(long long nanoseconds) { spin(nanoseconds); }

__global__ void trap_kernel() {
    spin(2'000'000);  // until later tasks are enqueued
    asm volatile("trap;");
}

cudaStream_t native(basalt::Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

}  // namespace

void launch_too_large_a_block(basalt::Stream stream) { spin_kernel<<<1, 4096, 0, native(stream)>>>(0); }

void launch_trap(basalt::Stream stream) { trap_kernel<<<1, 1, 0, native(stream)>>>(); }

void launch_spin(basalt::Stream stream, long long nanoseconds) {
    spin_kernel<<<1, 1, 0, native(stream)>>>(nanoseconds);
}

}  // namespace basalt_tests
