#include "tiles/convert.hpp"

#include "tiles/copy.hpp"
#include "tiles/row_windows.hpp"

namespace basalt {

namespace {

void check_shape(const TileGrid& grid, Index rows, Index cols) {
    if (rows != grid.rows() || cols != grid.cols()) {
        throw UsageError("conversion: the array is " + std::to_string(rows) + " x " + std::to_string(cols) +
                         ", the tiled matrix " + std::to_string(grid.rows()) + " x " + std::to_string(grid.cols()));
    }
}

/// The padding of one window, whose first element is (row, col) of the padded matrix.
template <class T>
void pad_window(const TileGrid& grid, View<T> window, Index row, Index col) {
    const Index true_cols = std::min(grid.cols() - col, window.cols());
    for (Index i = 0; i < window.rows(); ++i) {
        const bool true_row = row + i < grid.rows();
        for (Index j = true_row ? true_cols : 0; j < window.cols(); ++j) window(i, j) = T(0);
        const Index diagonal = row + i - col;  // the column of this window that the global diagonal crosses
        if (!true_row && diagonal >= true_cols && diagonal < window.cols()) window(i, diagonal) = T(1);
    }
}

}  // namespace

template <class T>
void fill_padding(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order, T* column) {
    check_tile_column_rows(grid, j, row_begin, row_end);
    // Rows above the bottom padding hold none unless the tile column is the ragged one.
    const bool full_width = grid.tile_width(j) == grid.shape().width;
    const Index first = full_width ? std::clamp(grid.rows(), row_begin, row_end) : row_begin;
    for_each_window(grid, first, row_end, order, column,
                    [&](View<T> window, Index row) { pad_window(grid, window, row, grid.first_col(j)); });
}

template <class T>
void pack_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                      View<const T> source, T* column) {
    check_shape(grid, source.rows(), source.cols());
    check_tile_column_rows(grid, j, row_begin, row_end);
    for_each_window(grid, row_begin, row_end, order, column, [&](View<T> window, Index row) {
        const View<T> elements = true_part(grid, j, window, row);
        if (elements.empty()) return;
        copy_elements(source.block(row, grid.first_col(j), elements.rows(), elements.cols()), elements,
                      Caching::bypass);
    });
    fill_padding(grid, j, row_begin, row_end, order, column);
}

template <class T>
void unpack_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                        const T* column, View<T> target) {
    check_shape(grid, target.rows(), target.cols());
    check_tile_column_rows(grid, j, row_begin, row_end);
    for_each_window(grid, row_begin, row_end, order, column, [&](View<const T> window, Index row) {
        const View<const T> elements = true_part(grid, j, window, row);
        if (elements.empty()) return;
        copy_elements(elements, target.block(row, grid.first_col(j), elements.rows(), elements.cols()),
                      Caching::bypass);
    });
}

template void fill_padding(const TileGrid&, Index, Index, Index, ElementOrder, float*);
template void fill_padding(const TileGrid&, Index, Index, Index, ElementOrder, double*);
template void pack_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, View<const float>, float*);
template void pack_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, View<const double>, double*);
template void unpack_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, const float*, View<float>);
template void unpack_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, const double*, View<double>);

}  // namespace basalt
