#pragma once

#include "kernels/cuda/common/warp_thread.cuh"
#include "kernels/cuda/triangle/solve_strip.hpp"

namespace basalt::cuda_detail {

/// As instructions that name shared memory want it.
__device__ inline unsigned shared_address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// Starts the copy of neighbouring elements.
template <int count, class T>
__device__ void copy_to_shared(T* shared, const T* global) {
    const unsigned to = shared_address(shared);
    constexpr int bytes = count * static_cast<int>(sizeof(T));
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(bytes) : "memory");
    }
}

__device__ inline void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

/// A thread of a block on the GPU, as solve_strip.hpp and panel_product.hpp want it.
struct BlockThread : WarpThread {
    /// The same for warps that come from different places of the program, as __syncthreads() must not be called: a
    /// barrier of its own, which does not ask for all warps at one place.
    __device__ void meet() const { asm volatile("barrier.sync 1, %0;" ::"r"(warps * warp_lanes) : "memory"); }

    /// Starts the copy of two elements to shared memory.
    template <class T>
    __device__ void copy(T* shared, const T* global) const {
        copy_to_shared<2>(shared, global);
    }
    __device__ void wait_for_copies() const { cuda_detail::wait_for_copies(); }

    /// The same in groups: those that the thread started since the last call are one.
    template <int count, class T>
    __device__ void copy(T* shared, const T* global) const {
        copy_to_shared<count>(shared, global);
    }
    __device__ void commit_copies() const { asm volatile("cp.async.commit_group;" ::: "memory"); }
    /// For all of its own but the last `pending` groups.
    template <int pending>
    __device__ void wait_for_own_copies() const {
        asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
    }

    // Counters in the GPU's memory. What the thread's block wrote before it met and one of its threads then released,
    // other blocks may read after they acquired.
    __device__ int load_acquire(const int* counter) const {
        int value;
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
        return value;
    }
    __device__ void store_release(int* counter, int value) const {
        asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
    }
    __device__ void add_release(int* counter, int value) const {
        asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
    }
    __device__ int fetch_add(int* counter, int value) const { return atomicAdd(counter, value); }
    /// Where it fails, `expected` becomes the present value.
    __device__ bool compare_exchange(int* counter, int& expected, int value) const {
        const int before = atomicCAS(counter, expected, value);
        const bool exchanged = before == expected;
        expected = before;
        return exchanged;
    }
    /// Between two looks at a counter.
    __device__ void pause() const {}

    /// C += A B with C 16 x 8, A 16 x 8, B 8 x 8, spread over the warp as mma.m16n8k8 has it. Before sm_90 there is
    /// only m8n8k4, four of which have their parts in the same lanes.
    __device__ void mma_16x8x8(double& c0, double& c1, double& c2, double& c3, double a0, double a1, double a2,
                               double a3, double b0, double b1) const {
#if __CUDA_ARCH__ >= 900
        asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
            : "d"(a0), "d"(a1), "d"(a2), "d"(a3), "d"(b0), "d"(b1));
#else
        const auto mma_8x8x4 = [](double& left, double& right, double a, double b) {
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(left), "+d"(right)
                : "d"(a), "d"(b));
        };
        mma_8x8x4(c0, c1, a0, b0);
        mma_8x8x4(c2, c3, a1, b0);
        mma_8x8x4(c0, c1, a2, b1);
        mma_8x8x4(c2, c3, a3, b1);
#endif
    }
};

}  // namespace basalt::cuda_detail
