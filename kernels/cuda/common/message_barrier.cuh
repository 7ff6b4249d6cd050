#pragma once

#include <cstdint>

#include "kernels/cuda/common/block_thread.cuh"

/// Barriers in shared memory that count arrivals and the bytes that other blocks of a cluster write (mbarrier). A
/// message goes one way; a waiting thread sees it as soon as it has arrived.
namespace basalt::cuda_detail {

/// The address in another block of the cluster that corresponds to `address` in this one.
__device__ inline unsigned remote_address(unsigned address, int block) {
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
    return there;
}

/// By one thread, before the cluster meets.
__device__ inline void prepare_barrier(std::uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
/// By all threads after prepare_barrier().
__device__ inline void show_barriers_to_cluster() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Waiting threads see the writes of this thread, and those that it has seen of others.
__device__ inline void arrive_at(std::uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
/// The same; the barrier also waits until other blocks have written `bytes` bytes.
__device__ inline void arrive_and_expect(std::uint64_t* barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

/// By all lanes of a warp. Acquired for the block, whose shared memory is all that is read: for the cluster it would
/// also empty the first cache of the device's memory, each time. Uniform, since a warp's lanes ask the same barrier at
/// once.
__device__ inline void wait_at(const std::uint64_t* barrier, unsigned phase) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tAGAIN_%=:\n\t"
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n\t"
        "@!p bra.uni AGAIN_%=;\n\t}" ::"r"(shared_address(barrier)),
        "r"(phase)
        : "memory");
}

/// 16 bytes to another block, which count on a barrier there.
__device__ inline void send(unsigned to, uint4 word, unsigned barrier) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
        "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "r"(barrier)
        : "memory");
}

}  // namespace basalt::cuda_detail
