#pragma once

#include <basalt/tile_shape.hpp>
#include <basalt/view.hpp>

namespace basalt {

/// How the elements lie inside the tiles of a tile column.
enum class ElementOrder {
    row_major,     ///< CRRB: the whole tile column is one row-major array, leading dimension = tile width
    column_major,  ///< CCRB: the tiles follow one another, each column-major, leading dimension = tile height
};

/// The arithmetic of an m x n matrix in tiles: numbers of tiles, sizes with and without padding, positions.
///
/// The unit of storage is the tile column: ONE contiguous array of padded_rows() x width elements, top tile
/// first. Every tile is stored in full (edges are padded), so that all tiles, and all tile columns, have the same
/// size. Holds no elements. Immutable: threads may share it.
class TileGrid {
  public:
    /// The grid of a 0 x 0 matrix in 1 x 1 tiles.
    TileGrid() = default;

    /// m, n >= 0; shape.height, shape.width >= 1. 0 x n and m x 0 matrices are fine.
    /// Throws UsageError, naming the value and what is allowed, for anything else and where a
    /// padded size or the number of padded elements does not fit in 64 bits.
    TileGrid(Index m, Index n, TileShape shape);

    Index rows() const { return m_; }
    Index cols() const { return n_; }
    TileShape shape() const { return shape_; }

    /// Numbers of tiles down and across; 0 for an empty dimension.
    Index tile_rows() const { return tile_rows_; }
    Index tile_cols() const { return tile_cols_; }

    Index padded_rows() const { return tile_rows_ * shape_.height; }
    Index padded_cols() const { return tile_cols_ * shape_.width; }

    /// Elements of one stored tile, and of one stored tile column: the constant strides of the layout.
    Index tile_size() const { return shape_.height * shape_.width; }
    Index tile_column_size() const { return padded_rows() * shape_.width; }

    /// First matrix row of tile row i, first matrix column of tile column j.
    Index first_row(Index i) const { return i * shape_.height; }
    Index first_col(Index j) const { return j * shape_.width; }

    /// The tile row of a matrix row, the tile column of a matrix column.
    Index tile_row_of(Index row) const { return row / shape_.height; }
    Index tile_col_of(Index col) const { return col / shape_.width; }

    /// Rows of tile row i, columns of tile column j, that belong to the matrix: without padding.
    Index tile_height(Index i) const { return true_extent(first_row(i), shape_.height, m_); }
    Index tile_width(Index j) const { return true_extent(first_col(j), shape_.width, n_); }

  private:
    static Index true_extent(Index first, Index extent, Index end) {
        return end - first < extent ? end - first : extent;
    }

    Index m_ = 0;
    Index n_ = 0;
    TileShape shape_{1, 1};
    Index tile_rows_ = 0;
    Index tile_cols_ = 0;
};

/// The elements of tile (i, j) without padding, given the first element of tile column j.
template <class T>
View<T> tile_view(const TileGrid& grid, Index i, Index j, ElementOrder order, T* column) {
    T* tile = column + i * grid.tile_size();
    return order == ElementOrder::row_major
               ? View<T>::row_major(tile, grid.tile_height(i), grid.tile_width(j), grid.shape().width)
               : View<T>::column_major(tile, grid.tile_height(i), grid.tile_width(j), grid.shape().height);
}

/// The elements of a CRRB tile column without padding, rows() x tile_width(j), given its first element. A CCRB tile
/// column is not a strided window; use tile_view().
template <class T>
View<T> tile_column_view(const TileGrid& grid, Index j, T* column) {
    return View<T>::row_major(column, grid.rows(), grid.tile_width(j), grid.shape().width);
}

}  // namespace basalt
