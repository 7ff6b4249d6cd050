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
    const TilePlace own(number_in_block(thread));
    int from[lane_rows];
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) from[i] = memory.stored(j / width)[own.row + 8 * i];
    BASALT_ROLLED
    for (int first = j; first < j + width; first += tile) {
        const LanePart part(number_in_block(thread) % lanes);
        const WarpColumns<T> columns = memory.columns_of(number_in_block(thread) / lanes);
        LeftOperand<T> l;  // its loads run while U is solved
        const int column = (first + part.quad) * a.ld;
        BASALT_UNROLL
        for (int h = 0; h < Chunk<T>::size; ++h) {
            BASALT_UNROLL
            for (int i = 0; i < lane_rows; ++i) l.value[i][h] = a.a[from[i] + column + 4 * h * a.ld];
        }
        if (first + tile < end) prefetch_tile(thread, a, first + tile, first + tile);
        publish_pivot_rows(thread, memory, rows, first, -1);
        thread.sync();
        if constexpr (sizeof(T) == 8) {
            multiply_pivot_rows(thread, memory, first);
        } else {
            solve_pivot_rows(thread, memory, first, 0);
            columns.store(part, l);
        }
        thread.sync();
        subtract_product<LuTileMemory<T>::tiles, 4>(thread, l, columns, memory.upper(), first, 0, rows.c);
    }
}

/// The lane's elements in tile b of the panel's columns, from shared memory or to it.
template <Transfer transfer, class T, class Thread>
BASALT_DEVICE void move_tile(const Thread& thread, const LuTileMemory<T>& memory, int b, LuTileRows<T>& rows) {
    constexpr int size = Chunk<T>::size;
    const int number = number_in_block(thread);
    const LanePart part(number % lanes);
    const WarpColumns<T> columns = memory.columns_of(number / lanes);
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

/// The elements of the thread's own row in the tile that the warp put into shared memory.
template <class T, class Thread>
BASALT_DEVICE void read_own_row(const Thread& thread, const LuTileMemory<T>& memory, T (&v)[tile_columns<T>]) {
    const int number = number_in_block(thread);
    const WarpColumns<T> columns = memory.columns_of(number / lanes);
    BASALT_UNROLL
    for (int d = 0; d < tile_columns<T>; ++d) v[d] = *columns.at(number % lanes, d);
}

/// Tile b of the panel whose first column is j, and the products with it.
template <class T, class Thread>
BASALT_DEVICE void factor_tile(const Thread& thread, const LuTileMemory<T>& memory, int n, int j, int b,
                               Pivoting pivoting, LuTileRows<T>& rows) {
    constexpr int tile = tile_columns<T>, tiles = LuTileMemory<T>::tiles;
    const int first = j + b * tile;
    thread.sync_warp();  // with the left operand of the last product read
    move_tile<Transfer::to_shared>(thread, memory, b, rows);
    thread.sync_warp();
    T v[tile];
    read_own_row(thread, memory, v);
    eliminate_tile(thread, memory.candidates, memory.pivot(first), n, first, pivoting, rows.place, v);
    const int number = number_in_block(thread);
    const WarpColumns<T> columns = memory.columns_of(number / lanes);
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) *columns.at(number % lanes, d) = v[d];
    const int own = rows.place - first;
    if (own >= 0 && own < tile) {
        BASALT_UNROLL
        for (int d = 0; d < tile; ++d) {
            *memory.upper().at(rows.place, b * tile + d) = v[d];
            memory.square(first)[d * tile + own] = v[d];
        }
    }
    *memory.place(number) = rows.place;
    rows.read_turns(thread, memory);
    move_tile<Transfer::from_shared>(thread, memory, b, rows);
    publish_pivot_rows(thread, memory, rows, first, b);
    if (b == tiles - 1) return;
    thread.sync();
    solve_pivot_rows(thread, memory, first, (b + 1) * tile);
    LeftOperand<T> l;
    if constexpr (sizeof(T) == 8)
        l = memory.columns_of(number_in_block(thread) / lanes).left_operand(LanePart(number_in_block(thread) % lanes));
    thread.sync();
    subtract_product<tiles, 4>(thread, l, memory.columns_of(number_in_block(thread) / lanes), memory.upper(), first,
                               b + 1, rows.c);
}

/// Rows begin .. end of shared memory to the same rows of the panel of A whose first column is j. `begin` is a multiple
/// of 32.
template <class T, class Thread>
BASALT_DEVICE void write_rows(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a, int j,
                              int begin, int end) {
    BASALT_ROLLED
    for (int c = number_in_block(thread) / lanes; c < LuTileMemory<T>::width && j + c < a.n; c += thread.warps) {
        const int first = begin + number_in_block(thread) % lanes;
        T* const column = a.at(0, j + c);
        const T* source = memory.upper().at(first, c);
        BASALT_ROLLED
        for (int i = first; i < end; i += lanes) {
            column[i] = *source;
            source += memory.upper().next_warp;
        }
    }
}

