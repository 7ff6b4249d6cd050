#pragma once

#include <optional>

#include "kernels/cuda/batch/launch.cuh"
#include "kernels/cuda/batch/lu_block.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "kernels/on_stream/batch_lu.hpp"
#include "kernels/on_stream/implement.hpp"

/// LU kernels for one precision: factor_float.cu and factor_double.cu compile them.
namespace basalt::on_stream {

namespace {

/// Matrix `number`, or none.
template <class T>
__device__ device::Whole<T> matrix_or_none(const BatchView<T>& a, Index number) {
    if (number >= a.count()) return {nullptr, 1, 0, 0};
    return device::whole(a[number]);
}
template <class T>
__device__ T* numbers_of(const BatchView<T>& numbers, Index number) {
    return number < numbers.count() ? numbers[number].data() : nullptr;
}

inline device::Pivoting pivoting_of(const std::optional<BatchView<Index>>& pivots) {
    return pivots.has_value() ? device::Pivoting::partial : device::Pivoting::none;
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_factor_kernel(BatchView<T> a, device::Pivoting pivoting, BatchView<Index> pivots, Index* info) {
    __shared__ device::SmallRows<T, Shape> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const auto own = matrix_or_none(a, place.number);
    Index* const ipiv = pivoting == device::Pivoting::partial ? numbers_of(pivots, place.number) : nullptr;
    const int failed = device::lu_factor_small<Shape>(BlockThread(), memory[place.group], own, pivoting, ipiv);
    if (own.a != nullptr && place.first_lane) info[place.number] = failed;
}

template <class Shape, int sides, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_solve_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> b,
                          const Index* info) {
    __shared__ device::SmallSides<T> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const bool failed = info != nullptr && place.number < factors.count() && info[place.number] > 0;
    device::lu_solve_small<Shape, sides>(BlockThread(), memory[place.group],
                                         matrix_or_none(factors, failed ? factors.count() : place.number),
                                         numbers_of(pivots, place.number), sides_of(b, place.number));
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_both_kernel(BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info) {
    __shared__ device::SmallRows<T, Shape> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const auto own = matrix_or_none(a, place.number);
    const int failed = device::lu_factor_solve_small<Shape>(
        BlockThread(), memory[place.group], own, numbers_of(pivots, place.number), numbers_of(b, place.number));
    if (own.a != nullptr && place.first_lane) info[place.number] = failed;
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_invert_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> inverse,
                           Index* info) {
    __shared__ device::SmallSides<T> memory[small_threads / Shape::own_lanes];
    const SmallPlace<Shape> place;
    const auto own = matrix_or_none(factors, place.number);
    const int failed =
        device::lu_invert_small<Shape, 4>(BlockThread(), memory[place.group], own, numbers_of(pivots, place.number),
                                          matrix_or_none(inverse, place.number));
    if (own.a != nullptr && place.first_lane) info[place.number] = failed;
}

/// Matrix `number`, which is square and of more than 32 columns. Its shape comes from the batch and takes no registers,
/// and a leading dimension of doubles takes one: with more, the kernel with panels of 16 doubles spills. 2^31 of them
/// for 33 columns would be 512 GiB.
template <class T>
__device__ device::Whole<T> square_of(const BatchView<T>& a, Index number) {
    const int n = static_cast<int>(a.shape().rows());
    const Index ld = a.shape().col_stride();
    return {a[number].data(), sizeof(T) == 8 ? static_cast<int>(ld) : ld, n, n};
}

template <device::Residence residence, int most_threads, int least_blocks, int width, class T>
__global__ void __launch_bounds__(most_threads, least_blocks)
    lu_block_factor_kernel(BatchView<T> a, device::Pivoting pivoting, BatchView<Index> pivots, Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const device::Whole<T> own = square_of(a, blockIdx.x);
    const device::LuBlockMemory<T, width> memory(raw, own.rows, residence);
    Index* const ipiv = pivoting == device::Pivoting::partial ? pivots[blockIdx.x].data() : nullptr;
    const int failed = device::lu_factor_block<residence>(BlockThread(), memory, own, ipiv);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <class T>
__global__ void __launch_bounds__(device::widest_lu_bounds.threads, 1)
    lu_tiles_factor_kernel(BatchView<T> a, device::Pivoting pivoting, BatchView<Index> pivots, Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const int n = static_cast<int>(a.shape().rows());
    const device::LuTileMatrix<T> own{a[blockIdx.x].data(), n, static_cast<int>(a.shape().col_stride())};
    const device::LuTileMemory<T> memory(raw, n);
    Index* const ipiv = pivoting == device::Pivoting::partial ? pivots[blockIdx.x].data() : nullptr;
    const int failed = device::lu_factor_tiles(BlockThread(), memory, own, ipiv);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <int most_threads, class T>
__global__ void __launch_bounds__(most_threads, most_threads <= 256 ? 3 : 1)
    lu_tiles_solve_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> b,
                          const Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (info != nullptr && info[blockIdx.x] > 0) return;
    const auto own = device::whole(factors[blockIdx.x]);
    const device::SolveTilesMemory<T> memory(raw, own.rows);
    device::lu_solve_tiles(BlockThread(), memory, own, numbers_of(pivots, blockIdx.x), sides_of(b, blockIdx.x));
}

template <class T>
__global__ void __launch_bounds__(device::widest_lu_bounds.threads, 1)
    lu_block_invert_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> inverse,
                           Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const auto own = device::whole(factors[blockIdx.x]);
    const device::LuSolveMemory<T, 8> memory(raw, own.rows);
    const int failed = device::lu_invert_block(BlockThread(), memory, own, numbers_of(pivots, blockIdx.x),
                                               device::whole(inverse[blockIdx.x]));
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <device::Residence residence, int most_threads, int least_blocks, int width, class T>
void factor_lu_blocks(Stream stream, const BatchView<T>& a, const std::optional<BatchView<Index>>& pivots,
                      Index* info) {
    const int n = static_cast<int>(a.shape().rows()), threads = device::lu_block_threads(n);
    const std::size_t bytes = device::LuBlockMemory<T, width>::bytes(n, residence);
    const BatchView<Index> order = pivots.value_or(BatchView<Index>());
    launch_block_each(stream, lu_block_factor_kernel<residence, most_threads, least_blocks, width, T>,
                      "lu_block_factor_kernel", a.count(), threads, bytes, a, pivoting_of(pivots), order, info);
}

/// With panels in tiles, otherwise, where shared memory does not hold one, by narrow panels. Finished ones lie in A's
/// place.
template <class T>
void factor_lu_in_place(Stream stream, const BatchView<T>& a, const std::optional<BatchView<Index>>& pivots,
                        Index* info) {
    constexpr device::LuBlockBounds widest = device::widest_lu_bounds;
    const int n = static_cast<int>(a.shape().rows());
    const std::size_t bytes = device::LuTileMemory<T>::bytes(n);
    if (bytes > most_batch_shared(stream) || !device::has_counted_elements(n, a.shape().col_stride())) {
        return factor_lu_blocks<device::Residence::global, widest.threads, widest.blocks, 8>(stream, a, pivots, info);
    }
    launch_block_each(stream, lu_tiles_factor_kernel<T>, "lu_tiles_factor_kernel", a.count(),
                      device::lu_block_threads(n), bytes, a, pivoting_of(pivots), pivots.value_or(BatchView<Index>()),
                      info);
}

template <int width, class T>
void factor_lu_by_width(Stream stream, const BatchView<T>& a, const std::optional<BatchView<Index>>& pivots,
                        Index* info) {
    constexpr device::LuBlockBounds bounds = device::resident_lu_bounds;
    const int n = static_cast<int>(a.shape().rows());
    const bool resident =
        n <= device::most_resident_lu_order<T> &&
        device::LuBlockMemory<T, width>::bytes(n, device::Residence::shared) <= most_batch_shared(stream);
    if (!resident) return factor_lu_in_place(stream, a, pivots, info);
    factor_lu_blocks<device::Residence::shared, bounds.threads, bounds.blocks, width>(stream, a, pivots, info);
}

template <class T>
void solve_lu_blocks(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                     const BatchView<T>& b, const Index* info) {
    const int n = static_cast<int>(factors.shape().rows()), threads = device::lu_block_threads(n);
    const auto kernel = threads <= 256 ? lu_tiles_solve_kernel<256, T> : lu_tiles_solve_kernel<512, T>;
    launch_block_each(stream, kernel, "lu_tiles_solve_kernel", b.count(), threads,
                      device::SolveTilesMemory<T>::bytes(n), factors, pivots, b, info);
}

/// Where info is there, right-hand sides stay as they are whose matrices failed.
template <class T>
void solve_lu(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
              const BatchView<T>& b, const Index* info) {
    const Index n = factors.shape().rows();
    if (n > device::lanes) return solve_lu_blocks(stream, factors, pivots, b, info);
    with_small_shape<T>(n, [&](auto shape) {
        using Shape = decltype(shape);
        const auto kernel =
            b.shape().cols() == 1 ? lu_small_solve_kernel<Shape, 1, T> : lu_small_solve_kernel<Shape, 4, T>;
        kernel<<<blocks(small_grid<Shape>(b.count())), small_threads, 0, native(stream)>>>(factors, pivots, b, info);
        check_launch("lu_small_solve_kernel", stream);
    });
}

}  // namespace

template <class T>
void run_on_gpu(BatchGetrf<T>, Stream stream, BatchView<T> a, std::optional<BatchView<Index>> pivots, Index* info,
                BatchLuPlan plan) {
    if (a.count() == 0) return;
    if (a.shape().rows() <= device::lanes) {
        return with_small_shape<T>(a.shape().rows(), [&](auto shape) {
            using Shape = decltype(shape);
            lu_small_factor_kernel<Shape, T>
                <<<blocks(small_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(
                    a, pivoting_of(pivots), pivots.value_or(BatchView<Index>()), info);
            check_launch("lu_small_factor_kernel", stream);
        });
    }
    if (plan.width == 8) return factor_lu_by_width<8>(stream, a, pivots, info);
    if (plan.width == 32) return factor_lu_by_width<32>(stream, a, pivots, info);
    factor_lu_by_width<16>(stream, a, pivots, info);
}

template <class T>
void run_on_gpu(BatchGetrs<T>, Stream stream, BatchView<const T> factors, std::optional<BatchView<const Index>> pivots,
                BatchView<T> b) {
    if (b.count() == 0 || b.shape().cols() == 0 || b.shape().rows() == 0) return;
    const BatchView<const Index> order = pivots.value_or(BatchView<const Index>());
    solve_lu(stream, factors, order, b, nullptr);
}

template <class T>
void run_on_gpu(BatchGesv<T>, Stream stream, BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info,
                BatchLuPlan plan) {
    if (a.count() == 0) return;
    if (a.shape().rows() > device::lanes || b.shape().cols() != 1) {
        run_on_gpu(BatchGetrf<T>(), stream, a, pivots, info, plan);
        if (b.shape().empty()) return;
        return solve_lu(stream, BatchView<const T>(a), BatchView<const Index>(pivots), b, info);
    }
    with_small_shape<T>(a.shape().rows(), [&](auto shape) {
        using Shape = decltype(shape);
        lu_small_both_kernel<Shape, T>
            <<<blocks(small_grid<Shape>(a.count())), small_threads, 0, native(stream)>>>(a, pivots, b, info);
        check_launch("lu_small_both_kernel", stream);
    });
}

template <class T>
void run_on_gpu(BatchGetri<T>, Stream stream, BatchView<const T> factors, BatchView<const Index> pivots,
                BatchView<T> inverse, Index* info) {
    if (factors.count() == 0) return;
    const int n = static_cast<int>(factors.shape().rows());
    if (n > device::lanes) {
        return launch_block_each(stream, lu_block_invert_kernel<T>, "lu_block_invert_kernel", factors.count(),
                                 device::lu_block_threads(n), device::LuSolveMemory<T, 8>::bytes(n), factors, pivots,
                                 inverse, info);
    }
    with_small_shape<T>(n, [&](auto shape) {
        using Shape = decltype(shape);
        lu_small_invert_kernel<Shape, T>
            <<<blocks(small_grid<Shape>(factors.count())), small_threads, 0, native(stream)>>>(factors, pivots, inverse,
                                                                                               info);
        check_launch("lu_small_invert_kernel", stream);
    });
}

}  // namespace basalt::on_stream
