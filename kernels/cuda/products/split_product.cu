#include <algorithm>
#include <cassert>
#include <cstdint>

#include <cublas_v2.h>
#include <cuda_bf16.h>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::check;
using cuda_detail::divide_up;

constexpr int threads = cuda_detail::split_threads;
constexpr int rows_a_block = cuda_detail::split_rows;

/// Where slices are stored: element (row, col) of slice p of the l-th matrix is at[l * batch + p * slice + row * ld +
/// col].
struct Slices {
    __nv_bfloat16* at;
    Index ld, slice, batch;
};

/// The nearest number of 8 bits, but never infinity where x is not.
__device__ __nv_bfloat16 slice_of(float x) {
    const __nv_bfloat16 nearest = __float2bfloat16_rn(x);
    return isinf(__bfloat162float(nearest)) && !isinf(x) ? __float2bfloat16_rz(x) : nearest;
}

__device__ void split(float x, __nv_bfloat16 (&slices)[split_slices]) {
    float left = x;
#pragma unroll
    for (int p = 0; p < split_slices; ++p) {
        slices[p] = slice_of(left);
        // infinity and NaN leave no remainder
        left = isfinite(x) ? (left - __bfloat162float(slices[p])) * split_step : 0.0F;
    }
}

/// `pack` neighbours at once: addresses and strides are multiples of it.
template <int pack>
__global__ void __launch_bounds__(threads)
    split_kernel(TileColumns<const float> from, Slices to, Index segments_a_row) {
    const Index l = blockIdx.x / segments_a_row;
    const Index col = (blockIdx.x % segments_a_row * threads + threadIdx.x) * pack;
    if (col >= from.width) return;
    for (Index first = static_cast<Index>(blockIdx.y) * rows_a_block; first < from.rows;
         first += static_cast<Index>(gridDim.y) * rows_a_block) {
        alignas(16) float x[rows_a_block][pack];
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r >= from.rows) continue;
            const float* const at = from.data + l * from.stride + (first + r) * from.ld + col;
            if constexpr (pack == 4) {
                *reinterpret_cast<float4*>(x[r]) = *reinterpret_cast<const float4*>(at);
            } else {
                x[r][0] = *at;
            }
        }
#pragma unroll
        for (int r = 0; r < rows_a_block; ++r) {
            if (first + r >= from.rows) continue;
            __nv_bfloat16 of[pack][split_slices];
#pragma unroll
            for (int c = 0; c < pack; ++c) split(x[r][c], of[c]);
#pragma unroll
            for (int p = 0; p < split_slices; ++p) {
                __nv_bfloat16* const at = to.at + l * to.batch + p * to.slice + (first + r) * to.ld + col;
                alignas(8) __nv_bfloat16 side_by_side[pack];
#pragma unroll
                for (int c = 0; c < pack; ++c) side_by_side[c] = of[c][p];
                if constexpr (pack == 4) {
                    *reinterpret_cast<uint2*>(at) = *reinterpret_cast<const uint2*>(side_by_side);
                } else {
                    *at = side_by_side[0];
                }
            }
        }
    }
}

void split(Stream stream, const TileColumns<const float>& from, const Slices& to) {
    constexpr int pack = 4;
    const auto even = [](Index stride) { return stride % pack == 0; };
    const bool packed = reinterpret_cast<std::uintptr_t>(from.data) % 16 == 0 && even(from.ld) && even(from.width) &&
                        even(from.stride) && even(to.ld) && even(to.slice) && even(to.batch);
    const Index neighbours = packed ? pack : 1, segments = divide_up(from.width, threads * neighbours);
    const auto grid = cuda_detail::split_grid(from.columns, from.rows, from.width, neighbours);
    const auto kernel = packed ? split_kernel<pack> : split_kernel<1>;
    kernel<<<cuda_detail::blocks(grid), threads, 0, cuda_detail::native(stream)>>>(from, to, segments);
    cuda_detail::check_launch("split_kernel", stream);
}

