#pragma once

#include <cstddef>
#include <type_traits>

#include <basalt/batch.hpp>

#include "kernels/cuda/batch/small.hpp"
#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"

/// What the kernels of Cholesky, LU and QR share: the matrix of a lane, its right-hand sides, and how they are
/// launched.
namespace basalt::on_stream {

namespace {

using namespace cuda_detail;
namespace device = cuda_detail::batch;

constexpr int small_threads = 128;

/// The matrix of a lane, in kernels for orders up to 32.
template <class Shape>
struct SmallPlace {
    int group;  ///< in the block
    Index number;
    bool first_lane;

    __device__ SmallPlace()
        : group(static_cast<int>(threadIdx.x) / Shape::own_lanes),
          number(static_cast<Index>(blockIdx.x) * (small_threads / Shape::own_lanes) + group),
          first_lane(threadIdx.x % Shape::own_lanes == 0) {}
};

/// The right-hand sides of matrix `number`: the same number of columns for all matrices; none where there is no batch.
template <class T>
__device__ device::RightSides<T> sides_of(const BatchView<T>& b, Index number) {
    if (b.count() == 0) return {nullptr, 1, 0};
    const View<T> matrix = b[number < b.count() ? number : 0];
    return {matrix.data(), matrix.col_stride(), matrix.cols()};
}

/// Calls f(SmallShape) for the padded order.
template <class T, class F>
void with_small_shape(Index n, const F& f) {
    if (n <= 4) return f(device::SmallShape<T, 4>());
    if (n <= 8) return f(device::SmallShape<T, 8>());
    if (n <= 16) return f(device::SmallShape<T, 16>());
    if (n <= 24) return f(device::SmallShape<T, 24>());
    f(device::SmallShape<T, 32>());
}

template <int value>
using Constant = std::integral_constant<int, value>;

/// Right-hand sides that are treated at once.
template <class F>
void with_sides(Index cols, const F& f) {
    if (cols == 1) return f(Constant<1>());
    f(Constant<4>());
}

template <class Shape>
Grid small_grid(Index count) {
    return batch_grid(count, small_threads / Shape::own_lanes);
}

std::size_t most_batch_shared(Stream stream) {
    int device = 0, bytes = 0;
    check(cudaGetDevice(&device), "cudaGetDevice", stream);
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute",
          stream);
    return static_cast<std::size_t>(bytes);
}

/// A block a matrix, with as much shared memory as its shape needs.
template <class... Parameters, class... A>
void launch_block_each(Stream stream, void (*kernel)(Parameters...), const char* name, Index count, int threads,
                       std::size_t bytes, const A&... arguments) {
    allow_shared(reinterpret_cast<const void*>(kernel), most_batch_shared(stream), stream);
    kernel<<<blocks(batch_grid(count, 1)), static_cast<unsigned>(threads), bytes, native(stream)>>>(arguments...);
    check_launch(name, stream);
}

}  // namespace

}  // namespace basalt::on_stream
