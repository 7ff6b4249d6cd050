#pragma once

/// The barrier of all threads of a cluster, in two halves. After waiting, all threads see the writes before
/// any arrival, and may overwrite memory that others read before they arrived.
namespace basalt::cuda_detail {

__device__ inline void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace basalt::cuda_detail
