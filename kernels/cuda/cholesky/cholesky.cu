#include <algorithm>
#include <cassert>
#include <cstdint>

#include "base/tuning_fields.hpp"
#include "kernels/cuda/cholesky/block.hpp"
#include "kernels/cuda/cholesky/fused.hpp"
#include "kernels/cuda/cholesky/leaf.hpp"
#include "kernels/cuda/cholesky/plan.hpp"
#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/common/block_thread.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/on_stream/cholesky.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"

namespace basalt::on_stream {

namespace {

using namespace cuda_detail;
namespace block = cuda_detail::cholesky;

/// What a leaf leaves for the rows below it, or all leaves of a panel one behind the other.
template <class T>
struct LeafResults {
    T* inverses;
    int* use_inverse;
};

/// `first` is the leaf's first column in its panel; the first leaf of a panel sets *info, the others leave it where it
/// says that one failed.
template <class Shape, class T>
__global__ void __launch_bounds__(block::LeafMemory<T, Shape>::warps* block::lanes, 1)
    leaf_kernel(block::Leaf<T, Shape::tile> leaf, Index first, Index* info) {
    using Memory = block::LeafMemory<T, Shape>;
    extern __shared__ __align__(16) unsigned char raw[];
    const BlockThread thread;
    auto& memory = *reinterpret_cast<Memory*>(raw);
    block::load_leaf(thread, memory, leaf);
    thread.sync();
    const int failed = block::factor_leaf(thread, memory, leaf);
    if (thread.warp != Memory::reporting_warp || thread.lane > 0) return;
    const Index before = first == 0 ? 0 : *info;
    *info = before == 0 && failed > 0 ? first + failed : before;
}

template <bool wide, class Shape, class T>
__global__ void __launch_bounds__(block::solving_warps<Shape>* block::lanes, 3)
    rows_kernel(View<T> below, block::Leaf<const T, Shape::tile> leaf) {
    extern __shared__ __align__(16) unsigned char raw[];
    auto& memory = *reinterpret_cast<block::RowsMemory<T, Shape>*>(raw);
    const Index first = static_cast<Index>(blockIdx.x) * block::solved_rows;
    const int rows = static_cast<int>(min(static_cast<Index>(block::solved_rows), below.rows() - first));
    const block::Rows<T, Shape> own{below.data() + first * below.row_stride(), below.row_stride(), rows, leaf};
    block::solve_rows<wide>(BlockThread(), memory, own);
}

template <class Shape, class T>
void factor_leaf(Stream stream, View<T> square, LeafResults<T> results, Index first, Index* info) {
    using Memory = block::LeafMemory<T, Shape>;
    const auto kernel = leaf_kernel<Shape, T>;
    allow_shared(reinterpret_cast<const void*>(kernel), sizeof(Memory), stream);
    kernel<<<1, Memory::warps * block::lanes, sizeof(Memory), native(stream)>>>(
        {square.data(), square.row_stride(), static_cast<int>(square.rows()), results.inverses, results.use_inverse},
        first, info);
    check_launch("leaf_kernel", stream);
}

template <class Shape, class T>
void solve_rows(Stream stream, View<const T> square, View<T> below, LeafResults<T> results) {
    if (below.empty()) return;
    constexpr std::size_t bytes = sizeof(block::RowsMemory<T, Shape>);
    const bool wide =
        reinterpret_cast<std::uintptr_t>(square.data()) % sizeof(Pair<T>) == 0 && square.row_stride() % 2 == 0;
    const auto kernel = wide ? rows_kernel<true, Shape, T> : rows_kernel<false, Shape, T>;
    allow_shared(reinterpret_cast<const void*>(kernel), bytes, stream);
    kernel<<<blocks(solved_rows_grid(below.rows(), block::solved_rows)), block::solving_warps<Shape> * block::lanes,
             bytes, native(stream)>>>(below, {square.data(), square.row_stride(), static_cast<int>(square.rows()),
                                              results.inverses, results.use_inverse});
    check_launch("rows_kernel", stream);
}

/// Columns [first, first + cols) of the panel, from row `first` down:
///
///     A_00 |        factor A_00 and solve for A_10
///     -----+-----   A_11 -= A_10 A_10'^T, A_10' being the rows of A_10 left of A_11's square
///     A_10 | A_11   factor A_11
template <class Shape, class T>
void factor_columns(Stream stream, View<T> panel, Index first, Index cols, ProductPrecision products, Index* info,
                    LeafResults<T> all_leaves) {
    const Index rows = panel.rows() - first;
    if (cols <= Shape::columns) {
        const LeafResults<T> results{all_leaves.inverses + first * Shape::tile,
                                     all_leaves.use_inverse + first / Shape::tile};
        const View<T> square = panel.block(first, first, cols, cols);
        factor_leaf<Shape, T>(stream, square, results, first, info);
        solve_rows<Shape, T>(stream, square, panel.block(first + cols, first, rows - cols, cols), results);
        return;
    }
    const Index left = divide_up(divide_up(cols, Shape::columns), 2) * Shape::columns, right = cols - left,
                next = first + left;
    factor_columns<Shape, T>(stream, panel, first, left, products, info, all_leaves);
    subtract_transposed_products<T>(stream, 1, {panel.block(next, first, rows - left, left)},
                                    {panel.block(next, first, right, left)},
                                    Strided<T>{panel.block(next, next, rows - left, right)}, products);
    factor_columns<Shape, T>(stream, panel, next, right, products, info, all_leaves);
}

/// The leaf's columns and tile are two of tuning_limits.
template <class T>
void factor_recursively(Stream stream, View<T> panel, const CholeskyPanelPlan& plan, Index* info,
                        LeafResults<T> results) {
    const auto with_tiles_of = [&]<int tile>() {
        const auto factor = plan.leaf.columns == 64 ? factor_columns<block::LeafShape<64, tile>, T>
                                                    : factor_columns<block::LeafShape<128, tile>, T>;
        factor(stream, panel, 0, panel.cols(), plan.products, info, results);
    };
    plan.leaf.tile == 16 ? with_tiles_of.template operator()<16>() : with_tiles_of.template operator()<32>();
}

template <bool wide, int stage_cols, class T>
__global__ void __launch_bounds__(block::fused_warps* block::lanes, 1)
    fused_kernel(block::FusedPanel<T> panel, Index* info) {
    extern __shared__ __align__(16) unsigned char raw[];
    const BlockThread thread;
    auto& memory = *reinterpret_cast<block::FusedMemory<T, stage_cols>*>(raw);
    block::FusedBlock<wide, T, stage_cols, BlockThread>(thread, memory, panel).run(info);
}

template <int stage_cols, class T>
void factor_fused(Stream stream, const block::FusedPanel<T>& panel, Index* info) {
    check(cudaMemsetAsync(panel.counters, 0, panel.counters_of(panel.squares) * sizeof(int), native(stream)),
          "cudaMemsetAsync", stream);
    constexpr std::size_t bytes = sizeof(block::FusedMemory<T, stage_cols>);
    const bool wide = reinterpret_cast<std::uintptr_t>(panel.a) % 16 == 0 && panel.ld * Index{sizeof(T)} % 16 == 0;
    const auto kernel = wide ? fused_kernel<true, stage_cols, T> : fused_kernel<false, stage_cols, T>;
    allow_shared(reinterpret_cast<const void*>(kernel), bytes, stream);
    const int at_once = std::min(stream.context()->multiprocessors, 1 + block::Schedule(panel.squares).tasks());
    kernel<<<static_cast<unsigned>(at_once), block::fused_warps * block::lanes, bytes, native(stream)>>>(panel, info);
    check_launch("fused_kernel", stream);
}

constexpr int band_threads = 256;

/// A block a row.
template <class T, bool restoring>
__global__ void __launch_bounds__(band_threads) band_kernel(View<T> a, View<T> saved) {
    for (Index i = blockIdx.x; i < a.rows(); i += gridDim.x) {
        const Index end = min(saved.cols(), a.cols() - i);
        for (Index d = 1 + threadIdx.x; d < end; d += band_threads) {
            if constexpr (restoring) {
                a(i, i + d) = saved(i, d);
            } else {
                saved(i, d) = a(i, i + d);
            }
        }
    }
}

template <class T, bool restoring>
void copy_band(Stream stream, View<T> a, View<T> saved) {
    assert(saved.rows() == a.rows());
    if (a.rows() < 1 || saved.cols() < 2) return;
    band_kernel<T, restoring><<<blocks(band_grid(a.rows())), band_threads, 0, native(stream)>>>(a, saved);
    check_launch("band_kernel", stream);
}

template <class T>
View<T> writable(View<const T> a) {
    return View<T>(const_cast<T*>(a.data()), a.rows(), a.cols(), a.row_stride(), a.col_stride());
}

/// Where a workspace has what: as much of it as any plan takes.
template <class T>
struct Workspace {
    LeafResults<T> results;
    int* counters;

