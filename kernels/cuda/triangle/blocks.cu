#include <cassert>
#include <cstdint>

#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/triangle/whole.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/substitution.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::native;

constexpr int order_of_blocks = static_cast<int>(substituted_block);
constexpr int warp = cuda_detail::warp_threads;

/// A thread block inverts a block, each thread one column of it, which it keeps in shared memory: no thread waits for
/// another, and the elements of the block are loaded ahead.
template <class T>
__global__ void __launch_bounds__(order_of_blocks)
    invert_blocks_kernel(bool lower, bool unit, View<const T> t, View<T> inverses) {
    extern __shared__ __align__(16) unsigned char raw[];
    const Index first = static_cast<Index>(blockIdx.x) * order_of_blocks;
    const int n = static_cast<int>(min(static_cast<Index>(order_of_blocks), t.rows() - first)), j = threadIdx.x;
    const View<const T> block = t.block(first, first, n, n);
    const View<T> inverse = inverses.block(first, 0, n, order_of_blocks);
    T* const own = reinterpret_cast<T*>(raw) + j;  // element i is order_of_blocks * i further
    for (int step = 0; step < n; ++step) {
        const int i = lower ? step : n - 1 - step;
        const T pivot = unit ? T(1) : block(i, i);
        T sum = i == j ? T(-1) : T(0);
        const bool inside = (lower ? i >= j : i <= j) && j < n;
        const int begin = lower ? j : i + 1, end = inside ? (lower ? i : j + 1) : begin;
#pragma unroll 8
        for (int p = begin; p < end; ++p) sum += __ldg(&block(i, p)) * own[p * order_of_blocks];
        const T element = inside ? -sum / pivot : T(0);
        own[i * order_of_blocks] = element;
        inverse(i, j) = element;
    }
}

static_assert(cuda_detail::whole_order == substituted_block);
static_assert(whole_workspace<float>(1, 1) == cuda_detail::WholeExchange<float>::words(1) * sizeof(std::uint64_t));
static_assert(whole_workspace<double>(1, 1) == cuda_detail::WholeExchange<double>::words(1) * sizeof(std::uint64_t));

/// Two thread blocks a multiprocessor in single precision: one waits for its elements while the other computes.
template <MatrixOp op, class T>
__global__ void __launch_bounds__(warp* cuda_detail::whole_warps, sizeof(T) == 4 ? 2 : 1)
    whole_kernel(Triangle side, const __grid_constant__ TriangleColumns<T> t, View<T> x, std::uint64_t* exchange) {
    extern __shared__ __align__(16) unsigned char raw[];
    const cuda_detail::BlockThread thread;
    cuda_detail::WholeSubstitution<op, T, cuda_detail::BlockThread>(
        thread, *reinterpret_cast<cuda_detail::WholeMemory<T>*>(raw), t, side, &x(0, blockIdx.y), x.row_stride(),
        exchange + blockIdx.y * cuda_detail::WholeExchange<T>::words(t.order))
        .run();
}

template <MatrixOp op, class T>
void launch_whole(Stream stream, Triangle side, const TriangleColumns<T>& t, View<T> x, std::uint64_t* exchange) {
    const int blocks = cuda_detail::whole_blocks(t.order, t.width);
    constexpr std::size_t bytes = sizeof(cuda_detail::WholeMemory<T>);
    cuda_detail::allow_shared(reinterpret_cast<const void*>(whole_kernel<op, T>), bytes, stream);
    cuda_detail::in_parts(x.cols(), cuda_detail::most_blocks_yz, [&](Index c, Index vectors) {
        whole_kernel<op, T><<<cuda_detail::blocks(cuda_detail::whole_grid(blocks, vectors)),
                              warp * cuda_detail::whole_warps, bytes, native(stream)>>>(
            side, t, x.block(0, c, x.rows(), vectors), exchange + c * cuda_detail::WholeExchange<T>::words(t.order));
        cuda_detail::check_launch("whole_kernel", stream);
    });
}

}  // namespace

template <class T>
void run_on_gpu(InvertDiagonalBlocks<T>, Stream stream, Triangle triangle, Diagonal diagonal, View<const T> t,
                View<T> inverses) {
    assert(t.rows() == t.cols() && inverses.rows() == t.rows() && inverses.cols() == substituted_block);
    if (t.empty()) return;
    constexpr std::size_t bytes = std::size_t{order_of_blocks} * order_of_blocks * sizeof(T);
    cuda_detail::allow_shared(reinterpret_cast<const void*>(invert_blocks_kernel<T>), bytes, stream);
    invert_blocks_kernel<T>
        <<<cuda_detail::blocks(cuda_detail::inverted_blocks_grid(t.rows(), substituted_block)), order_of_blocks, bytes,
           native(stream)>>>(triangle == Triangle::lower, diagonal == Diagonal::unit, t, inverses);
    cuda_detail::check_launch("invert_blocks_kernel", stream);
}

template <class T>
void run_on_gpu(SubstituteWhole<T>, Stream stream, Triangle triangle, MatrixOp op, const TriangleColumns<T>& t,
                View<T> x, void* workspace) {
    assert(t.order == x.rows());
    if (x.empty()) return;
    cuda_detail::check(cudaMemsetAsync(workspace, 0, whole_workspace<T>(t.order, x.cols()), native(stream)),
                       "cudaMemsetAsync", stream);
    auto* const exchange = static_cast<std::uint64_t*>(workspace);
    if (op == MatrixOp::plain) {
        launch_whole<MatrixOp::plain>(stream, triangle, t, x, exchange);
    } else {
        launch_whole<MatrixOp::transposed>(stream, triangle, t, x, exchange);
    }
}

template <>
const InvertDiagonalBlocks<float>::Gpu Code<InvertDiagonalBlocks<float>>::gpu = gpu_code<InvertDiagonalBlocks<float>>;
template <>
const InvertDiagonalBlocks<double>::Gpu Code<InvertDiagonalBlocks<double>>::gpu =
    gpu_code<InvertDiagonalBlocks<double>>;
template <>
const SubstituteWhole<float>::Gpu Code<SubstituteWhole<float>>::gpu = gpu_code<SubstituteWhole<float>>;
template <>
const SubstituteWhole<double>::Gpu Code<SubstituteWhole<double>>::gpu = gpu_code<SubstituteWhole<double>>;

}  // namespace basalt::on_stream
