#include "kernels/cuda/block_reflector.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/tall_product.hpp"

namespace basalt::cuda_kernels {

namespace {

using cuda_detail::Batched;
using cuda_detail::batched_gemm;

// Fewer elements of V^T C than so many blocks of a product make: stretches of rows are multiplied apart, column by
// column.
constexpr Index few_elements = 132 * 64 * 64;

constexpr int threads = 256;

/// A block takes rows one after the other, its threads their elements.
template <class T>
__global__ void __launch_bounds__(threads) store_kernel(View<const T> v, View<const T> r, View<T> a) {
    for (Index i = blockIdx.x; i < a.rows(); i += gridDim.x) {
        for (Index j = threadIdx.x; j < a.cols(); j += threads) a(i, j) = i <= j ? r(i, j) : v(i, j);
    }
}

}  // namespace

Index reflect_columns_workspace(Index k, Index columns) {
    return 2 * k * columns +
           cuda_detail::tall_product_workspace(k, std::min(columns, few_elements / std::max<Index>(k, 1) + 1));
}

template <class T>
void reflect_columns(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                     TileColumns<T> c, T* workspace) {
    assert(v.rows() == c.rows && t.rows() == v.cols() && t.cols() == v.cols());
    const Index k = v.cols();
    if (c.empty() || k == 0) return;
    const auto w = dense_tile_columns(workspace, c.columns, k, c.width);
    const auto x = dense_tile_columns(workspace + k * c.columns * c.width, c.columns, k, c.width);
    T* const parts = x.data + k * c.columns * c.width;
    const auto batched = [](const auto& group) { return Batched{group.column(0), group.stride}; };
    const TileColumns<const T> read_c = c, read_w = w, read_x = x;
    if (k * c.columns * c.width <= few_elements) {
        for (Index j = 0; j < c.columns; ++j) cuda_detail::tall_product<T>(stream, v, c.column(j), w.column(j), parts);
    } else {
        batched_gemm<T>(stream, c.columns, T{1}, {v, 0, true}, batched(read_c), T{0}, batched(w));
    }
    batched_gemm<T>(stream, c.columns, T{1}, {t, 0, true}, batched(read_w), T{0}, batched(x));
    batched_gemm<T>(stream, c.columns, T{-1}, {v}, batched(read_x), T{1}, batched(c));
}

template <class T>
void store_reflectors(Stream stream, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> r,
                      View<T> a) {
    if (a.empty()) return;
    constexpr Index most_blocks = 4096;
    const auto blocks = static_cast<unsigned>(std::min(a.rows(), most_blocks));
    store_kernel<T><<<blocks, threads, 0, cuda_detail::native(stream)>>>(v, r, a);
    cuda_detail::check_launch("store_kernel", stream);
}

template void reflect_columns<float>(Stream, View<const float>, View<const float>, TileColumns<float>, float*);
template void reflect_columns<double>(Stream, View<const double>, View<const double>, TileColumns<double>, double*);
template void store_reflectors<float>(Stream, View<const float>, View<const float>, View<float>);
template void store_reflectors<double>(Stream, View<const double>, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
