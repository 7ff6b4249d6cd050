#pragma once

#include "kernels/device_generator.hpp"
#include "kernels/norm_workspace.hpp"
#include "kernels/on_stream/kernel.hpp"
#include "tiles/blue.hpp"
#include "tiles/tile_columns.hpp"

/// Matrices in a device's memory: copies, conversions between layouts, generators and norms. For float and double. All
/// pointers are to the device's memory.
namespace basalt::on_stream {

// ---- copies ---------------------------------------------------------------------------------------------

template <class T>
struct CopyElements : Kernel<CopyElements<T>, void(View<const T> source, View<T> target)> {};
/// target(i, j) = source(i, j) for two row-major windows of equal shape that do not overlap.
template <class T>
inline constexpr CopyElements<T> copy_elements{};

template <class T>
struct CopyTileColumns : Kernel<CopyTileColumns<T>, void(TileColumns<const T> source, TileColumns<T> target)> {};
/// The same for each tile column of two groups of equal shape that do not overlap.
template <class T>
inline constexpr CopyTileColumns<T> copy_tile_columns{};

// ---- conversions ----------------------------------------------------------------------------------------
//
// There are three ways to convert a column-major matrix. They differ in the memory that they need in addition to it:
// - all at once into other memory: as much again; each element is read and written once;
// - tile column by tile column, each into the place in front of its own, where the matrix starts one tile column behind
//   the start of its memory: one tile column; each element is read and written once;
// - pack_in_place(): one tile column; each element is read and written twice.

template <class T>
struct PackTileColumns : Kernel<PackTileColumns<T>, void(const TileGrid& grid, TileDeal deal, View<const T> source,
                                                         TileColumns<T> target)> {};
/// Writes whole CRRB tile columns, padding included. `target` holds the tile columns `deal` of the grid with all their
/// padded rows. `source` holds the true columns of the same tile columns next to each other in column-major or
/// row-major storage: grid.rows() x dealt_cols(grid, deal, target.columns). The two do not overlap.
template <class T>
inline constexpr PackTileColumns<T> pack_tile_columns{};

template <class T>
struct UnpackTileColumns : Kernel<UnpackTileColumns<T>, void(const TileGrid& grid, TileDeal deal,
                                                             TileColumns<const T> source, View<T> target)> {};
/// The inverse of pack_tile_columns(); the padding is not read.
template <class T>
inline constexpr UnpackTileColumns<T> unpack_tile_columns{};

template <class T>
struct PackColumns
    : Kernel<PackColumns<T>, void(const TileGrid& grid, Index j, Index first, View<const T> source, View<T> target)> {};
/// Writes columns of elements [first, first + target.cols()) of tile column j with all padded rows. `target` is
/// row-major. `source` holds the true ones of these columns, grid.rows() x 0 or more, column-major or row-major. The
/// two do not overlap.
template <class T>
inline constexpr PackColumns<T> pack_columns{};

template <class T>
struct UnpackWindow : Kernel<UnpackWindow<T>, void(View<const T> source, View<T> target)> {};
/// target(i, c) = source(i, c) from row-major to column-major or row-major storage, for windows of equal shape that do
/// not overlap.
template <class T>
inline constexpr UnpackWindow<T> unpack_window{};

template <class T>
struct PackInPlace : Kernel<PackInPlace<T>, void(const TileGrid& grid, T* memory, T* buffer)> {};
/// Converts a whole matrix in place. `memory` holds grid.tile_cols() * grid.tile_column_size() elements: before, a
/// column-major matrix of leading dimension grid.padded_rows(); afterwards, consecutive tile columns. `buffer` holds
/// grid.tile_column_size() elements.
template <class T>
inline constexpr PackInPlace<T> pack_in_place{};

template <class T>
struct UnpackInPlace : Kernel<UnpackInPlace<T>, void(const TileGrid& grid, T* memory, T* buffer)> {};
/// The inverse of pack_in_place().
template <class T>
inline constexpr UnpackInPlace<T> unpack_in_place{};

template <class T>
struct ReorderTiles : Kernel<ReorderTiles<T>, void(TileShape shape, ElementOrder order, TileColumns<const T> source,
                                                   TileColumns<T> target)> {};
/// Copies tiles of `order` to the other order (CRRB to CCRB or back): `rows` / shape.height tiles of each tile column,
/// where `rows` counts whole tiles. The groups have equal shapes and ld = width = shape.width, and do not overlap.
template <class T>
inline constexpr ReorderTiles<T> reorder_tiles{};

// ---- generators -----------------------------------------------------------------------------------------

template <class T>
struct GenerateTileColumns : Kernel<GenerateTileColumns<T>, void(const GeneratorSpec& generator, const TileGrid& grid,
                                                                 TileDeal deal, TileColumns<T> target)> {};
/// Writes whole tile columns `deal` of the grid, padding included (tiles/convert.hpp), with the generator's elements,
/// bit for bit those of make_generator(). The generator's matrix may be larger than the grid's.
template <class T>
inline constexpr GenerateTileColumns<T> generate_tile_columns{};

// ---- norms ----------------------------------------------------------------------------------------------
//
// Norms of the true elements of tile columns. `a` holds whole tile columns `deal` of the grid. Sums are in double
// precision; NaN propagates; the norm of an empty matrix is 0. The caller merges the results of several groups of tile
// columns. The same input gives the same bits.

template <class T>
struct MaxNorm : Kernel<MaxNorm<T>, void(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* result)> {
};
/// *result = max |a_ij|.
template <class T>
inline constexpr MaxNorm<T> max_norm{};

template <class T>
struct AbsoluteColumnSums
    : Kernel<AbsoluteColumnSums<T>,
             void(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums, double* workspace)> {};
/// sums[l * width + c] = sum_i |a_ic| for each column c of the l-th tile column, 0 for padding. `workspace` holds
/// column_sums_workspace() elements.
template <class T>
inline constexpr AbsoluteColumnSums<T> absolute_column_sums{};

template <class T>
struct AbsoluteRowSums
    : Kernel<AbsoluteRowSums<T>, void(const TileGrid& grid, TileDeal deal, TileColumns<const T> a, double* sums)> {};
/// sums[i] = sum_j |a_ij| over the true columns of this group, for i < grid.rows().
template <class T>
inline constexpr AbsoluteRowSums<T> absolute_row_sums{};

template <class T>
struct SquareSums : Kernel<SquareSums<T>, void(const TileGrid& grid, TileDeal deal, TileColumns<const T> a,
                                               blue::Sums* sums, double* workspace)> {};
/// *sums: the sums from which FrobeniusNorm (tiles/norms.hpp) computes the norm. `workspace` holds
/// square_sums_workspace() elements.
template <class T>
inline constexpr SquareSums<T> square_sums{};

struct Largest : Kernel<Largest, void(const double* values, Index count, double* result)> {};
/// *result = the largest of `count` non-negative numbers, or NaN where one is NaN.
inline constexpr Largest largest{};

}  // namespace basalt::on_stream
