#pragma once

/// The barrier of all threads of a cluster, in two halves. After waiting, all threads see the writes before
/// any arrival, and may overwrite memory that others read before they arrived.
namespace basalt::cuda_detail {

__device__ inline void arrive_in_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// Until the kernel in front of this one in its stream has ended, and what it wrote can be read, see follow_closely().
__device__ inline void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
/// From now on the next kernel of the stream may be launched, if it follows closely: blocks of it that find room wait.
__device__ inline void let_next_kernel_launch() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

}  // namespace basalt::cuda_detail
