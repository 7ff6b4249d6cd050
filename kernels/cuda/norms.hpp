#pragma once

#include <basalt/device.hpp>

#include "kernels/norm_workspace.hpp"
#include "tiles/blue.hpp"
#include "tiles/tile_columns.hpp"

/// Norms of the true elements of tile columns. `a` holds whole tile columns `deal` of the grid. Sums are in
/// double; NaN propagates; nothing is 0. What a group of tile columns gives is merged with the others' by the
/// caller. The same input gives the same bits. All pointers are to the device's memory; everything is
/// enqueued on the stream, and DeviceError is thrown where that fails. For float and double. CPU twins:
/// kernels/cpu/norms.hpp.
namespace basalt::cuda_kernels {

/// *result = max |a_ij|.
template <class T>
void max_norm(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result);

/// sums[l * width + c] = sum_i |a_ic| for each column c of the l-th tile column, 0 for padding. `workspace`
/// holds column_sums_workspace() elements.
template <class T>
void absolute_column_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums,
                          double* workspace);

/// sums[i] = sum_j |a_ij| over the true columns of this group, for i < grid.rows().
template <class T>
void absolute_row_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums);

/// *sums: what FrobeniusNorm (tiles/norms.hpp) makes the norm of. `workspace` holds square_sums_workspace()
/// elements.
template <class T>
void square_sums(Stream stream, const TileGrid& grid, TileDeal deal, TileColumns<const T> a, blue::Sums* sums,
                 double* workspace);

/// *result = the largest of `count` numbers that are not negative, or NaN where one is.
void largest(Stream stream, const double* values, Index count, double* result);

}  // namespace basalt::cuda_kernels
