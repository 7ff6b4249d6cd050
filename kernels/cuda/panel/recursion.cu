#include "kernels/cuda/panel/recursion.cuh"

#include <cassert>

namespace basalt::cuda_detail {

namespace {

constexpr int strip = interchange_strip;
constexpr int rows_at_once = 16;
constexpr int interchange_threads = strip * rows_at_once;
constexpr int most_rows = 2 * most_interchanges;  // that `most_interchanges` may move

/// The rows that the interchanges move, and where their new contents are before.
struct Moves {
    int pivot[most_interchanges];
    int target[most_rows];  // or -1
    int source[most_rows];
};

/// Row `row` is followed back through all interchanges. A thread a row: those at the top, and those that a pivot names.
__device__ void find_moves(Moves& moves, int thread, int count) {
    if (thread >= 2 * count) return;
    const int row = thread < count ? thread : moves.pivot[thread - count];
    bool named_before = thread >= count && row < count;
    for (int k = 0; k < thread - count; ++k) named_before = named_before || moves.pivot[k] == row;
    int source = row;
    for (int k = count - 1; k >= 0; --k) {
        const int pivot = moves.pivot[k];
        source = source == k ? pivot : source == pivot ? k : source;
    }
    moves.target[thread] = named_before || source == row ? -1 : row;
    moves.source[thread] = source;
}

/// `panel` begins with row `first`. A block moves a strip of columns: all of it is read before the first row is
/// written.
template <class T>
__global__ void __launch_bounds__(interchange_threads)
    interchange_kernel(View<T> panel, Index first, int cols, const Index* pivots) {
    constexpr int passes = most_rows / rows_at_once;
    __shared__ Moves moves;
    const int lane = static_cast<int>(threadIdx.x), top = static_cast<int>(threadIdx.y), thread = top * strip + lane;
    if (thread < cols) moves.pivot[thread] = static_cast<int>(pivots[first + thread] - first);
    __syncthreads();
    find_moves(moves, thread, cols);
    __syncthreads();

    const Index outside = static_cast<Index>(blockIdx.x) * strip + lane,
                col = outside < first ? outside : outside + cols;
    T moving[passes];
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
        const int n = pass * rows_at_once + top;
        if (col < panel.cols() && n < 2 * cols && moves.target[n] >= 0) moving[pass] = panel(moves.source[n], col);
    }
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
        const int n = pass * rows_at_once + top;
        if (col < panel.cols() && n < 2 * cols && moves.target[n] >= 0) panel(moves.target[n], col) = moving[pass];
    }
}

}  // namespace

template <class T>
void interchange_outside(Stream stream, View<T> panel, Index first, Index cols, const Index* pivots) {
    assert(cols <= most_interchanges);
    const Index outside = panel.cols() - cols;
    if (outside == 0) return;
    interchange_kernel<T><<<blocks(interchange_grid(outside)), dim3(strip, rows_at_once), 0, native(stream)>>>(
        panel.block(first, 0, panel.rows() - first, panel.cols()), first, static_cast<int>(cols), pivots);
    check_launch("interchange_kernel", stream);
}

template void interchange_outside<float>(Stream, View<float>, Index, Index, const Index*);
template void interchange_outside<double>(Stream, View<double>, Index, Index, const Index*);

}  // namespace basalt::cuda_detail
