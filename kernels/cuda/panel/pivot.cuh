#pragma once

#include <limits>

#include <cuda_runtime.h>

#include <basalt/view.hpp>

/// The search for a pivot and the scaling by it, as LAPACK does them.
namespace basalt::cuda_detail {

/// An element that may become the pivot. The largest magnitude wins, among equals the first row.
template <class T>
struct Candidate {
    T magnitude;
    Index row;

    /// Loses against every element but a NaN below the diagonal.
    static __device__ Candidate none() { return {T{-1}, std::numeric_limits<Index>::max()}; }

    /// idamax starts from the diagonal, and finds nothing larger than a NaN: there it beats all, elsewhere none.
    static __device__ Candidate of(T value, Index row, Index diagonal) {
        if (isnan(value)) return {row == diagonal ? std::numeric_limits<T>::infinity() : T{-1}, row};
        return {fabs(value), row};
    }

    __device__ bool beats(const Candidate& other) const {
        return magnitude > other.magnitude || (magnitude == other.magnitude && row < other.row);
    }
};

/// The best of a warp's candidates, on all its lanes.
template <class T>
__device__ Candidate<T> best_of_warp(Candidate<T> own) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const Candidate<T> other{__shfl_xor_sync(0xffffffffU, own.magnitude, distance),
                                 __shfl_xor_sync(0xffffffffU, own.row, distance)};
        if (other.beats(own)) own = other;
    }
    return own;
}

/// The best of a block's candidates, on all its threads. Synchronises once; between two calls the caller does.
template <int threads, class T>
__device__ Candidate<T> best_of_block(Candidate<T> own) {
    constexpr int lanes = 32, warps = threads / lanes;
    static_assert(threads % lanes == 0 && warps <= lanes);
    __shared__ Candidate<T> of_warps[warps];
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    own = best_of_warp(own);
    if (lane == 0) of_warps[threadIdx.x / lanes] = own;
    __syncthreads();
    return best_of_warp(lane < warps ? of_warps[lane] : Candidate<T>::none());
}

/// Turns a column into multipliers. It stays as it is below a pivot of zero; otherwise it is multiplied by the
/// reciprocal, but for a denormal pivot, whose reciprocal may overflow where the quotients do not.
template <class T>
class Scaling {
  public:
    explicit __device__ Scaling(T pivot)
        : divides_(pivot != T{0} && !(fabs(pivot) >= std::numeric_limits<T>::min())),
          factor_(divides_        ? pivot
                  : pivot == T{0} ? T{1}
                                  : T{1} / pivot) {}

    __device__ T operator()(T value) const { return divides_ ? quotient(value, factor_) : value * factor_; }

  private:
    /// Not inlined: it is hardly ever called, and callers unroll.
    static __device__ __noinline__ T quotient(T value, T pivot) { return value / pivot; }

    bool divides_;
    T factor_;
};

}  // namespace basalt::cuda_detail
