#include "kernels/cuda/qr_leaf.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/block_thread.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/qr_rows_block.hpp"
#include "kernels/cuda/tall_product.hpp"

namespace basalt::cuda_detail {

namespace {

constexpr int threads = leaf_threads;

/// A thread of the block, as qr_leaf_block.hpp wants it.
struct LeafThread {
    int number;
    __device__ LeafThread() : number(static_cast<int>(threadIdx.x)) {}
    __device__ void sync() const { __syncthreads(); }
    __device__ bool all(bool yes) const { return __syncthreads_and(yes) != 0; }
};

extern __shared__ __align__(16) unsigned char shared_bytes[];

template <class T>
__device__ Square<T> shared_square(int number) {
    return {reinterpret_cast<T*>(shared_bytes) + number * leaf_order * square_ld};
}

template <class T>
__global__ void __launch_bounds__(threads) factor_gram_kernel(int w, T largest_condition, QrLeafData<T> leaf) {
    __shared__ LeafShared<T> shared;
    factor_gram_block(LeafThread(), w, largest_condition, leaf, shared, shared_square<T>(0));
}

template <class T>
__global__ void __launch_bounds__(threads) reconstruct_kernel(View<T> top, View<const T> q1_top, QrLeafData<T> leaf) {
    __shared__ LeafShared<T> shared;
    reconstruct_block(LeafThread(), static_cast<int>(top.cols()), top, q1_top, leaf, shared, shared_square<T>(0),
                      shared_square<T>(1));
}

// What goes through all rows: small blocks, which find room beside other work.
constexpr int row_threads = 128;
constexpr Index rows_at_once = 16 * row_threads / row_lanes;
constexpr std::size_t row_memory = std::max(sizeof(Pair<double>) * triangle_fragments,
                                            sizeof(double) * leaf_order * square_ld);

/// A block's share of the rows.
template <class T>
__device__ View<T> own_rows(View<T> a) {
    const Index share = divide_up(divide_up(a.rows(), rows_at_once), static_cast<Index>(gridDim.x)) * rows_at_once,
                begin = min(a.rows(), share * blockIdx.x);
    return a.block(begin, 0, min(share, a.rows() - begin), a.cols());
}

template <class T>
__device__ T* own_part(T* parts, Index w) {
    return parts + static_cast<Index>(blockIdx.x) * w * w;
}

template <bool whole, class T>
__global__ void __launch_bounds__(row_threads, 2) gram_kernel(View<const T> a, T* parts) {
    __shared__ __align__(16) double memory[row_memory / sizeof(double)];
    gram_block<whole, T>(BlockThread(), own_rows(a), own_part(parts, a.cols()), {memory});
}

template <bool whole, class T>
__global__ void __launch_bounds__(row_threads, 2)
    again_kernel(View<const T> a, View<T> q1, QrLeafData<T> leaf, T* parts) {
    __shared__ __align__(16) double memory[row_memory / sizeof(double)];
    if (*leaf.way != QrLeafWay::twice) return;
    const BlockThread thread;
    auto* const x = reinterpret_cast<Pair<double>*>(memory);
    const View<T> own = own_rows(q1);
    load_triangle(thread, static_cast<int>(a.cols()), leaf.x, x);
    multiply_block<whole, T>(thread, own_rows(a), x, own);
    __syncthreads();
    gram_block<whole, T>(thread, own, own_part(parts, a.cols()), {memory});
}

template <bool whole, class T>
__global__ void __launch_bounds__(row_threads, 3) make_kernel(View<T> a, View<const T> q1, QrLeafData<T> leaf) {
    __shared__ __align__(16) double memory[row_memory / sizeof(double)];
    const QrLeafWay way = *leaf.way;
    if (way == QrLeafWay::householder) return;
    const BlockThread thread;
    auto* const x = reinterpret_cast<Pair<double>*>(memory);
    const View<T> own = own_rows(a);
    load_triangle(thread, static_cast<int>(a.cols()), leaf.x, x);
    multiply_block<whole, T>(thread, way == QrLeafWay::once ? own : own_rows(q1), x, own);
}

template <class T>
__global__ void __launch_bounds__(threads)
    place_kernel(View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    const Index w = r.cols();
    for (Index i = blockIdx.x; i < above.rows() + w; i += gridDim.x) {
        for (Index j = threadIdx.x; j < w; j += threads) {
            if (i < above.rows()) {
                r_above(i, j) = above(i, j);
                above(i, j) = T{0};
            } else {
                const Index row = i - above.rows();
                r(row, j) = leaf.r[row * w + j];
                t(row, j) = leaf.t[row * w + j];
            }
        }
    }
}

template <class T, class Kernel, class... Argument>
void launch_alone(Stream stream, const char* name, Kernel kernel, int squares, Argument... argument) {
    const std::size_t bytes = static_cast<std::size_t>(squares * leaf_order * square_ld) * sizeof(T);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute", stream);
    kernel<<<1, threads, bytes, native(stream)>>>(argument...);
    check_launch(name, stream);
}

unsigned row_blocks(Index rows, Index most) {
    return static_cast<unsigned>(std::clamp<Index>(divide_up(rows, rows_at_once), 1, most));
}

template <class T>
bool is_whole(View<const T> a) {
    return a.cols() == leaf_order && a.row_stride() % 2 == 0 &&
           reinterpret_cast<std::uintptr_t>(a.data()) % sizeof(Pair<T>) == 0;
}

}  // namespace

template <class T>
void factor_gram(Stream stream, Index rows, int w, QrLeafData<T> leaf) {
    // Columns may be so far from orthogonal: A R^-1 by the inverse then is as exact as LAPACK's ratio asks of so many
    // rows, and the second Gram matrix, which is checked too, differs from the unit matrix by the square of it times a
    // few roundings.
    const auto largest_condition = static_cast<T>(std::clamp<Index>(rows / 8, 32, 512));
    launch_alone<T>(stream, "factor_gram_kernel", factor_gram_kernel<T>, 1, w, largest_condition, leaf);
}

template <class T>
void make_gram(Stream stream, View<const T> a, QrLeafData<T> leaf, T* parts) {
    const unsigned blocks = row_blocks(a.rows(), most_gram_blocks);
    const auto kernel = is_whole<T>(a) ? gram_kernel<true, T> : gram_kernel<false, T>;
    kernel<<<blocks, row_threads, 0, native(stream)>>>(a, parts);
    check_launch("gram_kernel", stream);
    sum_parts<T>(stream, parts, blocks, View<T>::row_major(leaf.gram, a.cols(), a.cols(), a.cols()));
}

template <class T>
void orthogonalize_again(Stream stream, View<const T> a, View<T> q1, QrLeafData<T> leaf, T* parts) {
    const unsigned blocks = row_blocks(a.rows(), most_gram_blocks);
    const auto kernel = is_whole<T>(a) && is_whole<T>(q1) ? again_kernel<true, T> : again_kernel<false, T>;
    kernel<<<blocks, row_threads, 0, native(stream)>>>(a, q1, leaf, parts);
    check_launch("again_kernel", stream);
    // where it is done once these are sums of nothing, which nobody reads
    sum_parts<T>(stream, parts, blocks, View<T>::row_major(leaf.gram, a.cols(), a.cols(), a.cols()));
}

template <class T>
void reconstruct_reflectors(Stream stream, View<T> a, View<const T> q1, QrLeafData<T> leaf) {
    const Index w = a.cols();
    launch_alone<T>(stream, "reconstruct_kernel", reconstruct_kernel<T>, 2, a.block(0, 0, w, w), q1.block(0, 0, w, w),
                    leaf);
}

template <class T>
void make_reflectors(Stream stream, View<T> a, View<const T> q1, QrLeafData<T> leaf) {
    constexpr Index most_blocks = 3 * 132;  // that an H200 runs at once
    const Index w = a.cols(), rows = a.rows() - w;
    if (rows == 0) return;
    const View<T> below = a.block(w, 0, rows, w);
    const auto kernel = is_whole<T>(below) && is_whole<T>(q1) ? make_kernel<true, T> : make_kernel<false, T>;
    kernel<<<row_blocks(rows, most_blocks), row_threads, 0, native(stream)>>>(below, q1.block(w, 0, rows, w), leaf);
    check_launch("make_kernel", stream);
}

template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    place_kernel<T>
        <<<static_cast<unsigned>(above.rows() + r.rows()), threads, 0, native(stream)>>>(above, r_above, r, t, leaf);
    check_launch("place_kernel", stream);
}

template void make_gram<float>(Stream, View<const float>, QrLeafData<float>, float*);
template void factor_gram<float>(Stream, Index, int, QrLeafData<float>);
template void orthogonalize_again<float>(Stream, View<const float>, View<float>, QrLeafData<float>, float*);
template void reconstruct_reflectors<float>(Stream, View<float>, View<const float>, QrLeafData<float>);
template void make_reflectors<float>(Stream, View<float>, View<const float>, QrLeafData<float>);
template void place_leaf<float>(Stream, View<float>, View<float>, View<float>, View<float>, QrLeafData<float>);
template void make_gram<double>(Stream, View<const double>, QrLeafData<double>, double*);
template void factor_gram<double>(Stream, Index, int, QrLeafData<double>);
template void orthogonalize_again<double>(Stream, View<const double>, View<double>, QrLeafData<double>, double*);
template void reconstruct_reflectors<double>(Stream, View<double>, View<const double>, QrLeafData<double>);
template void make_reflectors<double>(Stream, View<double>, View<const double>, QrLeafData<double>);
template void place_leaf<double>(Stream, View<double>, View<double>, View<double>, View<double>, QrLeafData<double>);

}  // namespace basalt::cuda_detail
