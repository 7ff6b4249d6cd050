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

    /// Rows that pass through the first cache together: whole tiles and whole registers of the transposition.
    static constexpr Index chunk = [] {
        Index rows = TileRows;
        while (rows % P::lanes != 0) rows += TileRows;
        return rows;
    }();
    static constexpr Index buffer_ld = max_block_cols + G::line;

    static void load_block(Index rows, Index cols, Index depth, const T* c, const T* a, Index ld, const T* packed,
                           Index packed_rows, T* to, Index to_ld) {
        alignas(64) T buffer[chunk * buffer_ld];
        for (Index i = 0; i < rows; i += chunk, c += chunk * ld, a += chunk * ld) {
            const Index count = rows - i < chunk ? rows - i : chunk;
            const Index below = rows - i - chunk < chunk ? rows - i - chunk : chunk;
            if (depth == 0) G::prefetch(below, cols, c + chunk * ld, ld);
            copy(count, cols, c, ld, buffer);
            for (Index r = 0; r < count; r += TileRows) {
                update(count - r < TileRows ? count - r : TileRows, cols, depth, a + r * ld, ld, packed, packed_rows,
                       buffer + r * buffer_ld, below - r < TileRows ? below - r : TileRows, c + (chunk + r) * ld);
            }
            P::transpose(count, cols, buffer, buffer_ld, to + i, to_ld);
        }
    }

    static void copy(Index rows, Index cols, const T* c, Index ld, T* buffer) {
        for (Index r = 0; r < rows; ++r, c += ld, buffer += buffer_ld) {
            Index j = 0;
            for (; j + P::lanes <= cols; j += P::lanes) P::V::store(buffer + j, P::V::load(c + j));
            for (; j < cols; ++j) buffer[j] = c[j];
        }
    }

    static void update(Index rows, Index cols, Index depth, const T* a, Index ld, const T* packed, Index packed_rows,
                       T* buffer, Index below, const T* next) {
        for (Index k = 0; k < depth; k += G::depth_block) {
            const Index some = depth - k < G::depth_block ? depth - k : G::depth_block;
            G::multiply_rows(rows, cols, some, buffer, buffer_ld, a + k, ld, packed, packed_rows, k,
                             {below, next, ld, a + chunk * ld + k, ld});
        }
    }
};

}  // namespace
}  // namespace basalt::simd