/// Writes the panel whose first column is j. The rows of its pivots and of earlier ones, `finished` of them, lie in
/// shared memory.
template <class T, class Thread>
BASALT_DEVICE void store_panel(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a, int j,
                               int finished, const LuTileRows<T>& rows) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>;
    const bool left = number_in_block(thread) < a.n && rows.place >= finished;
    const unsigned all = thread.ballot(left), before = all & ((1U << thread.lane) - 1);
    if (thread.lane == 0) *memory.unfinished(thread.warp) = count_bits(all);
    thread.sync();
    if constexpr (sizeof(T) == 8) invert_squares(thread, memory, j);
    write_rows(thread, memory, a, j, 0, finished);
    if (finished == a.n) return;
    int at = finished + count_bits(before);
    BASALT_ROLLED
    for (int w = 0; w < thread.warp; ++w) at += *memory.unfinished(w);
    std::uint16_t* const stored = memory.stored(j / LuTileMemory<T>::width);
    // rows that need no more of this panel read one and the same
    const int elsewhere = number_in_block(thread) < a.n && rows.place >= j ? rows.place : 0;
    stored[number_in_block(thread)] = static_cast<std::uint16_t>(left ? at : elsewhere);
    thread.sync_warp();
    const TilePlace own(number_in_block(thread));
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) {
        const int number = own.row + 8 * i, to = stored[number], ld = recomputed(a.ld);
        if (number >= a.n || *memory.place(number) < finished) continue;
        T* const row = a.a + (to + (j + own.quad * size) * ld);
        BASALT_UNROLL
        for (int b = 0; b < LuTileMemory<T>::tiles; ++b) {
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) row[(b * tile + e) * ld] = rows.c[i][b * size + e];
        }
    }
}

/// INFO becomes the first zero on the diagonal of U among the finished rows of the panel whose first column is j, from
/// 1, unless an earlier panel has one. The first warp comes here.
template <class T, class Thread>
BASALT_DEVICE void find_zero_pivot(const Thread& thread, const LuTileMemory<T>& memory, int j, int finished) {
    BASALT_UNROLL
    for (int begin = 0; begin < LuTileMemory<T>::width; begin += lanes) {
        const int lane = number_in_block(thread), k = j + begin + lane;
        const unsigned zeros = thread.ballot(k < finished && is_zero(*memory.upper().at(k < finished ? k : 0, k - j)));
        if (lane == 0 && zeros != 0 && *memory.info() == 0) *memory.info() = j + begin + lowest_bit(zeros) + 1;
    }
}

/// The rows below the panels' pivots, in the order of the pivots.
template <class T, class Thread>
BASALT_DEVICE void put_rows_in_order(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a,
                                     const LuTileRows<T>& rows) {
    constexpr int width = LuTileMemory<T>::width, at_once = 16;
    BASALT_ROLLED
    for (int j = 0; j + width < a.n; j += width) {
        if (number_in_block(thread) < a.n && rows.place >= j + width) {
            const T* const from = a.at(memory.stored(j / width)[number_in_block(thread)], j);
            BASALT_ROLLED
            for (int c0 = 0; c0 < width; c0 += at_once) {
                BASALT_UNROLL
                for (int c = c0; c < c0 + at_once; ++c) *memory.upper().at(rows.place, c) = from[c * a.ld];
            }
        }
        thread.sync();
        write_rows(thread, memory, a, j, j + width, a.n);
        thread.sync();
    }
}

/// A := its factors, in place. `pivots` is null without pivoting. Returns INFO.
template <class T, class Thread>
BASALT_DEVICE int lu_factor_tiles(const Thread& thread, const LuTileMemory<T>& memory, const LuTileMatrix<T>& a,
                                  Index* pivots) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>, width = LuTileMemory<T>::width;
    const Pivoting pivoting = pivots != nullptr ? Pivoting::partial : Pivoting::none;
    const int n = a.n;
    if (number_in_block(thread) == 0) *memory.info() = 0;
    LuTileRows<T> rows;
    rows.place = number_in_block(thread);
    *memory.place(rows.place) = rows.place;
    rows.read_turns(thread, memory);
    BASALT_ROLLED
    for (int j = 0; j < n; j += width) {
        const TilePlace own(number_in_block(thread));
        BASALT_UNROLL
        for (int i = 0; i < lane_rows; ++i) {
            const int row = own.row + 8 * i;
            // NaN: padding is never a pivot
            const T none = row < n ? T{0} : std::numeric_limits<T>::quiet_NaN();
            BASALT_UNROLL
            for (int b = 0; b < LuTileMemory<T>::tiles; ++b) {
                BASALT_UNROLL
                for (int e = 0; e < size; ++e) {
                    const int column = j + b * tile + own.quad * size + e;
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
        if (number_in_block(thread) < lanes) find_zero_pivot(thread, memory, j, finished);
        thread.sync();
    }
    if (pivots != nullptr) {
        if (number_in_block(thread) < n) pivots[number_in_block(thread)] = *memory.pivot(number_in_block(thread)) + 1;
        put_rows_in_order(thread, memory, a, rows);
    }
    return *memory.info();
}

}  // namespace basalt::cuda_detail::batch
