#include <algorithm>
#include <cassert>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/qr/tall_product.hpp"
#include "kernels/cuda/qr/workspace.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/qr.hpp"
#include "kernels/triangle.hpp"

namespace basalt::on_stream {

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
dim3 blocks_for(Index rows) { return cuda_detail::blocks(cuda_detail::reflector_rows_grid(rows)); }

}  // namespace

template <class T>
void run_on_gpu(ReflectColumns<T>, Stream stream, View<const T> v, View<const T> t, TileColumns<T> c, T* workspace,
                Multiplication products) {
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
        if (products == Multiplication::by_slices) {
            const auto bytes = static_cast<std::size_t>(k * c.columns * c.width) * sizeof(float);
            cuda_detail::check(cudaMemsetAsync(w.data, 0, bytes, cuda_detail::native(stream)), "cudaMemsetAsync",
                               stream);
            update_by_slices(stream, transposed(v), c, w, ProductPrecision::split_bf16, parts, {});
            batched_gemm<T>(stream, c.columns, T{-1}, factor, batched(read_w), T{0}, batched(x));
            update_by_slices(stream, v, x, c, ProductPrecision::split_bf16, parts, {});
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
void run_on_gpu(StoreReflectors<T>, Stream stream, View<const T> v, View<const T> r, View<T> a) {
    if (a.empty()) return;
    store_kernel<T><<<blocks_for(a.rows()), threads, 0, cuda_detail::native(stream)>>>(v, r, a);
    cuda_detail::check_launch("store_kernel", stream);
}

template <class T>
void run_on_gpu(ExplicitReflectors<T>, Stream stream, View<const T> a, View<T> v) {
    assert(a.rows() == v.rows() && a.cols() == v.cols());
    if (v.empty()) return;
    explicit_kernel<T><<<blocks_for(v.rows()), threads, 0, cuda_detail::native(stream)>>>(a, v);
    cuda_detail::check_launch("explicit_kernel", stream);
}

template <class T>
void run_on_gpu(GramMatrix<T>, Stream stream, View<const T> v, View<T> gram, T* workspace) {
    cuda_detail::tall_product<T>(stream, v, v, gram, workspace);
}

template <>
const ReflectColumns<float>::Gpu Code<ReflectColumns<float>>::gpu = gpu_code<ReflectColumns<float>>;
template <>
const ReflectColumns<double>::Gpu Code<ReflectColumns<double>>::gpu = gpu_code<ReflectColumns<double>>;
template <>
const StoreReflectors<float>::Gpu Code<StoreReflectors<float>>::gpu = gpu_code<StoreReflectors<float>>;
template <>
const StoreReflectors<double>::Gpu Code<StoreReflectors<double>>::gpu = gpu_code<StoreReflectors<double>>;
template <>
const ExplicitReflectors<float>::Gpu Code<ExplicitReflectors<float>>::gpu = gpu_code<ExplicitReflectors<float>>;
template <>
const ExplicitReflectors<double>::Gpu Code<ExplicitReflectors<double>>::gpu = gpu_code<ExplicitReflectors<double>>;
template <>
const GramMatrix<float>::Gpu Code<GramMatrix<float>>::gpu = gpu_code<GramMatrix<float>>;
template <>
const GramMatrix<double>::Gpu Code<GramMatrix<double>>::gpu = gpu_code<GramMatrix<double>>;

}  // namespace basalt::on_stream

namespace basalt::cuda_detail {

Index reflect_columns_workspace(Index rows, Index k, Index columns, int multiprocessors, Multiplication products) {
    const Index few_columns = std::min(columns, on_stream::few_elements(multiprocessors) / std::max<Index>(k, 1) + 1),
                parts = cuda_detail::tall_product_workspace(k, few_columns, multiprocessors);
    const std::size_t slices =
        products == Multiplication::by_slices
            ? std::max(split_workspace(rows, k, columns), split_workspace(k, split_depth, columns))
            : 0;
    return 2 * on_stream::aligned(k * columns) + std::max(parts, static_cast<Index>(slices / sizeof(float)));
}

}  // namespace basalt::cuda_detail