    Workspace(void* memory, Index cols)
        : results{static_cast<T*>(memory),
                  reinterpret_cast<int*>(static_cast<T*>(memory) + in_leaves(cols) * largest_tile)},
          counters(results.use_inverse + in_leaves(cols) / smallest_tile) {}

    static std::size_t bytes(Index cols, int counters) {
        const auto tiles = static_cast<std::size_t>(in_leaves(cols) / smallest_tile);
        return static_cast<std::size_t>(in_leaves(cols) * largest_tile) * sizeof(T) +
               (tiles + static_cast<std::size_t>(counters)) * sizeof(int);
    }

  private:
    static constexpr Index widest_leaf = tuning_limits::cholesky_leaf_columns.back(),
                           smallest_tile = tuning_limits::cholesky_leaf_tiles.front(),
                           largest_tile = tuning_limits::cholesky_leaf_tiles.back();
    static_assert(block::tile <= largest_tile && block::tile >= smallest_tile && widest_leaf % block::side == 0);

    static constexpr Index in_leaves(Index cols) { return divide_up(cols, widest_leaf) * widest_leaf; }
};

block::Squares squares_of(Index rows, Index cols) { return {static_cast<int>(rows), static_cast<int>(cols)}; }

}  // namespace

template <class T>
void run_on_gpu(CholeskyPanel<T>, Stream stream, View<T> panel, const CholeskyPanelPlan& plan, Index* info,
                void* workspace) {
    assert(panel.rows() >= panel.cols() && (panel.col_stride() == 1 || panel.cols() <= 1));
    if (panel.empty()) return clear(stream, info);
    const Workspace<T> parts(workspace, panel.cols());
    const block::FusedPanel<T> fused{
        panel.data(),           panel.row_stride(),        squares_of(panel.rows(), panel.cols()),
        parts.results.inverses, parts.results.use_inverse, parts.counters};
    using cuda_kernels::CholeskyPanelDesign;
    switch (plan.design) {
        case CholeskyPanelDesign::recursive: return factor_recursively<T>(stream, panel, plan, info, parts.results);
        case CholeskyPanelDesign::fused: return factor_fused<block::narrow_stage>(stream, fused, info);
        case CholeskyPanelDesign::fused_wide: return factor_fused<block::wide_stage>(stream, fused, info);
    }
}

template <class T>
void run_on_gpu(SubtractTransposedProducts<T>, Stream stream, Index count, Strided<const T> a, Strided<const T> b,
                Strided<T> c, ProductPrecision precision) {
    cuda_detail::batched_gemm<T>(stream, count, T{-1}, {a.first, a.stride}, {b.first, b.stride, true}, T{1},
                                 cuda_detail::Batched<T>{c.first, c.stride}, precision);
}

template <class T>
void run_on_gpu(SaveAboveDiagonal<T>, Stream stream, View<const T> a, View<T> saved) {
    copy_band<T, false>(stream, writable(a), saved);
}

template <class T>
void run_on_gpu(RestoreAboveDiagonal<T>, Stream stream, View<const T> saved, View<T> a) {
    copy_band<T, true>(stream, a, writable(saved));
}

template <>
const SubtractTransposedProducts<float>::Gpu Code<SubtractTransposedProducts<float>>::gpu =
    gpu_code<SubtractTransposedProducts<float>>;
template <>
const SubtractTransposedProducts<double>::Gpu Code<SubtractTransposedProducts<double>>::gpu =
    gpu_code<SubtractTransposedProducts<double>>;
template <>
const CholeskyPanel<float>::Gpu Code<CholeskyPanel<float>>::gpu = gpu_code<CholeskyPanel<float>>;
template <>
const CholeskyPanel<double>::Gpu Code<CholeskyPanel<double>>::gpu = gpu_code<CholeskyPanel<double>>;
template <>
const SaveAboveDiagonal<float>::Gpu Code<SaveAboveDiagonal<float>>::gpu = gpu_code<SaveAboveDiagonal<float>>;
template <>
const SaveAboveDiagonal<double>::Gpu Code<SaveAboveDiagonal<double>>::gpu = gpu_code<SaveAboveDiagonal<double>>;
template <>
const RestoreAboveDiagonal<float>::Gpu Code<RestoreAboveDiagonal<float>>::gpu = gpu_code<RestoreAboveDiagonal<float>>;
template <>
const RestoreAboveDiagonal<double>::Gpu Code<RestoreAboveDiagonal<double>>::gpu =
    gpu_code<RestoreAboveDiagonal<double>>;

}  // namespace basalt::on_stream

namespace basalt::cuda_detail {

template <class T>
std::size_t cholesky_workspace(Index rows, Index cols) {
    // with fewer columns there may be one block of rows more
    return on_stream::Workspace<T>::bytes(cols,
                                          cholesky::FusedPanel<T>::counters_of(on_stream::squares_of(rows, cols)) + 1);
}

template std::size_t cholesky_workspace<float>(Index, Index);
template std::size_t cholesky_workspace<double>(Index, Index);

}  // namespace basalt::cuda_detail
