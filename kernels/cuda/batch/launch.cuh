#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <basalt/batch.hpp>

#include "kernels/cuda/batch/lu_small.hpp"
#include "kernels/cuda/batch/selection.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "kernels/cuda/batch/tile_rows.hpp"
#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"

/// What the kernels of Cholesky, LU and QR share: the matrix of a lane, its right-hand sides, and how they are
/// launched.
namespace basalt::on_stream {

namespace {

using namespace cuda_detail;
namespace device = cuda_detail::batch;

constexpr int small_threads = 64;  // of every SmallShape
/// Blocks of a kernel with a row or column to a lane that share a multiprocessor at least, which limits its registers.
/// Measured (decisions 34 and 35): more blocks hide more of each other's waiting.
template <class Shape, class T>
constexpr int small_blocks = (Shape::order == 32 ? 6 : 8) + (sizeof(T) == 4 ? 2 : 0);
/// Matrices of such a block.
template <class Shape>
constexpr int groups_of = Shape::threads / Shape::own_lanes;

/// Whether a kernel for this class treats matrix `number`, if there is one.
template <class T>
__device__ bool is_taken(const BatchView<T>& a, const device::Selection& selection, Index number) {
    return number < a.count() && (a.uniform() || selection.takes(a.shape(), a[number]));
}

/// Whether a kernel that solves leaves system `number` alone: its factorization failed, or the class is another.
template <class T>
__device__ bool is_left(const BatchView<const T>& factors, const device::Selection& selection, const Index* info,
                        Index number) {
    return (info != nullptr && info[number] > 0) || !is_taken(factors, selection, number);
}

/// The matrix of a lane, in kernels that hold matrices in lanes.
template <class Shape>
struct LanePlace {
    int group;  ///< in the block
    Index number;
    bool taken;
    bool first_lane;  ///< of a matrix that is taken

    template <class T>
    __device__ LanePlace(const BatchView<T>& a, const device::Selection& selection)
        : group(static_cast<int>(threadIdx.x) / Shape::own_lanes),
          number(static_cast<Index>(blockIdx.x) * groups_of<Shape> + group),
          taken(is_taken(a, selection, number)),
          first_lane(taken && threadIdx.x % Shape::own_lanes == 0) {}

    /// Whether the block, of a kernel for this batch, has nothing to do. All threads come here.
    template <class T>
    __device__ bool leaves_all(const BatchView<T>& a) const {
        return !a.uniform() && __syncthreads_or(taken) == 0;
    }
    /// The matrix, or none.
    template <class T>
    __device__ device::Whole<T> matrix(const BatchView<T>& a) const {
        if (!taken) return {nullptr, 1, 0, 0};
        return device::whole(a[number]);
    }
    /// What belongs to the matrix, or null.
    template <class T>
    __device__ T* data(const BatchView<T>& batch) const {
        return taken && batch.count() > 0 ? batch[number].data() : nullptr;
    }
    /// The same number of columns in all lanes.
    template <class T>
    __device__ device::RightSides<T> sides(const BatchView<T>& b) const {
        if (b.count() == 0) return {nullptr, 1, 0};
        const View<T> own = b[taken ? number : 0];
        return {own.data(), own.col_stride(), b.shape().cols()};
    }
};

/// What belongs to matrix `number`, or null.
template <class T>
__device__ T* data_of(const BatchView<T>& batch, Index number) {
    return batch.count() > 0 ? batch[number].data() : nullptr;
}
/// What belongs to the block's own matrix, or null.
template <class T>
__device__ T* data_of_block(const BatchView<T>& batch) {
    return data_of(batch, blockIdx.x);
}
/// Right-hand sides of matrix `number`, or none.
template <class T>
__device__ device::RightSides<T> sides_of(const BatchView<T>& b, Index number) {
    if (b.count() == 0) return {nullptr, 1, 0};
    const View<T> own = b[number];
    return {own.data(), own.col_stride(), b.shape().cols()};
}
/// Those of the block's own matrix.
template <class T>
__device__ device::RightSides<T> sides_of_block(const BatchView<T>& b) {
    return sides_of(b, blockIdx.x);
}

/// What a block solves where `parts` blocks share the right-hand sides of each system, tiles in turn (solve_tiles.hpp).
/// Blocks of one system are neighbours, so that the second cache answers when they read its triangle.
struct SystemPart {
    Index number;  ///< of the system
    device::TilesOfSides tiles;

    __device__ explicit SystemPart(int parts)
        : number(blockIdx.x / static_cast<unsigned>(parts)),
          tiles{static_cast<int>(blockIdx.x % static_cast<unsigned>(parts)), parts} {}
};
/// How many blocks share a system. A block for each tile is faster in double precision where `gains` says so, and
/// slower in single precision (decision 36). Of a list many blocks leave at once, so there it is one.
template <class T>
int parts_of_sides(const BatchView<T>& b, bool gains) {
    if (sizeof(T) == 4 || !gains || !b.uniform() || b.shape().cols() == 0) return 1;
    const Index tiles = (b.shape().cols() + device::tile_columns<T> - 1) / device::tile_columns<T>;
    return static_cast<int>(std::min(tiles, std::max<Index>(1, most_blocks_x / b.count())));
}

/// INFO before the kernels of the classes: -1 of matrices that none has.
template <class T>
__global__ void initial_info_kernel(BatchView<T> a, BatchShapes shapes, Index* info) {
    const Index number = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (number < a.count()) info[number] = treats(shapes, a.shape(), a[number]) ? 0 : -1;
}

/// Only matrices of a list can be refused, which the host cannot look at.
template <class T>
void set_initial_info(Stream stream, const BatchView<T>& a, BatchShapes shapes, Index* info) {
    if (a.uniform()) return;
    initial_info_kernel<T>
        <<<blocks(batch_grid(a.count(), small_threads)), small_threads, 0, native(stream)>>>(a, shapes, info);
    check_launch("initial_info_kernel", stream);
}

/// Whether int numbers the elements of each matrix, of up to n columns.
template <class T>
bool has_counted_elements(const BatchView<T>& a, Index n) {
    static_assert(device::has_counted_elements(512, most_listed_ld));
    return !a.uniform() || device::has_counted_elements(n, a.shape().col_stride());
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
Grid lane_grid(Index count) {
    return batch_grid(count, groups_of<Shape>);
}

std::size_t most_batch_shared(Stream stream) {
    int device = 0, bytes = 0;
    check(cudaGetDevice(&device), "cudaGetDevice", stream);
    check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute",
          stream);
    return static_cast<std::size_t>(bytes);
}

/// `count` blocks of as many threads and bytes of shared memory each.
template <class... Parameters, class... A>
void launch_block_each(Stream stream, void (*kernel)(Parameters...), const char* name, Index count, int threads,
                       std::size_t bytes, const A&... arguments) {
    allow_shared(reinterpret_cast<const void*>(kernel), most_batch_shared(stream), stream);
    kernel<<<blocks(batch_grid(count, 1)), static_cast<unsigned>(threads), bytes, native(stream)>>>(arguments...);
    check_launch(name, stream);
}

}  // namespace

}  // namespace basalt::on_stream
