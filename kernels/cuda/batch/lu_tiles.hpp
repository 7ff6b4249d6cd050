#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/batch/lu_tile_memory.hpp"
#include "kernels/cuda/batch/lu_tile_rows.hpp"

/// LU of orders 33 to 512: a matrix in a block, left-looking by panels of 32 doubles or 64 floats, whose rows stay in
/// registers (tile_rows.hpp).
///
/// Rows stay with their lanes, and the block knows their places among the pivots. For a tile of the panel, each thread
/// takes the elements of one row from shared memory and eliminates them (pivot_search.hpp). Products with finished
/// columns follow a tile at a time: the pivots' rows go to shared memory, are solved there, and become the right
/// operand. Products also change rows that were pivots before; nothing reads those again.
///
/// A finished panel overwrites its columns of A. The rows of pivots go to their places. The others follow, in the order
/// that they had, so that lanes read neighbours, and are put in the order of the pivots at the end.
namespace basalt::cuda_detail::batch {

/// Starts to bring tile_columns columns of A from column j on to the second cache, rows `begin` and following.
template <class T, class Thread>
BASALT_DEVICE void prefetch_tile(const Thread& thread, const LuTileMatrix<T>& a, int j, int begin) {
    constexpr int line = 64 / static_cast<int>(sizeof(T)), tile = tile_columns<T>;
    BASALT_ROLLED
    for (int u = thread.warp; u < tile; u += thread.warps) {
        if (j + u >= a.n) return;
        BASALT_ROLLED
        for (int i = begin + thread.lane * line; i < a.n; i += lanes * line) thread.prefetch(a.at(i, j + u));
    }
}

/// The products with columns j .. j + width, which are finished and lie in A.
template <class T, class Thread>
BASALT_DEVICE void apply_finished_panel(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a,
                                        int j, int end, LuTileRows<T>& rows) {
    constexpr int tile = tile_columns<T>, width = LuTileMemory<T>::width;
    const LanePart part(thread.lane);
    const WarpColumns<T> columns = memory.columns_of(thread.warp);
    int from[lane_rows];
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) from[i] = memory.stored[j / width * memory.order + rows.first + 8 * i];
    BASALT_ROLLED
    for (int first = j; first < j + width; first += tile) {
        LeftOperand<T> l;  // its loads run while U is solved
        const int column = (first + part.quad) * a.ld;
        BASALT_UNROLL
        for (int h = 0; h < Chunk<T>::size; ++h) {
            BASALT_UNROLL
            for (int i = 0; i < lane_rows; ++i) l.value[i][h] = a.a[from[i] + column + 4 * h * a.ld];
        }
        if (first + tile < end) prefetch_tile(thread, a, first + tile, first + tile);
        publish_pivot_rows(memory, rows, part.quad, first, -1);
        thread.sync();
        if constexpr (sizeof(T) == 8) {
            multiply_pivot_rows(thread, memory, first);
        } else {
            solve_pivot_rows(thread, memory, first, 0);
            columns.store(part, l);
        }
        thread.sync();
        subtract_product<LuTileMemory<T>::tiles>(thread, l, columns, memory.upper, first, 0, rows.c);
    }
}

/// The lane's elements in tile b of the panel's columns, from shared memory or to it.
enum class Transfer { from_shared, to_shared };
template <Transfer transfer, class T>
BASALT_DEVICE void move_tile(const WarpColumns<T>& columns, LanePart part, int b, LuTileRows<T>& rows) {
    constexpr int size = Chunk<T>::size;
    BASALT_UNROLL
    for (int all = 0; all < LuTileMemory<T>::tiles; ++all) {
        if (all != b) continue;
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) {
                T* const shared = columns.at(part.group + 8 * i, part.quad * size + e);
                T& own = rows.c[i][all * size + e];
                if constexpr (transfer == Transfer::to_shared) {
                    *shared = own;
                } else {
                    own = *shared;
                }
            }
        }
    }
}

