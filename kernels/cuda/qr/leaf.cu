#include "kernels/cuda/qr/leaf.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/qr/leaf_block.hpp"

namespace basalt::cuda_detail {

namespace {

constexpr int threads = leaf_threads;

/// A thread of the block, as leaf_block.hpp wants it.
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

template <class T>
__global__ void __launch_bounds__(threads) factor_wide_gram_kernel(int w, T largest_condition, QrLeafData<T> leaf) {
    __shared__ LeafShared<T> shared;
    __shared__ T squares[qr_wide_width];
    factor_wide_gram_block(LeafThread(), w, largest_condition, leaf, shared, squares, shared_square<T>(0),
                           shared_square<T>(1), shared_square<T>(2));
}

template <class T>
__global__ void __launch_bounds__(threads) compress_kernel(View<const T> top, View<T> compressed, QrLeafData<T> leaf) {
    const int w = static_cast<int>(top.cols()),
              n = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
    if (n < w * w) compress_element(n / w, n % w, top, compressed, leaf);
}

/// What a wide leaf holds above itself belongs to R, as below; its own R and T are in their places unless
/// Householder's method has made them, and its first rows are those of its compressed form.
template <class T>
__global__ void __launch_bounds__(threads)
    place_wide_kernel(View<T> leaf_columns, View<T> r_above, View<const T> compressed, View<T> r, View<T> t,
                      QrLeafData<T> leaf) {
    const Index w = r.cols(), i = blockIdx.x, above = r_above.rows();
    const bool refused = *leaf.way == QrLeafWay::householder;
    for (Index j = threadIdx.x; j < w; j += threads) {
        if (i < above) {
            r_above(i, j) = leaf_columns(i, j);
            leaf_columns(i, j) = T{0};
        } else if (refused) {
            r(i - above, j) = leaf.r[(i - above) * w + j];
            t(i - above, j) = leaf.t[(i - above) * w + j];
        } else {
            leaf_columns(i, j) = compressed(i - above, j);
        }
    }
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
    allow_shared(reinterpret_cast<const void*>(kernel), bytes, stream);
    kernel<<<1, threads, bytes, native(stream)>>>(argument...);
    check_launch(name, stream);
}

/// Columns may be so far from orthogonal: A R^-1 by the inverse then is as exact as LAPACK's ratio asks of so
/// many rows, and the second Gram matrix, which is checked too, differs from the unit matrix by the square of
/// it times a few roundings.
template <class T>
T largest_condition(Index rows) {
    return static_cast<T>(std::clamp<Index>(rows / 8, 32, 512));
}

}  // namespace

template <class T>
void factor_gram(Stream stream, Index rows, int w, QrLeafData<T> leaf) {
    if (w <= leaf_order) {
        launch_alone<T>(stream, "factor_gram_kernel", factor_gram_kernel<T>, 1, w, largest_condition<T>(rows), leaf);
    } else {
        launch_alone<T>(stream, "factor_wide_gram_kernel", factor_wide_gram_kernel<T>, 3, w, largest_condition<T>(rows),
                        leaf);
    }
}

template <class T>
void reconstruct_reflectors(Stream stream, View<T> a, View<const T> q1, QrLeafData<T> leaf) {
    const Index w = a.cols();
    launch_alone<T>(stream, "reconstruct_kernel", reconstruct_kernel<T>, 2, a.block(0, 0, w, w), q1.block(0, 0, w, w),
                    leaf);
}

template <class T>
void compress_leaf(Stream stream, View<const T> top, View<T> compressed, QrLeafData<T> leaf) {
    compress_kernel<T><<<blocks(elements_grid(top.cols() * top.cols(), threads)), threads, 0, native(stream)>>>(
        top, compressed, leaf);
    check_launch("compress_kernel", stream);
}

template <class T>
void place_wide_leaf(Stream stream, View<T> columns, View<T> r_above, View<const T> compressed, View<T> r, View<T> t,
                     QrLeafData<T> leaf) {
    place_wide_kernel<T><<<blocks(placed_rows_grid(r_above.rows() + r.rows())), threads, 0, native(stream)>>>(
        columns, r_above, compressed, r, t, leaf);
    check_launch("place_wide_kernel", stream);
}

template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    place_kernel<T>
        <<<blocks(placed_rows_grid(above.rows() + r.rows())), threads, 0, native(stream)>>>(above, r_above, r, t, leaf);
    check_launch("place_kernel", stream);
}

template void factor_gram<float>(Stream, Index, int, QrLeafData<float>);
template void reconstruct_reflectors<float>(Stream, View<float>, View<const float>, QrLeafData<float>);
template void compress_leaf<float>(Stream, View<const float>, View<float>, QrLeafData<float>);
template void place_wide_leaf<float>(Stream, View<float>, View<float>, View<const float>, View<float>, View<float>,
                                     QrLeafData<float>);
template void place_leaf<float>(Stream, View<float>, View<float>, View<float>, View<float>, QrLeafData<float>);
template void factor_gram<double>(Stream, Index, int, QrLeafData<double>);
template void reconstruct_reflectors<double>(Stream, View<double>, View<const double>, QrLeafData<double>);
template void compress_leaf<double>(Stream, View<const double>, View<double>, QrLeafData<double>);
template void place_wide_leaf<double>(Stream, View<double>, View<double>, View<const double>, View<double>,
                                      View<double>, QrLeafData<double>);
template void place_leaf<double>(Stream, View<double>, View<double>, View<double>, View<double>, QrLeafData<double>);

}  // namespace basalt::cuda_detail
