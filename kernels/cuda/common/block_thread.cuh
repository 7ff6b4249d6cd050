#pragma once

#include <cstdint>

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

    // Words that say by themselves whether they are complete.
    __device__ std::uint64_t load_relaxed(const std::uint64_t* word) const {
        std::uint64_t value;
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
        return value;
    }
    __device__ void store_relaxed(std::uint64_t* word, std::uint64_t value) const {
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
    }

    __device__ int fetch_add(int* counter, int value) const { return atomicAdd(counter, value); }
    __device__ std::uint64_t fetch_add(std::uint64_t* counter, std::uint64_t value) const {
        return atomicAdd(reinterpret_cast<unsigned long long*>(counter), value);
    }
    /// Where it fails, `expected` becomes the present value.
    __device__ bool compare_exchange(int* counter, int& expected, int value) const {
        const int before = atomicCAS(counter, expected, value);
        const bool exchanged = before == expected;
        expected = before;
        return exchanged;
    }
    /// Between two looks at a counter.
    __device__ void pause() const {}
};

}  // namespace basalt::cuda_detail
