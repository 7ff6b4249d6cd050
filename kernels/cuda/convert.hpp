#pragma once

#include <type_traits>

#include <basalt/device.hpp>

#include "tiles/tile_columns.hpp"

/// Between layouts within a device's memory. Enqueued on the stream; DeviceError is thrown where that fails.
/// For float and double. CPU twins: kernels/cpu/convert.hpp.
///
/// Three ways to convert a column-major matrix, by what memory they take beside it:
/// - all at once into other memory: the matrix again, each element is read and written once;
/// - tile column by tile column, each into the place in front of its own, where the matrix starts one tile
/// column behind
///   the start of its memory: one tile column, each element is read and written once;
/// - pack_in_place(): one tile column, each element is read and written twice.
namespace basalt::cuda_kernels {

/// Writes whole CRRB tile columns, padding included, from `source`, the true columns of the same tile columns
/// next to each other in column-major storage: grid.rows() x dealt_cols(grid, deal, target.columns). `target`
/// holds tile columns `deal` of the grid, all padded rows of them. The two do not overlap.
template <class T>
void pack_tile_columns(Stream stream, const TileGrid& grid, TileDeal deal, std::type_identity_t<View<const T>> source,
                       TileColumns<T> target);

/// The way back; the padding is not read.
template <class T>
void unpack_tile_columns(Stream stream, const TileGrid& grid, TileDeal deal,
                         std::type_identity_t<TileColumns<const T>> source, View<T> target);

/// Writes columns of elements [first, first + target.cols()) of tile column j, all padded rows of them with their
/// padding: `target` is row-major. `source` holds the true ones of these columns, grid.rows() x 0 or more,
/// column-major. The two do not overlap.
template <class T>
void pack_columns(Stream stream, const TileGrid& grid, Index j, Index first, std::type_identity_t<View<const T>> source,
                  View<T> target);

/// target(i, c) = source(i, c) from row-major to column-major storage, for windows of equal shape that do not overlap.
template <class T>
void unpack_window(Stream stream, std::type_identity_t<View<const T>> source, View<T> target);

/// The same in place, of a whole matrix: `memory` holds grid.tile_cols() * grid.tile_column_size() elements, as a
/// column-major matrix of leading dimension grid.padded_rows() or as tile columns one behind the other. `buffer` holds
/// grid.tile_column_size(): all that is needed beside the matrix.
template <class T>
void pack_in_place(Stream stream, const TileGrid& grid, T* memory, T* buffer);
template <class T>
void unpack_in_place(Stream stream, const TileGrid& grid, T* memory, T* buffer);

/// Copies tiles of `order` to the other order (CRRB to CCRB or back): `rows` / shape.height tiles of each
/// tile column, where rows counts whole tiles. The groups are of equal shape, apart, with ld = width =
/// shape.width.
template <class T>
void reorder_tiles(Stream stream, TileShape shape, ElementOrder order,
                   std::type_identity_t<TileColumns<const T>> source, TileColumns<T> target);

}  // namespace basalt::cuda_kernels
