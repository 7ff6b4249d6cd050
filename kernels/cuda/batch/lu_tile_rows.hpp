#pragma once

#include "kernels/cuda/batch/lu_tile_memory.hpp"

/// LU by tiles: the rows of a tile of pivots become rows of U in shared memory.
namespace basalt::cuda_detail::batch {

/// Puts rows that became pivots first .. first + tile into shared memory, but for tile `skipped` of their columns.
template <class T, class Thread>
BASALT_DEVICE void publish_pivot_rows(const Thread& thread, const LuTileMemory<T>& memory, const LuTileRows<T>& rows,
                                      int first, int skipped) {
    constexpr int size = Chunk<T>::size, tile = tile_columns<T>;
    const unsigned others = rows.turns ^ static_cast<unsigned>(first / tile) * 0x01010101U;
    if (((others - 0x01010101U) & ~others & 0x80808080U) == 0) return;  // no byte is zero
    const TilePlace own(number_in_block(thread));
    BASALT_UNROLL
    for (int i = 0; i < lane_rows; ++i) {
        if ((others >> (8 * i) & 0xffU) != 0) continue;
        const int place = *memory.place(own.row + 8 * i);
        BASALT_UNROLL
        for (int b = 0; b < LuTileMemory<T>::tiles; ++b) {
            if (b == skipped) continue;
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) *memory.upper().in_chunk(place, b, own.quad, e) = rows.c[i][b * size + e];
        }
    }
}

/// x := L^-1 x for a tile on the diagonal.
template <class T, int tile>
BASALT_DEVICE void solve_unit_lower(const T* square, T (&x)[tile]) {
    constexpr int size = Chunk<T>::size;
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) {
        BASALT_UNROLL
        for (int g = (d + 1) / size; g < tile / size; ++g) {
            const Chunk<T> chunk = load_chunk(square + d * tile + g * size);
            BASALT_UNROLL
            for (int e = 0; e < size; ++e) {
                if (g * size + e > d) x[g * size + e] -= chunk.value[e] * x[d];
            }
        }
    }
}

/// U := L^-1 U for rows first .. first + tile and columns `from` .. of the panel, a column a thread.
template <class T, class Thread>
BASALT_DEVICE void solve_pivot_rows(const Thread& thread, const LuTileMemory<T>& memory, int first, int from) {
    constexpr int tile = tile_columns<T>;
    const int j = from + number_in_block(thread);
    if (j >= LuTileMemory<T>::width) return;
    const auto column = memory.upper().column(first, j);
    T x[tile];
    BASALT_UNROLL
    for (int d = 0; d < tile; ++d) x[d] = *column.at(d);
    solve_unit_lower(memory.square(first), x);
    BASALT_UNROLL
    for (int d = 1; d < tile; ++d) *column.at(d) = x[d];
}

/// The inverses of L on the diagonal of the panel whose first column is j, in L's place.
template <class T, class Thread>
BASALT_DEVICE void invert_squares(const Thread& thread, const LuTileMemory<T>& memory, int j) {
    constexpr int tile = tile_columns<T>;
    BASALT_ROLLED
    for (int b = number_in_block(thread) / lanes; b < LuTileMemory<T>::tiles && j + b * tile < memory.order;
         b += thread.warps) {
        T* const square = memory.square(j + b * tile);
        T x[tile];
        BASALT_UNROLL
        for (int d = 0; d < tile; ++d) x[d] = thread.lane == d ? T{1} : T{0};
        solve_unit_lower(square, x);
        thread.sync_warp();
        BASALT_UNROLL
        for (int d = 0; d < tile; ++d) {
            if (thread.lane < tile) square[thread.lane * tile + d] = x[d];
        }
    }
}

/// U := L^-1 U for rows first .. first + 8 of the panel with the inverse of L, a tile of columns a warp. The product of
/// whole squares would make NaN of zero times infinity, so numbers that are not finite are multiplied one by one.
template <class Thread>
BASALT_DEVICE void multiply_pivot_rows(const Thread& thread, const LuTileMemory<double>& memory, int first) {
    const LanePart part(number_in_block(thread) % lanes);
    const double* const inverse = memory.square(first);
    BASALT_ROLLED
    for (int b = number_in_block(thread) / lanes; b < LuTileMemory<double>::tiles; b += thread.warps) {
        const double u0 = *memory.upper().in_block(first, part.quad, 0, b, part.group);
        const double u1 = *memory.upper().in_block(first, part.quad, 1, b, part.group);
        if (__builtin_expect(thread.ballot(!is_finite(u0) || !is_finite(u1)) == 0, 1)) {
            double x0 = 0, x1 = 0, below0 = 0, below1 = 0;
            thread.mma_16x8x8(x0, x1, below0, below1, inverse[part.quad * 8 + part.group], 0.0,
                              inverse[(part.quad + 4) * 8 + part.group], 0.0, u0, u1);
            thread.sync_warp();
            *memory.upper().in_chunk(first + part.group, b, part.quad, 0) = x0;
            *memory.upper().in_chunk(first + part.group, b, part.quad, 1) = x1;
            continue;
        }
        if (thread.lane >= 8) continue;
        const auto column = memory.upper().column(first, b * 8 + thread.lane);
        double x[8];
        BASALT_UNROLL
        for (int d = 7; d >= 0; --d) {
            x[d] = *column.at(d);
            BASALT_UNROLL
            for (int e = 0; e < d; ++e) x[d] += inverse[e * 8 + d] * *column.at(e);
            *column.at(d) = x[d];
        }
    }
}

}  // namespace basalt::cuda_detail::batch
