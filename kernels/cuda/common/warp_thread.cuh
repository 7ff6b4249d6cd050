#pragma once

namespace basalt::cuda_detail {

/// A thread of a block on the GPU, for code that needs no more than its warp and barriers. Includes nothing, so that
/// the compiler at run time takes it as well.
struct WarpThread {
    int number, warp, warps, lane;

    __device__ WarpThread()
        : number(static_cast<int>(threadIdx.x)),
          warp(static_cast<int>(threadIdx.x) / 32),
          warps(static_cast<int>(blockDim.x) / 32),
          lane(static_cast<int>(threadIdx.x) % 32) {}

    __device__ void sync() const { __syncthreads(); }
    __device__ void sync_warp() const { __syncwarp(); }

    /// 1 / sqrt(x) for normal x, good to 20 bits. CUDA's own function also treats denormal numbers; that code would
    /// keep the compiler from interleaving it with other instructions.
    __device__ double reciprocal_root_estimate(double x) const {
        double y;
        asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
        return y;
    }
    __device__ float reciprocal_root_estimate(float x) const { return rsqrtf(x); }

    template <class T>
    __device__ T from_lane(T value, int source) const {
        return __shfl_sync(0xffffffffU, value, source);
    }
};

}  // namespace basalt::cuda_detail
