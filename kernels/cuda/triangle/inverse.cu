#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/common/order_bits.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::native;

constexpr int base = cuda_detail::inverted_rows;   // rows of a triangle that one set of blocks inverts by substitution
constexpr int strip = cuda_detail::inverted_cols;  // columns of its inverse that a block makes: one a warp
constexpr int warp = cuda_detail::warp_threads;    // rows that are made at a time: one a lane
constexpr int rows_a_warp = warp / strip;
constexpr int base_threads = strip * warp;

/// Adds up 2 * half values over a warp's lanes; lane q gets the sum of the q-th (modulo 2 * half). In each
/// step a lane passes on half of the values it still holds.
template <int half, class T>
__device__ T sum_over_lanes(T (&values)[2 * half]) {
    const bool upper = (threadIdx.x & half) != 0;
    T kept[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
        const T passed = upper ? values[i] : values[i + half];
        kept[i] = (upper ? values[i + half] : values[i]) + __shfl_xor_sync(0xffffffffU, passed, half);
    }
    if constexpr (half == 1) {
        return kept[0];
    } else {
        return sum_over_lanes<half / 2>(kept);
    }
}

/// Substitution L X = I for `strip` columns of one of the triangles on the diagonal (blockIdx.y), 32 rows at
/// a time: X_r = L_rr^-1 (I_r - sum_{k < r} L_rk X_k). In the sums, lanes share out k, so that rows of L are
/// read once and coalesced, and each warp makes four rows; then each warp solves one column with a row a
/// lane.
template <class T>
__global__ void __launch_bounds__(base_threads) invert_base_kernel(View<const T> l, View<T> inverse, double* norms) {
    __shared__ T x[strip][base + 1];
    __shared__ T right[warp][strip + 1];
    __shared__ T diagonal[warp][warp + 1];
    const int lane = threadIdx.x % warp, own = threadIdx.x / warp;
    const Index corner = static_cast<Index>(blockIdx.y) * base;
    const int n = static_cast<int>(min(static_cast<Index>(base), l.rows() - corner));
    const int first_col = blockIdx.x * strip;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < 2) norms[threadIdx.x] = 0;
    if (first_col >= n) return;
    const auto in = l.block(corner, corner, n, n);
    const auto out = inverse.block(corner, corner, n, n);
    const int top = first_col / warp * warp;  // X is zero above
    for (int i = threadIdx.x; i < top * strip; i += base_threads) {
        if (first_col + i % strip < n) out(i / strip, first_col + i % strip) = T{0};
    }

    for (int r0 = top; r0 < n; r0 += warp) {
        for (int i = own; i < warp; i += strip) {
            diagonal[i][lane] = r0 + i < n && lane < i ? in(r0 + i, r0 + lane) : T{0};
        }
        T sums[warp] = {};
        for (int k = top + lane; k < r0; k += warp) {
            T multipliers[rows_a_warp];
#pragma unroll
            for (int i = 0; i < rows_a_warp; ++i) {
                const int row = r0 + own * rows_a_warp + i;
                multipliers[i] = row < n ? in(row, k) : T{0};
            }
#pragma unroll
            for (int c = 0; c < strip; ++c) {
                const T value = x[c][k];
#pragma unroll
                for (int i = 0; i < rows_a_warp; ++i) sums[i * strip + c] += multipliers[i] * value;
            }
        }
        const T sum = sum_over_lanes<warp / 2>(sums);
        const int row = own * rows_a_warp + lane / strip, col = lane % strip;
        right[row][col] = (r0 + row == first_col + col ? T{1} : T{0}) - sum;
        __syncthreads();

        T value = right[lane][own];
#pragma unroll 8
        for (int k = 0; k < warp - 1; ++k) {
            const T solved = __shfl_sync(0xffffffffU, value, k);
            value -= diagonal[lane][k] * solved;  // zero at and right of the diagonal
        }
        x[own][r0 + lane] = value;
        __syncthreads();
        if (r0 + row < n && first_col + col < n) out(r0 + row, first_col + col) = x[col][r0 + row];
    }
}