/// Tile b of the panel whose first column is j, and the products with it.
template <class T, class Thread>
BASALT_DEVICE void factor_tile(const Thread& thread, const LuTileMemory<T>& memory, int n, int j, int b,
                               Pivoting pivoting, LuTileRows<T>& rows) {
    constexpr int tile = tile_columns<T>, tiles = LuTileMemory<T>::tiles;
    const LanePart part(thread.lane);
    const WarpColumns<T> columns = memory.columns_of(thread.warp);
    const int first = j + b * tile;
    thread.sync_warp();  // with the left operand of the last product read
    move_tile<Transfer::to_shared>(columns, part, b, rows);
    thread.sync_warp();
    T v[tile];
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) v[d] = *columns.at(thread.lane, d);
    eliminate_tile(thread, memory.candidates, memory.pivots, n, first, pivoting, rows.place, v);
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) *columns.at(thread.lane, d) = v[d];
    const int own = rows.place - first;
    if (own >= 0 && own < tile) {
        BASALT_UNROLL
        for (int d = 0; d < tile; ++d) {
            *memory.upper.at(rows.place, b * tile + d) = v[d];
            memory.squares[(first + d) * tile + own] = v[d];
        }
    }
    memory.places[rows.number] = rows.place;
    rows.read_turns(thread, memory);
    move_tile<Transfer::from_shared>(columns, part, b, rows);
    publish_pivot_rows(memory, rows, part.quad, first, b);
    if (b == tiles - 1) return;
    thread.sync();
    solve_pivot_rows(thread, memory, first, (b + 1) * tile);
    LeftOperand<T> l;
    if constexpr (sizeof(T) == 8) l = columns.left_operand(part);
    thread.sync();
    subtract_product<tiles>(thread, l, columns, memory.upper, first, b + 1, rows.c);
}

/// Rows begin .. end of shared memory to the same rows of the panel of A whose first column is j. `begin` is a multiple
/// of 32.
template <class T, class Thread>
BASALT_DEVICE void write_rows(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a, int j,
                              int begin, int end) {
    BASALT_ROLLED
    for (int c = thread.warp; c < LuTileMemory<T>::width && j + c < a.n; c += thread.warps) {
        T* const column = a.at(0, j + c);
        const T* source = memory.upper.at(begin + thread.lane, c);
        BASALT_ROLLED
        for (int i = begin + thread.lane; i < end; i += lanes) {
            column[i] = *source;
            source += memory.upper.next_warp;
        }
    }
}

/// Writes the panel whose first column is j. The rows of its pivots and of earlier ones, `finished` of them, lie in
/// shared memory.
template <class T, class Thread>
BASALT_DEVICE void store_panel(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a, int j,
                               int finished, const LuTileRows<T>& rows) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>;
    const bool left = rows.number < a.n && rows.place >= finished;
    const unsigned all = thread.ballot(left), before = all & ((1U << thread.lane) - 1);
    if (thread.lane == 0) memory.counts[thread.warp] = count_bits(all);
    thread.sync();
    if constexpr (sizeof(T) == 8) invert_squares(thread, memory, j);
    write_rows(thread, memory, a, j, 0, finished);
    if (finished == a.n) return;
    int at = finished + count_bits(before);
    BASALT_ROLLED
    for (int w = 0; w < thread.warp; ++w) at += memory.counts[w];
    std::uint16_t* const stored = memory.stored + j / LuTileMemory<T>::width * memory.order;
    // rows that need no more of this panel read one and the same
    const int elsewhere = rows.number < a.n && rows.place >= j ? rows.place : 0;
    stored[rows.number] = static_cast<std::uint16_t>(left ? at : elsewhere);
    thread.sync_warp();
    const int quad = LanePart(thread.lane).quad;
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) {
        const int number = rows.first + 8 * i, to = stored[number];
        if (number >= a.n || memory.places[number] < finished) continue;
        T* const row = a.at(to, j + quad * size);
        BASALT_UNROLL
        for (int b = 0; b < LuTileMemory<T>::tiles; ++b) {
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) row[(b * tile + e) * a.ld] = rows.c[i][b * size + e];
        }
    }
}