/// update_by_slices() for a depth of at most split_depth.
void update_by_short_slices(Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                            void* workspace) {
    const Index m = l.rows(), k = l.cols(), n = u.width;
    const bool transposed = l.col_stride() != 1;
    // slices of L follow each other along the depth, where the next one is `step` further
    const Index step = transposed ? k * m : k, ld = transposed ? m : split_slices * k;
    auto* const of_l = static_cast<__nv_bfloat16*>(workspace);
    auto* const of_u = of_l + split_workspace(m, k, 0) / sizeof(__nv_bfloat16);
    const View<const float> stored = transposed ? View<const float>::row_major(l.data(), k, m, l.col_stride()) : l;
    split(stream, one_tile_column(stored), {of_l + (split_slices - 1) * step, ld, -step, 0});
    split(stream, u, {of_u, n, k * n, split_slices * k * n});

    constexpr float one = 1;
    float alpha = -1 / (split_step * split_step);
    for (int depth = split_slices; depth > 0; --depth, alpha *= split_step) {
        // the last `depth` slices of L, which are L_depth .. L_1, by U_1 .. U_depth
        const __nv_bfloat16* const l_slices = of_l + (split_slices - depth) * step;
        check(cublasGemmStridedBatchedEx(
                  static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_N, transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                  static_cast<int>(n), static_cast<int>(m), static_cast<int>(depth * k), &alpha, of_u, CUDA_R_16BF,
                  static_cast<int>(n), split_slices * k * n, l_slices, CUDA_R_16BF, static_cast<int>(ld), 0, &one,
                  c.data, CUDA_R_32F, static_cast<int>(c.ld), c.stride, static_cast<int>(c.columns), CUBLAS_COMPUTE_32F,
                  CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx", stream);
    }
}

}  // namespace

void run_on_gpu(UpdateBySlices, Stream stream, View<const float> l, TileColumns<const float> u, TileColumns<float> c,
                void* workspace) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    if (c.empty()) return;
    for (Index first = 0; first < l.cols(); first += split_depth) {
        const Index depth = std::min(split_depth, l.cols() - first);
        update_by_short_slices(stream, l.block(0, first, l.rows(), depth), u.row_range(first, depth), c, workspace);
    }
}

void run_on_gpu(SubtractTransposedProductBySlices, Stream stream, View<const float> a, View<const float> b,
                View<float> c, void* workspace) {
    assert(a.rows() == c.rows() && b.rows() == c.cols() && a.cols() == b.cols());
    const Index m = a.rows(), k = a.cols(), n = b.rows(), ld = split_slices * k;
    if (c.empty() || k == 0) return;
    auto* const of_a = static_cast<__nv_bfloat16*>(workspace);
    auto* const of_b = of_a + split_workspace(m, k, 0) / sizeof(__nv_bfloat16);
    split(stream, one_tile_column(a), {of_a + (split_slices - 1) * k, ld, -k, 0});
    split(stream, one_tile_column(b), {of_b, ld, k, 0});

    constexpr float one = 1;
    float alpha = -1 / (split_step * split_step);
    for (int depth = split_slices; depth > 0; --depth, alpha *= split_step) {
        // the last `depth` slices in a row of A, which are A_depth .. A_1, by the first in a row of B
        check(cublasGemmEx(static_cast<cublasHandle_t>(stream.blas()), CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(n),
                           static_cast<int>(m), static_cast<int>(depth * k), &alpha, of_b, CUDA_R_16BF,
                           static_cast<int>(ld), of_a + (split_slices - depth) * k, CUDA_R_16BF, static_cast<int>(ld),
                           &one, c.data(), CUDA_R_32F, static_cast<int>(c.row_stride()), CUBLAS_COMPUTE_32F,
                           CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx", stream);
    }
}

template <>
const UpdateBySlices::Gpu Code<UpdateBySlices>::gpu = gpu_code<UpdateBySlices>;
template <>
const SubtractTransposedProductBySlices::Gpu Code<SubtractTransposedProductBySlices>::gpu =
    gpu_code<SubtractTransposedProductBySlices>;

}  // namespace basalt::on_stream