/// Zeros right of the diagonal and the norms, a warp of columns a block. The largest of numbers that are not
/// negative is that of their bit patterns as integers, NaN above all, whatever the order in which blocks
/// come.
template <class T>
__global__ void __launch_bounds__(warp* warp) finish_kernel(View<T> inverse, double* norms) {
    __shared__ double sums[warp][warp];
    __shared__ double largest[warp][warp];
    const int lane = threadIdx.x, own = threadIdx.y;
    const Index col = static_cast<Index>(blockIdx.x) * warp + lane;
    double sum = 0;
    unsigned long long found = 0;
    for (Index row = own; row < inverse.rows() && col < inverse.cols(); row += warp) {
        if (row < col) {
            inverse(row, col) = T{0};
        } else {
            const double magnitude = fabs(static_cast<double>(inverse(row, col)));
            sum += magnitude;
            found = max(found, cuda_detail::order_bits(magnitude));
        }
    }
    sums[own][lane] = sum;
    largest[own][lane] = cuda_detail::from_order_bits(found);
    __syncthreads();
    if (own != 0) return;
    for (int i = 1; i < warp; ++i) {
        sum += sums[i][lane];
        found = max(found, cuda_detail::order_bits(largest[i][lane]));
    }
    cuda_detail::raise_to(&norms[0], found);
    cuda_detail::raise_to(&norms[1], cuda_detail::order_bits(sum));
}

/// Joins neighbouring inverses of `half` rows each. L21 L11^-1 waits, transposed, in the block right of the
/// diagonal.
template <class T>
void join(Stream stream, View<const T> l, View<T> inverse, Index first, Index half, Index lower, Index pairs) {
    using cuda_detail::Batched;
    using cuda_detail::batched_gemm;
    const auto at = [&](auto matrix, Index row, Index rows, Index col, Index cols, bool transposed = false) {
        using Element = std::remove_pointer_t<decltype(matrix.data())>;
        return Batched<Element>{matrix.block(first + row, first + col, rows, cols),
                                2 * half * (matrix.row_stride() + 1), transposed};
    };
    const View<const T> made = inverse;
    batched_gemm<T>(stream, pairs, 1, at(made, 0, half, 0, half, true), at(l, half, lower, 0, half, true), 0,
                    at(inverse, 0, half, half, lower));
    batched_gemm<T>(stream, pairs, -1, at(made, half, lower, half, lower), at(made, 0, half, half, lower, true), 0,
                    at(inverse, half, lower, 0, half));
}

/// What waited there is gone: before the joined inverses become operands themselves.
template <class T>
void clear_waiting(Stream stream, View<T> inverse, Index first, Index half, Index lower, Index pairs) {
    for (Index p = 0; p < pairs; ++p, first += 2 * half) {
        T* const used = &inverse(first, first + half);
        cuda_detail::check(cudaMemset2DAsync(used, sizeof(T) * static_cast<std::size_t>(inverse.row_stride()), 0,
                                             sizeof(T) * static_cast<std::size_t>(lower),
                                             static_cast<std::size_t>(half), native(stream)),
                           "cudaMemset2DAsync", stream);
    }
}

}  // namespace

template <class T>
void run_on_gpu(InvertUnitLower<T>, Stream stream, View<const T> l, View<T> inverse, double* norms) {
    const Index n = l.rows();
    assert(l.cols() == n && inverse.rows() == n && inverse.cols() == n);
    invert_base_kernel<T>
        <<<cuda_detail::blocks(cuda_detail::inverse_grid(n)), base_threads, 0, native(stream)>>>(l, inverse, norms);
    cuda_detail::check_launch("invert_base_kernel", stream);
    for (Index half = base; half < n; half *= 2) {
        const Index pairs = n / (2 * half), joined = pairs * 2 * half, lower = n - joined - half;
        const bool last = 2 * half >= n;
        join<T>(stream, l, inverse, 0, half, half, pairs);
        if (!last) clear_waiting(stream, inverse, 0, half, half, pairs);
        if (lower <= 0) continue;
        join<T>(stream, l, inverse, joined, half, lower, 1);
        if (!last) clear_waiting(stream, inverse, joined, half, lower, 1);
    }
    if (n == 0) return;
    finish_kernel<T><<<cuda_detail::blocks(cuda_detail::inverse_norms_grid(n)), dim3(warp, warp), 0, native(stream)>>>(
        inverse, norms);
    cuda_detail::check_launch("finish_kernel", stream);
}

template <>
const InvertUnitLower<float>::Gpu Code<InvertUnitLower<float>>::gpu = gpu_code<InvertUnitLower<float>>;
template <>
const InvertUnitLower<double>::Gpu Code<InvertUnitLower<double>>::gpu = gpu_code<InvertUnitLower<double>>;

}  // namespace basalt::on_stream
