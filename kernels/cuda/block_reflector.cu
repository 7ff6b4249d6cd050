#include "kernels/cuda/block_reflector.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/split_product.hpp"
#include "kernels/cuda/tall_product.hpp"
#include "kernels/triangle.hpp"

namespace basalt::cuda_kernels {

namespace {

using cuda_detail::Batched;
using cuda_detail::batched_gemm;

/// Fewer elements of V^T C than a block of a product on each multiprocessor makes: stretches of rows are multiplied
/// apart, column by column.
Index few_elements(int multiprocessors) { return multiprocessors * cuda_detail::block_elements; }

/// Rounded up to a multiple of what keeps everything behind it aligned.
constexpr Index aligned(Index elements) {
    constexpr Index line = 64;
    return cuda_detail::divide_up(elements, line) * line;
}

constexpr int threads = 256;

/// A block takes rows one after the other, its threads their elements.
template <class T>
__global__ void __launch_bounds__(threads) store_kernel(View<const T> v, View<const T> r, View<T> a) {
    for (Index i = blockIdx.x; i < a.rows(); i += gridDim.x) {
        for (Index j = threadIdx.x; j < a.cols(); j += threads) a(i, j) = i <= j ? r(i, j) : v(i, j);
    }
}

template <class T>
__global__ void __launch_bounds__(threads) explicit_kernel(View<const T> a, View<T> v) {
    for (Index i = blockIdx.x; i < a.rows(); i += gridDim.x) {
        for (Index j = threadIdx.x; j < a.cols(); j += threads) v(i, j) = i > j ? a(i, j) : i == j ? T{1} : T{0};
    }
}

/// Of kernels that take rows so.
unsigned blocks_for(Index rows) {
    constexpr Index most_blocks = 4096;
    return static_cast<unsigned>(std::min(rows, most_blocks));
}

}  // namespace

Index reflect_columns_workspace(Index rows, Index k, Index columns, int multiprocessors, bool by_pieces) {
    const Index few_columns = std::min(columns, few_elements(multiprocessors) / std::max<Index>(k, 1) + 1),
                parts = cuda_detail::tall_product_workspace(k, few_columns, multiprocessors);
    const std::size_t pieces =
        by_pieces ? std::max(split_workspace(rows, k, columns), split_workspace(k, split_depth, columns)) : 0;
    return 2 * aligned(k * columns) + std::max(parts, static_cast<Index>(pieces / sizeof(float)));
}

template <class T>
void reflect_columns(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                     TileColumns<T> c, T* workspace, bool by_pieces) {
    assert(v.rows() == c.rows && t.rows() == v.cols() && t.cols() == v.cols());
    const Index k = v.cols();
    if (c.empty() || k == 0) return;
    const bool as_it_lies = cuda_detail::is_row_major(t);
    const Batched<const T> factor{as_it_lies ? t : transposed(t), 0, as_it_lies};
    const auto w = dense_tile_columns(workspace, c.columns, k, c.width);
    const auto x = dense_tile_columns(workspace + aligned(k * c.columns * c.width), c.columns, k, c.width);
    T* const parts = x.data + aligned(k * c.columns * c.width);
    const auto batched = [](const auto& group) { return Batched{group.column(0), group.stride}; };
    const TileColumns<const T> read_c = c, read_w = w, read_x = x;
    if constexpr (std::is_same_v<T, float>) {
        if (by_pieces) {
            const auto bytes = static_cast<std::size_t>(k * c.columns * c.width) * sizeof(float);
            cuda_detail::check(cudaMemsetAsync(w.data, 0, bytes, cuda_detail::native(stream)), "cudaMemsetAsync",
                               stream);
            update_by_pieces(stream, transposed(v), c, w, parts);
            batched_gemm<T>(stream, c.columns, T{-1}, factor, batched(read_w), T{0}, batched(x));
            update_by_pieces(stream, v, x, c, parts);
            return;
        }
    }
    if (k * c.columns * c.width <= few_elements(stream.context()->multiprocessors)) {
        for (Index j = 0; j < c.columns; ++j) cuda_detail::tall_product<T>(stream, v, c.column(j), w.column(j), parts);
    } else {
        batched_gemm<T>(stream, c.columns, T{1}, {v, 0, true}, batched(read_c), T{0}, batched(w));
    }
    batched_gemm<T>(stream, c.columns, T{1}, factor, batched(read_w), T{0}, batched(x));
    batched_gemm<T>(stream, c.columns, T{-1}, {v}, batched(read_x), T{1}, batched(c));
}

template <class T>
void store_reflectors(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r,
                      View<T> a) {
    if (a.empty()) return;
    store_kernel<T><<<blocks_for(a.rows()), threads, 0, cuda_detail::native(stream)>>>(v, r, a);
    cuda_detail::check_launch("store_kernel", stream);
}

template <class T>
void explicit_reflectors(Stream stream, std::type_identity_t<View<const T>> a, View<T> v) {
    assert(a.rows() == v.rows() && a.cols() == v.cols());
    if (v.empty()) return;
    explicit_kernel<T><<<blocks_for(v.rows()), threads, 0, cuda_detail::native(stream)>>>(a, v);
    cuda_detail::check_launch("explicit_kernel", stream);
}

template void reflect_columns<float>(Stream, View<const float>, View<const float>, TileColumns<float>, float*, bool);
template void reflect_columns<double>(Stream, View<const double>, View<const double>, TileColumns<double>, double*,
                                      bool);
template void store_reflectors<float>(Stream, View<const float>, View<const float>, View<float>);
template void store_reflectors<double>(Stream, View<const double>, View<const double>, View<double>);
template void explicit_reflectors<float>(Stream, View<const float>, View<float>);
template void explicit_reflectors<double>(Stream, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
