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

    /// 1 / x for x and a result that are normal, good to 20 bits.
    __device__ double reciprocal_estimate(double x) const {
        double y;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
        return y;
    }
    __device__ float reciprocal_estimate(float x) const {
        float y;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }

    /// Starts to bring what is there to the second cache.
    __device__ void prefetch(const void* global) const { asm volatile("prefetch.global.L2 [%0];" ::"l"(global)); }

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

    template <class T>
    __device__ T from_lane(T value, int source) const {
        return __shfl_sync(0xffffffffU, value, source);
    }

    /// One bit for each lane of the warp.
    __device__ unsigned ballot(bool own) const { return __ballot_sync(0xffffffffU, own); }
    __device__ unsigned largest_of_lanes(unsigned value) const {
#if __CUDA_ARCH__ >= 800
        return __reduce_max_sync(0xffffffffU, value);
#else
        for (int distance = 16; distance > 0; distance /= 2) value = max(value, from_lane(value, lane ^ distance));
        return value;
#endif
    }
};

}  // namespace basalt::cuda_detail
