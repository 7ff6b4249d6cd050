#pragma once

#include "kernels/cpu/simd/gemm_kernels.hpp"
#include "kernels/cpu/simd/transpose_kernels.hpp"

namespace basalt::simd {
namespace {

/// What brings a block of the panel's columns into scratch: updated and transposed on the way, so that each
/// element of the panel is read once.
template <class T, int Bytes, int TileRows>
struct BlockLoad {
    using G = Gemm<T, Bytes, TileRows>;
    using P = Transpose<T, Bytes>;
    using V = Vector<T, Bytes>;
    using Type = typename V::Type;
    static constexpr int lanes = V::lanes;
    static constexpr Index strip = G::strip;

    /// Vectors of columns of a tile, whose rows are a register's lanes: what the registers hold.
    static constexpr int tile_vectors = 2 * lanes <= (Bytes == 64 ? 16 : 8) ? 2 : 1;
    /// Rows that take part in all the strips of B before the next rows: they stay in the first cache.
    static constexpr Index chunk = 3 * lanes;
    static constexpr Index buffer_ld = max_block_cols + G::line;

    static void load_block(Index rows, Index cols, Index depth, const T* c, const T* a, Index ld, const T* packed,
                           Index packed_rows, T* to, Index to_ld) {
        const Index whole_rows = rows / lanes * lanes, whole_cols = cols / strip * strip;
        for (Index i = 0; i < whole_rows; i += chunk) {
            const Index end = whole_rows - i < chunk ? whole_rows : i + chunk;
            for (Index j = 0; j < whole_cols; j += strip) {
                for (Index r = i; r < end; r += lanes) {
                    strip_tile(depth, c + r * ld + j, a + r * ld, ld, packed + j * packed_rows, to + j * to_ld + r,
                               to_ld);
                }
            }
        }
        load_rest(whole_rows, cols - whole_cols, depth, c + whole_cols, a, ld, packed + whole_cols * packed_rows,
                  packed_rows, to + whole_cols * to_ld, to_ld);
        load_rest(rows - whole_rows, cols, depth, c + whole_rows * ld, a + whole_rows * ld, ld, packed, packed_rows,
                  to + whole_rows, to_ld);
    }

    /// `lanes` rows of a whole strip.
    static void strip_tile(Index depth, const T* c, const T* a, Index ld, const T* packed, T* to, Index to_ld) {
#pragma GCC unroll 2
        for (int v = 0; v < strip / lanes; v += tile_vectors) {
            tile(depth, c + v * lanes, a, ld, packed + v * lanes, to + v * lanes * to_ld, to_ld);
        }
    }

    static void tile(Index depth, const T* c, const T* a, Index ld, const T* packed, T* to, Index to_ld) {
        for (int i = 0; i < lanes; ++i) __builtin_prefetch(c + i * ld);
        Type sum[lanes][tile_vectors] = {};
        G::template accumulate<lanes, tile_vectors, strip>(depth, a, ld, packed, sum);
#pragma GCC unroll 2
        for (int v = 0; v < tile_vectors; ++v) {
            Type row[lanes];
#pragma GCC unroll 16
            for (int i = 0; i < lanes; ++i) row[i] = V::load(c + i * ld + v * lanes) - sum[i][v];
            P::template butterflies<1>(row);
#pragma GCC unroll 16
            for (int j = 0; j < lanes; ++j) V::store(to + (v * lanes + j) * to_ld, row[j]);
        }
    }

    /// Rows or columns too few for whole tiles, through a buffer.
    static void load_rest(Index rows, Index cols, Index depth, const T* c, const T* a, Index ld, const T* packed,
                          Index packed_rows, T* to, Index to_ld) {
        if (cols == 0) return;
        T buffer[TileRows * buffer_ld];
        for (Index i = 0; i < rows; i += TileRows, c += TileRows * ld, a += TileRows * ld) {
            const Index count = rows - i < TileRows ? rows - i : TileRows;
            for (Index r = 0; r < count; ++r) __builtin_memcpy(buffer + r * buffer_ld, c + r * ld, cols * sizeof(T));
            for (Index k = 0; k < depth; k += G::depth_block) {
                const Index some = depth - k < G::depth_block ? depth - k : G::depth_block;
                G::multiply_rows(count, cols, some, buffer, buffer_ld, a + k, ld, packed, packed_rows, k,
                                 {0, c, ld, a, ld});
            }
            P::scalar(count, cols, buffer, buffer_ld, to + i, to_ld);
        }
    }
};

}  // namespace
}  // namespace basalt::simd
