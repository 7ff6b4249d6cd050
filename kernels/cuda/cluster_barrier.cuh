#pragma once

/// The barrier of all threads of a cluster, in two halves: what they wrote before arriving is seen by all behind
/// waiting, and what they read before may be written then.
namespace basalt::cuda_detail {

__device__ inline void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace basalt::cuda_detail
