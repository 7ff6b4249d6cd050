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

inline device::Pivoting pivoting_of(const std::optional<BatchView<Index>>& pivots) {
    return pivots.has_value() ? device::Pivoting::partial : device::Pivoting::none;
}

/// As small_blocks.
template <class Shape, class T>
constexpr int small_lu_blocks = Shape::order == 32 && sizeof(T) == 8 ? 6 : 8;
template <class Shape, device::Pivoting pivoting, class T>
constexpr int small_lu_factor_blocks = pivoting == device::Pivoting::partial &&
                                               (sizeof(T) == 4 ? Shape::order == 32 : Shape::order <= 16)
                                           ? 10
                                           : small_lu_blocks<Shape, T>;

template <class Shape, device::Pivoting pivoting, class T>
__global__ void __launch_bounds__(small_threads, small_lu_factor_blocks<Shape, pivoting, T>)
    lu_small_factor_kernel(BatchView<T> a, BatchView<Index> pivots, Index* info, device::Selection selection) {
    __shared__ device::SmallRows<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    Index* const ipiv = pivoting == device::Pivoting::partial ? place.data(pivots) : nullptr;
    const int failed =
        device::lu_factor_small<Shape, pivoting>(BlockThread(), memory[place.group], place.matrix(a), ipiv);
    if (place.first_lane) info[place.number] = failed;
}

template <class Shape, int sides, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_solve_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> b, const Index* info,
                          device::Selection selection) {
    __shared__ device::SmallSides<T> memory[groups_of<Shape>];
    LanePlace<Shape> place(factors, selection);
    if (info != nullptr && place.taken && info[place.number] > 0) place.taken = false;
    if (place.leaves_all(factors)) return;
    device::lu_solve_small<Shape, sides>(BlockThread(), memory[place.group], place.matrix(factors), place.data(pivots),
                                         place.sides(b));
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, small_lu_blocks<Shape, T>)
    lu_small_both_kernel(BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info,
                         device::Selection selection) {
    __shared__ device::SmallRows<T, Shape> memory[groups_of<Shape>];
    const LanePlace<Shape> place(a, selection);
    if (place.leaves_all(a)) return;
    const int failed = device::lu_factor_solve_small<Shape>(BlockThread(), memory[place.group], place.matrix(a),
                                                            place.data(pivots), place.data(b));
    if (place.first_lane) info[place.number] = failed;
}

template <class Shape, class T>
__global__ void __launch_bounds__(small_threads, 1)
    lu_small_invert_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> inverse, Index* info,
                           device::Selection selection) {
    __shared__ device::SmallSides<T> memory[groups_of<Shape>];
    const LanePlace<Shape> place(factors, selection);
    if (place.leaves_all(factors)) return;
    const device::Whole<const T> own = place.matrix(factors);
    const device::Whole<T> to = place.matrix(inverse);  // where factors are of a list, it may have room for more
    const int failed = device::lu_invert_small<Shape, 4>(BlockThread(), memory[place.group], own, place.data(pivots),
                                                         device::Whole<T>{to.a, to.ld, own.rows, own.rows});
    if (place.first_lane) info[place.number] = failed;
}

/// Whether the matrices of a batch have one shape, or their own ones.
enum class Layout { uniform, list };

/// The block's matrix, which is square and of more than 32 columns. The shape of a uniform batch takes no registers,
/// and a leading dimension of doubles takes one: with more, the kernel with panels of 16 doubles spills. 2^31 of them
/// for 33 columns would be 512 GiB.
template <Layout layout, class T>
__device__ device::Whole<T> square_of(const BatchView<T>& a) {
    const View<T> own = a[blockIdx.x];
    const View<T>& shape = layout == Layout::uniform ? a.shape() : own;
    const int n = static_cast<int>(shape.rows());
    const Index ld = shape.col_stride();
    return {own.data(), sizeof(T) == 8 ? static_cast<int>(ld) : ld, n, n};
}

