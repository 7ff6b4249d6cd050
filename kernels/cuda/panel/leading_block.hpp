#pragma once

#include <algorithm>

#include "kernels/cuda/panel/product.hpp"
#include "kernels/row_moves.hpp"

/// Applies a panel to the columns that are factored next, by blocks of threads: the columns' rows are exchanged as the
/// panel's were, U = L^-1 A right of the panel's triangle, and A -= L U below. One kernel does all three, since
/// launching each of them would take longer than computing it. Written without CUDA so that a test can run it on the
/// host.
///
/// A team of blocks has a strip of columns; each block has some of the rows below the triangle. It loads them into
/// registers, from their places before the exchanges, before anything is written. Every block solves for all of U, in
/// shared memory. `Team`: `arrive()` and `wait()`, a barrier of all its threads in two halves.
namespace basalt::cuda_detail {

constexpr int leading_warps = 8;
/// Of a block, below the triangle: two units to a warp.
constexpr int leading_block_rows = leading_warps * 2 * unit_rows;

template <class T>
struct LeadingShared {
    alignas(16) T u[strip_size];
    alignas(16) T l[triangle_size<T>(product_depth)];
    int top[product_depth];         ///< rows that become U's
    int below[leading_block_rows];  ///< and the block's
};

/// Row-major, `l_ld` and `a_ld` apart. L has `order` columns, a multiple of ProductRows::step up to product_depth, and
/// A `cols`, at most strip_cols; `rows` > order rows of both. `moves`: of `order` rows.
template <class T>
struct LeadingStrip {
    const T* l;
    int l_ld;
    T* a;
    int a_ld;
    int rows;
    int order;
    int cols;
    RowMoves moves;
};

/// Where A's rows come from: the top ones, and the block's, from `begin` to `end`.
template <class Thread, class T>
BASALT_DEVICE void find_sources(const Thread& thread, LeadingShared<T>& shared, const LeadingStrip<T>& s, int begin,
                                int end) {
    const int number = thread.warp * warp_lanes + thread.lane, threads = thread.warps * warp_lanes;
    const auto below = [&](int row) { return begin <= row && row < end; };
    BASALT_ROLLED
    for (int row = begin + number; row < end; row += threads) shared.below[row - begin] = row;
    thread.sync();
    BASALT_ROLLED
    for (int k = number; k < s.order; k += threads) {
        const int source = static_cast<int>(s.moves.top_source[k]), refill = static_cast<int>(s.moves.refill[k]);
        shared.top[k] = source;
        if (refill >= 0 && below(source)) shared.below[source - begin] = refill;
    }
    thread.sync();
}

/// Rows [begin, end) below the triangle, at most leading_warps * units * unit_rows, are the block's, and of U's rows
/// those numbered rank, rank + size and so on.
template <int units, class Thread, class T, class Team>
BASALT_DEVICE void update_leading(const Thread& thread, Team& team, LeadingShared<T>& shared, const LeadingStrip<T>& s,
                                  int begin, int end, int rank, int size) {
    find_sources(thread, shared, s, begin, end);
    const auto line = [&](int row) { return s.a + static_cast<Index>(row) * s.a_ld; };
    copy_lines_to_strips(
        thread, [&](int row) { return static_cast<const T*>(line(shared.top[row])); }, s.order, s.cols, shared.u);
    copy_triangle(thread, s.l, s.l_ld, s.order, shared.l);
    const int rows = end - begin, first = thread.warp * units * unit_rows;
    ProductRows<units, unit_tiles, T> product(
        thread,
        [&](int row) {
            return ProductLine<T>{s.l + static_cast<Index>(begin + row) * s.l_ld, line(begin + row),
                                  line(shared.below[row])};
        },
        std::min(first, rows - 1), rows, s.cols);
    thread.wait_for_copies();
    team.arrive();  // what the block needs of A has been read
    solve_strips(thread, s.order, s.cols, shared.u, shared.l);
    team.wait();
    if (first < rows) {
        product.template multiply<false>(thread, s.order, shared.u);
        product.template store<false>({});
    }
    BASALT_ROLLED
    for (int row = rank + thread.warp * size; row < s.order; row += thread.warps * size) {
        if (thread.lane < s.cols) line(row)[thread.lane] = shared.u[row * shared_ld + thread.lane];
    }
}

}  // namespace basalt::cuda_detail
