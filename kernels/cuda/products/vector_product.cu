#include "kernels/cuda/products/vector_product.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::native;

constexpr int warp = cuda_detail::warp_threads;
constexpr int warps = cuda_detail::product_warps;
constexpr int rows_a_warp = cuda_detail::product_rows_a_warp;  // an element of x is loaded once for all of them
constexpr int solved_rows = 64;

/// A warp takes some rows; vectors are numbered in blockIdx.y.
template <MatrixPart part, class T, class V>
__global__ void __launch_bounds__(warp* warps)
    product_kernel(View<const T> a, Index diagonal, View<const V> x, View<V> y) {
    const int lane = threadIdx.x % warp;
    const Index first = (static_cast<Index>(blockIdx.x) * warps + threadIdx.x / warp) * rows_a_warp;
    if (first >= a.rows()) return;
    const Index on_diagonal = min(max(first + diagonal, Index{0}), a.cols());
    const Index begin = part == MatrixPart::upper ? on_diagonal / warp * warp : 0;
    const Index end = part == MatrixPart::strictly_lower
                          ? min(max(first + rows_a_warp - 1 + diagonal, Index{0}), a.cols())
                          : a.cols();
    V sums[rows_a_warp] = {};
    for (Index c = begin + lane; c < end; c += warp) {
        const V factor = x(c, blockIdx.y);
#pragma unroll
        for (int q = 0; q < rows_a_warp; ++q) {
            const Index i = first + q;
            if (i >= a.rows()) continue;
            if (part == MatrixPart::upper && c < i + diagonal) continue;
            if (part == MatrixPart::strictly_lower && c >= i + diagonal) continue;
            const V element = a(i, c);
            sums[q] += (part == MatrixPart::magnitudes ? fabs(element) : element) * factor;
        }
    }
#pragma unroll
    for (int q = 0; q < rows_a_warp; ++q) {
        for (int half = warp / 2; half > 0; half /= 2) sums[q] += __shfl_down_sync(0xffffffffU, sums[q], half);
        if (lane == 0 && first + q < a.rows()) y(first + q, blockIdx.y) -= sums[q];
    }
}

template <MatrixPart part, class T, class V>
void launch_product(Stream stream, View<const T> a, Index diagonal, View<const V> x, View<V> y) {
    cuda_detail::in_parts(y.cols(), cuda_detail::most_blocks_yz, [&](Index first, Index vectors) {
        const auto blocks = cuda_detail::blocks(cuda_detail::vector_product_grid(a.rows(), vectors));
        product_kernel<part, T, V><<<blocks, warp * warps, 0, native(stream)>>>(
            a, diagonal, x.block(0, first, x.rows(), vectors), y.block(0, first, y.rows(), vectors));
        cuda_detail::check_launch("product_kernel", stream);
    });
}

/// X = U^-1 X for at most solved_rows rows: a thread a row, a block a column of X.
template <class T>
__global__ void __launch_bounds__(solved_rows) solve_block_kernel(View<const T> u, View<T> x) {
    __shared__ T triangle[solved_rows][solved_rows + 1];
    __shared__ T solved[2];
    const int rows = static_cast<int>(u.rows()), i = threadIdx.x;
    for (int r = 0; r < rows && i < rows; ++r) triangle[r][i] = u(r, i);
    T mine = i < rows ? x(i, blockIdx.x) : T(0);
    __syncthreads();
    for (int k = rows - 1; k >= 0; --k) {
        // two places in turn: all threads have read the former one when they pass the barrier below
        if (i == k) solved[k % 2] = mine = mine / triangle[k][k];
        __syncthreads();
        if (i < k) mine -= triangle[i][k] * solved[k % 2];
    }
    if (i < rows) x(i, blockIdx.x) = mine;
}

}  // namespace

template <class T, class V>
void run_on_gpu(SubtractProduct<T, V>, Stream stream, View<const T> a, MatrixPart part, Index diagonal, View<const V> x,
                View<V> y) {
    assert(a.rows() == y.rows() && a.cols() == x.rows() && x.cols() == y.cols());
    assert(a.col_stride() == 1 || a.cols() <= 1);
    if (a.empty() || y.empty()) return;
    switch (part) {
        case MatrixPart::all: return launch_product<MatrixPart::all, T, V>(stream, a, diagonal, x, y);
        case MatrixPart::upper: return launch_product<MatrixPart::upper, T, V>(stream, a, diagonal, x, y);
        case MatrixPart::strictly_lower:
            return launch_product<MatrixPart::strictly_lower, T, V>(stream, a, diagonal, x, y);
        case MatrixPart::magnitudes: return launch_product<MatrixPart::magnitudes, T, V>(stream, a, diagonal, x, y);
    }
}

template <>
const SubtractProduct<float, float>::Gpu Code<SubtractProduct<float, float>>::gpu =
    gpu_code<SubtractProduct<float, float>>;
template <>
const SubtractProduct<float, double>::Gpu Code<SubtractProduct<float, double>>::gpu =
    gpu_code<SubtractProduct<float, double>>;
template <>
const SubtractProduct<double, double>::Gpu Code<SubtractProduct<double, double>>::gpu =
    gpu_code<SubtractProduct<double, double>>;

}  // namespace basalt::on_stream

namespace basalt::cuda_detail {

template <class T>
void solve_upper(Stream stream, std::type_identity_t<View<const T>> u, View<T> x) {
    assert(u.rows() == u.cols() && u.rows() == x.rows());
    if (x.empty()) return;
    for (Index end = u.rows(); end > 0;) {
        const Index first = (end - 1) / on_stream::solved_rows * on_stream::solved_rows, rows = end - first;
        const View<T> part = x.block(first, 0, rows, x.cols());
        on_stream::solve_block_kernel<T>
            <<<cuda_detail::blocks(cuda_detail::solve_block_grid(x.cols())), on_stream::solved_rows, 0,
               native(stream)>>>(u.block(first, first, rows, rows), part);
        cuda_detail::check_launch("solve_block_kernel", stream);
        on_stream::subtract_product<T, T>(stream, u.block(0, first, first, rows), MatrixPart::all, 0, part,
                                          x.block(0, 0, first, x.cols()));
        end = first;
    }
}

template void solve_upper<float>(Stream, View<const float>, View<float>);
template void solve_upper<double>(Stream, View<const double>, View<double>);

}  // namespace basalt::cuda_detail