template <Layout layout, device::Residence residence, int most_threads, int least_blocks, int width, class T>
__global__ void __launch_bounds__(most_threads, least_blocks)
    lu_block_factor_kernel(BatchView<T> a, device::Pivoting pivoting, BatchView<Index> pivots, Index* info,
                           device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (layout == Layout::list && !is_taken(a, selection, blockIdx.x)) return;
    const device::Whole<T> own = square_of<layout>(a);
    const device::LuBlockMemory<T, width> memory(raw, own.rows, residence);
    Index* const ipiv = pivoting == device::Pivoting::partial ? pivots[blockIdx.x].data() : nullptr;
    const int failed = device::lu_factor_block<residence>(BlockThread(), memory, own, ipiv);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <Layout layout, class T>
__global__ void __launch_bounds__(device::widest_lu_bounds.threads, 1)
    lu_tiles_factor_kernel(BatchView<T> a, device::Pivoting pivoting, BatchView<Index> pivots, Index* info,
                           device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (layout == Layout::list && !is_taken(a, selection, blockIdx.x)) return;
    const View<T> matrix = a[blockIdx.x];
    const View<T>& shape = layout == Layout::uniform ? a.shape() : matrix;
    const int n = static_cast<int>(shape.rows());
    const device::LuTileMatrix<T> own{matrix.data(), n, static_cast<int>(shape.col_stride())};
    const device::LuTileMemory<T> memory(raw, selection.most);  // a constant of the kernel, unlike n of a list
    Index* const ipiv = pivoting == device::Pivoting::partial ? pivots[blockIdx.x].data() : nullptr;
    const int failed = device::lu_factor_tiles(BlockThread(), memory, own, ipiv);
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

template <int most_threads, class T>
__global__ void __launch_bounds__(most_threads, most_threads <= 256 ? 3 : 1)
    lu_tiles_solve_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> b, const Index* info,
                          device::Selection selection, int parts) {
    extern __shared__ __align__(16) unsigned char raw[];
    const SystemPart part(parts);
    if (is_left(factors, selection, info, part.number)) return;
    const auto own = device::whole(factors[part.number]);
    const device::SolveTilesMemory<T> memory(raw);
    device::lu_solve_tiles(BlockThread(), memory, own, data_of(pivots, part.number), sides_of(b, part.number),
                           part.tiles);
}

template <class T>
__global__ void __launch_bounds__(device::widest_lu_bounds.threads, 1)
    lu_block_invert_kernel(BatchView<const T> factors, BatchView<const Index> pivots, BatchView<T> inverse, Index* info,
                           device::Selection selection) {
    extern __shared__ __align__(16) unsigned char raw[];
    if (!is_taken(factors, selection, blockIdx.x)) return;
    const auto own = device::whole(factors[blockIdx.x]);
    const device::LuSolveMemory<T, 8> memory(raw, own.rows);
    const View<T> to = inverse[blockIdx.x];
    const int failed = device::lu_invert_block(BlockThread(), memory, own, data_of_block(pivots),
                                               device::Whole<T>{to.data(), to.col_stride(), own.rows, own.rows});
    if (threadIdx.x == 0) info[blockIdx.x] = failed;
}

/// A factorization: what its kernels get.
template <class T>
struct LuFactoring {
    Stream stream;
    const BatchView<T>& a;
    const std::optional<BatchView<Index>>& pivots;
    Index* info;
    device::Selection selection;

    void launch(void (*kernel)(BatchView<T>, device::Pivoting, BatchView<Index>, Index*, device::Selection),
                const char* name, std::size_t bytes) const {
        launch_block_each(stream, kernel, name, a.count(), device::lu_block_threads(selection.most), bytes, a,
                          pivoting_of(pivots), pivots.value_or(BatchView<Index>()), info, selection);
    }
};

template <Layout layout, device::Residence residence, int most_threads, int least_blocks, int width, class T>
void factor_lu_blocks(const LuFactoring<T>& task) {
    task.launch(lu_block_factor_kernel<layout, residence, most_threads, least_blocks, width, T>,
                "lu_block_factor_kernel", device::LuBlockMemory<T, width>::bytes(task.selection.most, residence));
}

/// With panels in tiles, otherwise, where shared memory does not hold one, by narrow panels. Finished ones lie in A's
/// place.
template <Layout layout, class T>
void factor_lu_in_place(const LuFactoring<T>& task) {
    constexpr device::LuBlockBounds widest = device::widest_lu_bounds;
    const int n = task.selection.most;
    const std::size_t bytes = device::LuTileMemory<T>::bytes(n);
    if (bytes > most_batch_shared(task.stream) || !has_counted_elements(task.a, n)) {
        return factor_lu_blocks<layout, device::Residence::global, widest.threads, widest.blocks, 8>(task);
    }
    task.launch(lu_tiles_factor_kernel<layout, T>, "lu_tiles_factor_kernel", bytes);
}

template <Layout layout, int width, class T>
void factor_lu_by_width(const LuFactoring<T>& task) {
    constexpr device::LuBlockBounds bounds = device::resident_lu_bounds;
    const int n = task.selection.most;
    const bool resident =
        n <= device::most_resident_lu_order<T> &&
        device::LuBlockMemory<T, width>::bytes(n, device::Residence::shared) <= most_batch_shared(task.stream);
    if (!resident) return factor_lu_in_place<layout>(task);
    factor_lu_blocks<layout, device::Residence::shared, bounds.threads, bounds.blocks, width>(task);
}

template <class T>
void factor_lu_class(const LuFactoring<T>& task, BatchLuPlan plan) {
    if (task.selection.small) {
        return with_small_shape<T>(task.selection.most, [&](auto shape) {
            using Shape = decltype(shape);
            const auto kernel = task.pivots.has_value() ? lu_small_factor_kernel<Shape, device::Pivoting::partial, T>
                                                        : lu_small_factor_kernel<Shape, device::Pivoting::none, T>;
            kernel<<<blocks(lane_grid<Shape>(task.a.count())), small_threads, 0, native(task.stream)>>>(
                task.a, task.pivots.value_or(BatchView<Index>()), task.info, task.selection);
            check_launch("lu_small_factor_kernel", task.stream);
        });
    }
    if (!task.a.uniform()) return factor_lu_by_width<Layout::list, 16>(task);
    if (plan.width == 8) return factor_lu_by_width<Layout::uniform, 8>(task);
    if (plan.width == 32) return factor_lu_by_width<Layout::uniform, 32>(task);
    factor_lu_by_width<Layout::uniform, 16>(task);
}

/// Where info is there, right-hand sides stay as they are whose matrices failed.
template <class T>
void solve_lu_class(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                    const BatchView<T>& b, const Index* info, const device::Selection& selection) {
    const int n = selection.most;
    if (!selection.small) {
        // Every block follows the exchanges of rows, which takes too long for substitutions of small orders.
        const int threads = device::lu_block_threads(n), parts = parts_of_sides(b, n > 128);
        const auto kernel = threads <= 256 ? lu_tiles_solve_kernel<256, T> : lu_tiles_solve_kernel<512, T>;
        return launch_block_each(stream, kernel, "lu_tiles_solve_kernel", b.count() * parts, threads,
                                 device::SolveTilesMemory<T>::bytes(n), factors, pivots, b, info, selection, parts);
    }
    with_small_shape<T>(n, [&](auto shape) {
        using Shape = decltype(shape);
        const auto kernel =
            b.shape().cols() == 1 ? lu_small_solve_kernel<Shape, 1, T> : lu_small_solve_kernel<Shape, 4, T>;
        kernel<<<blocks(lane_grid<Shape>(b.count())), small_threads, 0, native(stream)>>>(factors, pivots, b, info,
                                                                                          selection);
        check_launch("lu_small_solve_kernel", stream);
    });
}

template <class T>
void factor_solve_lu_class(const LuFactoring<T>& task, const BatchView<T>& b, BatchLuPlan plan) {
    if (!task.selection.small || b.shape().cols() != 1) {
        factor_lu_class(task, plan);
        if (b.shape().empty()) return;
        return solve_lu_class(task.stream, BatchView<const T>(task.a), BatchView<const Index>(*task.pivots), b,
                              task.info, task.selection);
    }
    with_small_shape<T>(task.selection.most, [&](auto shape) {
        using Shape = decltype(shape);
        lu_small_both_kernel<Shape, T>
            <<<blocks(lane_grid<Shape>(task.a.count())), small_threads, 0, native(task.stream)>>>(
                task.a, *task.pivots, b, task.info, task.selection);
        check_launch("lu_small_both_kernel", task.stream);
    });
}

template <class T>
void invert_lu_class(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                     const BatchView<T>& inverse, Index* info, const device::Selection& selection) {
    const int n = selection.most;
    if (!selection.small) {
        return launch_block_each(stream, lu_block_invert_kernel<T>, "lu_block_invert_kernel", factors.count(),
                                 device::lu_block_threads(n), device::LuSolveMemory<T, 8>::bytes(n), factors, pivots,
                                 inverse, info, selection);
    }
    with_small_shape<T>(n, [&](auto shape) {
        using Shape = decltype(shape);
        lu_small_invert_kernel<Shape, T>
            <<<blocks(lane_grid<Shape>(factors.count())), small_threads, 0, native(stream)>>>(factors, pivots, inverse,
                                                                                              info, selection);
        check_launch("lu_small_invert_kernel", stream);
    });
}

}  // namespace

