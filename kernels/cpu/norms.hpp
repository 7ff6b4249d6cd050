#pragma once

#include "kernels/norm_workspace.hpp"
#include "tiles/blue.hpp"
#include "tiles/tile_columns.hpp"

/// Norms of the true elements of tile columns: CPU twins of kernels/cuda/norms.hpp. `a` holds whole tile
/// columns `deal` of the grid. Sums are in double; NaN propagates; nothing is 0. What a group of tile columns
/// gives is merged with the others' by the caller. Single-threaded, reentrant. For float and double.
namespace basalt::cpu_kernels {

/// *result = max |a_ij|.
template <class T>
void max_norm(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result);

/// sums[l * width + c] = sum_i |a_ic| for each column c of the l-th tile column, 0 for padding. `workspace`
/// holds column_sums_workspace() elements.
template <class T>
void absolute_column_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums, double* workspace);

/// sums[i] = sum_j |a_ij| over the true columns of this group, for i < grid.rows().
template <class T>
void absolute_row_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums);

/// *sums: what FrobeniusNorm (tiles/norms.hpp) makes the norm of. `workspace` holds square_sums_workspace()
/// elements.
template <class T>
void square_sums(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, blue::Sums* sums, double* workspace);

/// *result = the largest of `count` numbers that are not negative, or NaN where one is.
void largest(const double* values, Index count, double* result);

}  // namespace basalt::cpu_kernels
