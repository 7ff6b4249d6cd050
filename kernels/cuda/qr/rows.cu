// Kernels that go through all rows of a leaf: of small blocks, which find room while other kernels run.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/qr/leaf.hpp"
#include "kernels/cuda/qr/rows_block.hpp"
#include "kernels/cuda/qr/tall_product.hpp"

namespace basalt::cuda_detail {

namespace {

extern __shared__ __align__(16) unsigned char shared_bytes[];

constexpr int row_threads = 128;
constexpr Index rows_at_once = 16 * row_threads / row_lanes;

/// Blocks that a multiprocessor has at once: of the kernels that make Gram matrices, and of make_kernel.
constexpr int gram_blocks = 2;
constexpr int make_blocks(int order) { return order == leaf_order ? 3 : 2; }

/// Bytes that a block shares: a triangle, or what its Gram matrix takes.
constexpr std::size_t row_bytes(int order) {
    const std::size_t triangle = sizeof(Pair<double>) * static_cast<std::size_t>(triangle_fragments(order)),
                      sums = sizeof(double) * leaf_order * square_ld,
                      staged = sizeof(double) * WideStage<double>::elements;
    return std::max(triangle, order == leaf_order ? sums : staged);
}
__device__ Pair<double>* shared_triangle() { return reinterpret_cast<Pair<double>*>(shared_bytes); }

/// A block's share of the rows.
template <class T>
__device__ View<T> own_rows(View<T> a) {
    const Index share = divide_up(divide_up(a.rows(), rows_at_once), static_cast<Index>(gridDim.x)) * rows_at_once,
                begin = min(a.rows(), share * blockIdx.x);
    return a.block(begin, 0, min(share, a.rows() - begin), a.cols());
}

template <int order, bool whole, class T>
__device__ void own_gram(const BlockThread& thread, View<const T> own, T* parts) {
    T* const part = parts + static_cast<Index>(blockIdx.x) * own.cols() * own.cols();
    if constexpr (order == leaf_order) {
        gram_block<whole, T>(thread, own, part, {reinterpret_cast<double*>(shared_bytes)});
    } else {
        wide_gram_block<whole, T>(thread, own, part, WideStage<T>{reinterpret_cast<T*>(shared_bytes)});
    }
}

template <int order, bool whole, class T>
__global__ void __launch_bounds__(row_threads, gram_blocks) gram_kernel(View<const T> a, T* parts) {
    own_gram<order, whole, T>(BlockThread(), own_rows(a), parts);
}

template <int order, bool whole, class T>
__global__ void __launch_bounds__(row_threads, gram_blocks)
    again_kernel(View<const T> a, View<T> q1, QrLeafData<T> leaf, T* parts) {
    if (*leaf.way != QrLeafWay::twice) return;
    const BlockThread thread;
    const View<T> own = own_rows(q1);
    load_triangle<order>(thread, static_cast<int>(a.cols()), leaf.x, shared_triangle());
    multiply_block<order, whole, T>(thread, own_rows(a), shared_triangle(), own);
    __syncthreads();
    own_gram<order, whole, T>(thread, own, parts);
}

template <int order, bool whole, class T>
__global__ void __launch_bounds__(row_threads, make_blocks(order))
    make_kernel(View<T> a, View<const T> q1, QrLeafData<T> leaf) {
    const QrLeafWay way = *leaf.way;
    if (way == QrLeafWay::householder) return;
    const BlockThread thread;
    const View<T> own = own_rows(a);
    load_triangle<order>(thread, static_cast<int>(a.cols()), leaf.x, shared_triangle());
    multiply_block<order, whole, T>(thread, way == QrLeafWay::once ? own : own_rows(q1), shared_triangle(), own);
}

/// Blocks for so tall a leaf, of which a multiprocessor has `at_once` at the same time.
Grid row_blocks(Index rows, Stream stream, Index at_once) {
    return shared_rows_grid(rows, rows_at_once, at_once * stream.context()->multiprocessors);
}

/// kernels(order, whole): the kernel for leaves of at most `order` columns; `whole`: of exactly that many, with aligned
/// pairs.
template <class Kernels, class... Argument>
void launch_on_rows(Stream stream, const char* name, const Grid& grid, Index cols, bool whole, const Kernels& kernels,
                    Argument... argument) {
    const auto launch = [&](auto order) {
        constexpr std::size_t bytes = row_bytes(order);
        const auto kernel =
            whole && cols == order ? kernels(order, std::true_type()) : kernels(order, std::false_type());
        allow_shared(reinterpret_cast<const void*>(kernel), bytes, stream);
        kernel<<<blocks(grid), row_threads, bytes, native(stream)>>>(argument...);
    };
    if (cols <= leaf_order) {
        launch(std::integral_constant<int, leaf_order>());
    } else {
        launch(std::integral_constant<int, wide_order>());
    }
    check_launch(name, stream);
}

template <class T>
bool has_aligned_pairs(View<T> a) {
    return a.row_stride() % 2 == 0 && reinterpret_cast<std::uintptr_t>(a.data()) % sizeof(Pair<T>) == 0;
}

}  // namespace

Index gram_workspace(Index cols, int multiprocessors) { return Index{gram_blocks} * multiprocessors * cols * cols; }

template <class T>
void make_gram(Stream stream, View<const T> a, QrLeafData<T> leaf, T* parts) {
    const Grid grid = row_blocks(a.rows(), stream, gram_blocks);
    launch_on_rows(
        stream, "gram_kernel", grid, a.cols(), has_aligned_pairs(a),
        [](auto order, auto whole) { return gram_kernel<order, whole, T>; }, a, parts);
    sum_parts<T>(stream, parts, grid.x, View<T>::row_major(leaf.gram, a.cols(), a.cols(), a.cols()));
}

template <class T>
void orthogonalize_again(Stream stream, View<const T> a, View<T> q1, QrLeafData<T> leaf, T* parts) {
    const Grid grid = row_blocks(a.rows(), stream, gram_blocks);
    launch_on_rows(
        stream, "again_kernel", grid, a.cols(), has_aligned_pairs(a) && has_aligned_pairs(q1),
        [](auto order, auto whole) { return again_kernel<order, whole, T>; }, a, q1, leaf, parts);
    // where it is done once these are the first one's parts again
    sum_parts<T>(stream, parts, grid.x, View<T>::row_major(leaf.gram, a.cols(), a.cols(), a.cols()));
}

template <class T>
void make_reflectors(Stream stream, View<T> below, View<const T> q1, QrLeafData<T> leaf) {
    if (below.empty()) return;
    const int at_once = make_blocks(below.cols() <= leaf_order ? leaf_order : wide_order);
    launch_on_rows(
        stream, "make_kernel", row_blocks(below.rows(), stream, at_once), below.cols(),
        has_aligned_pairs(below) && has_aligned_pairs(q1),
        [](auto order, auto whole) { return make_kernel<order, whole, T>; }, below, q1, leaf);
}

template void make_gram<float>(Stream, View<const float>, QrLeafData<float>, float*);
template void orthogonalize_again<float>(Stream, View<const float>, View<float>, QrLeafData<float>, float*);
template void make_reflectors<float>(Stream, View<float>, View<const float>, QrLeafData<float>);
template void make_gram<double>(Stream, View<const double>, QrLeafData<double>, double*);
template void orthogonalize_again<double>(Stream, View<const double>, View<double>, QrLeafData<double>, double*);
template void make_reflectors<double>(Stream, View<double>, View<const double>, QrLeafData<double>);

}  // namespace basalt::cuda_detail