template <class T>
void run_on_gpu(BatchGetrf<T>, Stream stream, BatchView<T> a, std::optional<BatchView<Index>> pivots, Index* info,
                BatchLuPlan plan) {
    if (a.count() == 0) return;
    set_initial_info(stream, a, BatchShapes::square, info);
    device::for_each_class(a, BatchShapes::square, [&](const device::Selection& selection) {
        factor_lu_class(LuFactoring<T>{stream, a, pivots, info, selection}, plan);
    });
}

template <class T>
void run_on_gpu(BatchGetrs<T>, Stream stream, BatchView<const T> factors, std::optional<BatchView<const Index>> pivots,
                BatchView<T> b) {
    if (b.count() == 0 || b.shape().empty()) return;
    const BatchView<const Index> order = pivots.value_or(BatchView<const Index>());
    device::for_each_class(factors, BatchShapes::square, [&](const device::Selection& selection) {
        solve_lu_class(stream, factors, order, b, nullptr, selection);
    });
}

template <class T>
void run_on_gpu(BatchGesv<T>, Stream stream, BatchView<T> a, BatchView<Index> pivots, BatchView<T> b, Index* info,
                BatchLuPlan plan) {
    if (a.count() == 0) return;
    const std::optional<BatchView<Index>> order(pivots);
    set_initial_info(stream, a, BatchShapes::square, info);
    device::for_each_class(a, BatchShapes::square, [&](const device::Selection& selection) {
        factor_solve_lu_class(LuFactoring<T>{stream, a, order, info, selection}, b, plan);
    });
}

template <class T>
void run_on_gpu(BatchGetri<T>, Stream stream, BatchView<const T> factors, BatchView<const Index> pivots,
                BatchView<T> inverse, Index* info) {
    if (factors.count() == 0) return;
    set_initial_info(stream, factors, BatchShapes::square, info);
    device::for_each_class(factors, BatchShapes::square, [&](const device::Selection& selection) {
        invert_lu_class(stream, factors, pivots, inverse, info, selection);
    });
}

}  // namespace basalt::on_stream
