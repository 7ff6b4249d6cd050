#include "kernels/cuda/panel/steps.hpp"

#include <cassert>

#include "kernels/cuda/panel/pivot.cuh"
#include "kernels/cuda/panel/recursion.cuh"

namespace basalt::cuda_detail {

namespace {

constexpr int threads = step_threads;
constexpr int rows_at_once = threads / steps_width;

/// The best of searched_rows rows of column j. leaf is a view of the rows from its first diagonal element on.
template <class T>
__global__ void __launch_bounds__(threads) search_kernel(View<const T> leaf, int j, Candidate<T>* found) {
    const Index begin = j + blockIdx.x * searched_rows;
    Candidate<T> best = Candidate<T>::none();
#pragma unroll
    for (Index i = 0; i < searched_rows; i += threads) {
        const Index row = begin + i + threadIdx.x;
        if (row >= leaf.rows()) continue;
        const auto candidate = Candidate<T>::of(leaf(row, j), row, j);
        if (candidate.beats(best)) best = candidate;
    }
    best = best_of_block<threads>(best);
    if (threadIdx.x == 0) found[blockIdx.x] = best;
}

/// One block: the pivot among the candidates, and its row to the diagonal.
template <class T>
__global__ void __launch_bounds__(threads) exchange_kernel(View<T> leaf, Index first, int j, const Candidate<T>* found,
                                                           Index candidates, Index* pivots, Index* info) {
    Candidate<T> best = Candidate<T>::none();
    for (Index i = threadIdx.x; i < candidates; i += threads) {
        if (found[i].beats(best)) best = found[i];
    }
    best = best_of_block<threads>(best);
    const Index col = threadIdx.x;
    if (col == 0) {
        pivots[first + j] = first + best.row;
        if (best.magnitude == T{0} && *info == 0) *info = first + j + 1;
    }
    if (col < leaf.cols() && best.row != j) {
        const T pivot = leaf(best.row, col);
        leaf(best.row, col) = leaf(j, col);
        leaf(j, col) = pivot;
    }
}

/// Column j becomes multipliers, and their product with row j is subtracted right of it. steps_width lanes a row, one
/// of which scales for all.
template <class T>
__global__ void __launch_bounds__(threads) eliminate_kernel(View<T> leaf, int j) {
    const int col = static_cast<int>(threadIdx.x) % steps_width;
    const bool takes_part = col >= j && col < leaf.cols();
    const Scaling<T> scaled(leaf(j, j));
    const T u = takes_part ? leaf(j, col) : T{0};
    for (Index pass = j + 1 + static_cast<Index>(blockIdx.x) * rows_at_once; pass < leaf.rows();
         pass += static_cast<Index>(gridDim.x) * rows_at_once) {
        const Index row = pass + threadIdx.x / steps_width;
        const bool active = takes_part && row < leaf.rows();
        T value = active ? leaf(row, col) : T{0};
        if (col == j) value = scaled(value);
        const T multiplier = __shfl_sync(0xffffffffU, value, j, steps_width);
        if (col > j) value -= multiplier * u;
        if (active) leaf(row, col) = value;
    }
}

template <class T>
struct StepsLeaf {
    Stream stream;
    View<T> panel;
    Index* pivots;
    Index* info;
    void* workspace;
    Index columns;

    Index width(Index) const { return columns; }
    void interchange_outside(Index first, Index cols) const {
        cuda_detail::interchange_outside<T>(stream, panel, first, cols, pivots);
    }

    void factor(Index first, Index cols) const {
        factor_leaf_by_steps<T>(stream, panel, first, cols, pivots, info, workspace);
    }
};

}  // namespace

std::size_t steps_workspace(Index rows) {
    return static_cast<std::size_t>(divide_up(rows, searched_rows)) * sizeof(Candidate<double>);
}

template <class T>
void factor_leaf_by_steps(Stream stream, View<T> panel, Index first, Index cols, Index* pivots, Index* info,
                          void* workspace) {
    static_assert(sizeof(Candidate<T>) <= sizeof(Candidate<double>));
    assert(cols <= steps_width);
    const View<T> leaf = panel.block(first, first, panel.rows() - first, cols);
    auto* const found = static_cast<Candidate<T>*>(workspace);
    for (int j = 0; j < cols; ++j) {
        const Index candidates = divide_up(leaf.rows() - j, searched_rows), below = leaf.rows() - j - 1;
        search_kernel<T><<<blocks(search_grid(leaf.rows() - j)), threads, 0, native(stream)>>>(leaf, j, found);
        check_launch("search_kernel", stream);
        exchange_kernel<T><<<1, threads, 0, native(stream)>>>(leaf, first, j, found, candidates, pivots, info);
        check_launch("exchange_kernel", stream);
        if (below == 0) continue;
        eliminate_kernel<T><<<blocks(elimination_grid(below, rows_at_once)), threads, 0, native(stream)>>>(leaf, j);
        check_launch("eliminate_kernel", stream);
    }
}

template <class T>
void factor_by_steps(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, int width) {
    factor_recursively<T>(stream, panel,
                          StepsLeaf<T>{stream, panel, pivots, info, workspace, width == 0 ? steps_width : width});
}

template void factor_leaf_by_steps<float>(Stream, View<float>, Index, Index, Index*, Index*, void*);
template void factor_leaf_by_steps<double>(Stream, View<double>, Index, Index, Index*, Index*, void*);
template void factor_by_steps<float>(Stream, View<float>, Index*, Index*, void*, int);
template void factor_by_steps<double>(Stream, View<double>, Index*, Index*, void*, int);

}  // namespace basalt::cuda_detail
