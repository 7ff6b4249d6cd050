#include "kernels/cuda/qr_leaf.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/qr_leaf_block.hpp"

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
__global__ void __launch_bounds__(threads) reconstruct_kernel(int w, View<const T> q1_top, QrLeafData<T> leaf) {
    __shared__ LeafShared<T> shared;
    reconstruct_block(LeafThread(), w, q1_top, leaf, shared, shared_square<T>(0), shared_square<T>(1));
}

template <class T>
__global__ void __launch_bounds__(threads) take_kernel(View<const T> below, View<T> v, QrLeafData<T> leaf) {
    if (*leaf.refused != 0) return;
    const int w = static_cast<int>(v.cols());
    const Index step = static_cast<Index>(gridDim.x) * threads;
    for (Index n = static_cast<Index>(blockIdx.x) * threads + threadIdx.x; n < v.rows() * w; n += step) {
        const Index i = n / w, j = n % w;
        v(i, j) = i < w ? leaf.top[n] : below(i - w, j);
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
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "cudaFuncSetAttribute", stream);
    kernel<<<1, threads, bytes, native(stream)>>>(argument...);
    check_launch(name, stream);
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
void reconstruct_reflectors(Stream stream, int w, View<const T> q1_top, QrLeafData<T> leaf) {
    launch_alone<T>(stream, "reconstruct_kernel", reconstruct_kernel<T>, 2, w, q1_top, leaf);
}

template <class T>
void take_reflectors(Stream stream, View<const T> below, View<T> v, QrLeafData<T> leaf) {
    constexpr Index most_blocks = 1056;
    const auto blocks = static_cast<unsigned>(std::min(divide_up(v.rows() * v.cols(), threads), most_blocks));
    take_kernel<T><<<blocks, threads, 0, native(stream)>>>(below, v, leaf);
    check_launch("take_kernel", stream);
}

template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf) {
    place_kernel<T>
        <<<static_cast<unsigned>(above.rows() + r.rows()), threads, 0, native(stream)>>>(above, r_above, r, t, leaf);
    check_launch("place_kernel", stream);
}

template void factor_gram<float>(Stream, Index, int, QrLeafData<float>);
template void factor_gram<double>(Stream, Index, int, QrLeafData<double>);
template void reconstruct_reflectors<float>(Stream, int, View<const float>, QrLeafData<float>);
template void reconstruct_reflectors<double>(Stream, int, View<const double>, QrLeafData<double>);
template void take_reflectors<float>(Stream, View<const float>, View<float>, QrLeafData<float>);
template void take_reflectors<double>(Stream, View<const double>, View<double>, QrLeafData<double>);
template void place_leaf<float>(Stream, View<float>, View<float>, View<float>, View<float>, QrLeafData<float>);
template void place_leaf<double>(Stream, View<double>, View<double>, View<double>, View<double>, QrLeafData<double>);

}  // namespace basalt::cuda_detail