/// The first zero on the diagonal of U among the finished rows of the panel whose first column is j, from 1; 0 if there
/// is none. The result is that of the first warp.
template <class T, class Thread>
BASALT_DEVICE int first_zero_pivot(const Thread& thread, const LuTileMemory<T>& memory, int j, int finished) {
    BASALT_UNROLL
    for (int begin = 0; begin < LuTileMemory<T>::width; begin += lanes) {
        const int k = j + begin + thread.lane;
        const unsigned zeros = thread.ballot(k < finished && is_zero(*memory.upper.at(k < finished ? k : 0, k - j)));
        if (zeros != 0) return j + begin + lowest_bit(zeros) + 1;
    }
    return 0;
}

/// The rows below the panels' pivots, in the order of the pivots.
template <class T, class Thread>
BASALT_DEVICE void put_rows_in_order(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a,
                                     const LuTileRows<T>& rows) {
    constexpr int width = LuTileMemory<T>::width, at_once = 16;
    BASALT_ROLLED
    for (int j = 0; j + width < a.n; j += width) {
        if (rows.number < a.n && rows.place >= j + width) {
            const T* const from = a.at(memory.stored[j / width * memory.order + rows.number], j);
            BASALT_ROLLED
            for (int c0 = 0; c0 < width; c0 += at_once) {
                BASALT_UNROLL
                for (int c = c0; c < c0 + at_once; ++c) *memory.upper.at(rows.place, c) = from[c * a.ld];
            }
        }
        thread.sync();
        write_rows(thread, memory, a, j, j + width, a.n);
        thread.sync();
    }
}

/// A := its factors, in place. `pivots` is null without pivoting. Returns INFO in the first warp.
template <class T, class Thread>
BASALT_DEVICE int lu_factor_tiles(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a,
                                  Index* pivots) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>, width = LuTileMemory<T>::width;
    const LanePart part(thread.lane);
    const Pivoting pivoting = pivots != nullptr ? Pivoting::partial : Pivoting::none;
    const int n = a.n;
    int info = 0;
    LuTileRows<T> rows;
    rows.number = rows.place = thread.warp * lanes + thread.lane;
    rows.first = thread.warp * lanes + part.group;
    memory.places[rows.number] = rows.number;
    rows.read_turns(thread, memory);
    BASALT_ROLLED
    for (int j = 0; j < n; j += width) {
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            const int row = rows.first + 8 * i;
            // NaN: padding is never a pivot
            const T none = row < n ? T{0} : std::numeric_limits<T>::quiet_NaN();
            BASALT_UNROLL
            for (int b = 0; b < LuTileMemory<T>::tiles; ++b) {
                BASALT_UNROLL
                for (int e = 0; e < size; ++e) {
                    const int column = j + b * tile + part.quad * size + e;
                    rows.c[i][b * size + e] = row < n && column < n ? *a.at(row, column) : none;
                }
            }
        }
        BASALT_ROLLED
        for (int q = 0; q < j; q += width) apply_finished_panel(thread, memory, a, q, j, rows);
        BASALT_ROLLED
        for (int b = 0; b < LuTileMemory<T>::tiles && j + b * tile < n; ++b) {
            prefetch_tile(thread, a, j + width + b * tile, 0);
            factor_tile(thread, memory, n, j, b, pivoting, rows);
        }
        const int finished = j + width < n ? j + width : n;
        store_panel(thread, memory, a, recomputed(j), finished, rows);
        if (thread.warp == 0 && info == 0) info = first_zero_pivot(thread, memory, j, finished);
        thread.sync();
    }
    if (pivots != nullptr) {
        if (rows.number < n) pivots[rows.number] = memory.pivots[rows.number] + 1;
        put_rows_in_order(thread, memory, a, rows);
    }
    return info;
}

}  // namespace basalt::cuda_detail::batch
