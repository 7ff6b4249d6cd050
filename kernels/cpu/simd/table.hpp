#pragma once

#include "kernels/cpu/simd/batch_kernels.hpp"
#include "kernels/cpu/simd/batch_lu_kernels.hpp"
#include "kernels/cpu/simd/batch_qr_kernels.hpp"
#include "kernels/cpu/simd/column_kernels.hpp"
#include "kernels/cpu/simd/gemm_kernels.hpp"
#include "kernels/cpu/simd/load_kernels.hpp"
#include "kernels/cpu/simd/reflect_kernels.hpp"
#include "kernels/cpu/simd/small_kernels.hpp"
#include "kernels/cpu/simd/transpose_kernels.hpp"

namespace basalt::simd {
namespace {

/// The table of one instruction set: registers of `Bytes` bytes, TileRows x 2 of them for a tile of C.
template <class T, int Bytes, int TileRows>
constexpr Kernels<T> make_table(const char* name) {
    using G = Gemm<T, Bytes, TileRows>;
    using C = Columns<T, Bytes>;
    using L = BlockLoad<T, Bytes, TileRows>;
    using P = Transpose<T, Bytes>;
    using R = Reflect<T, Bytes>;
    using B = Batches<T, Bytes>;
    using BatchL = BatchLu<T, Bytes>;
    using Small = SmallKernels<T>;
    using BatchQ = BatchQr<T, Bytes>;
    return {.name = name,
            .tile_rows = TileRows,
            .strip = G::strip,
            .half_strip = G::half_strip,
            .depth_block = G::depth_block,
            .column_block = G::column_block,
            .block = 64,
            .leaf = 16,
            .rank = 4,
            .pack_b = G::pack_b,
            .gemm_minus = G::gemm_minus,
            .solve_strip = G::solve_strip,
            .load_block = L::load_block,
            .unpack_columns = P::unpack_columns,
            .update_column = C::update_column,
            .update_block = C::update_block,
            .update_row = C::update_row,
            .reflect = R::reflect,
            .dots = R::dots,
            .scale_column = C::scale_column,
            .lanes = B::lanes,
            .interleave = B::interleave,
            .separate = B::separate,
            .batch_cholesky = B::factor,
            .batch_reciprocals = B::invert_diagonal,
            .batch_solve = B::solve,
            .batch_substitute = B::substitute_any,
            .batch_lu = BatchL::factor,
            .batch_lu_unpivoted = BatchL::factor_unpivoted,
            .batch_order_rows = BatchL::order_rows,
            .batch_lu_solve = BatchL::solve,
            .batch_qr = BatchQ::factor,
            .batch_reflect = BatchQ::apply,
            .small_order = Small::order,
            .small_cholesky = Small::cholesky,
            .small_lu = Small::lu};
}

}  // namespace
}  // namespace basalt::simd
