#include "kernels/cpu/convert.hpp"

#include <algorithm>
#include <cassert>

#include "tiles/convert.hpp"
#include "tiles/copy.hpp"

namespace basalt::cpu_kernels {

namespace {

/// The l-th dealt tile column as a matrix of its own, which has the same padding but for the ones in its
/// corner.
TileGrid alone(const TileGrid& grid, TileDeal deal, Index l) {
    return TileGrid(grid.rows(), dealt_width(grid, deal, l), grid.shape());
}

}  // namespace

template <class T>
void pack_tile_columns(const TileGrid& grid, TileDeal deal, std::type_identity_t<View<const T>> source,
                       TileColumns<T> target) {
    assert(source.cols() == dealt_cols(grid, deal, target.columns) && source.rows() == grid.rows());
    assert(target.rows == grid.padded_rows() && target.ld == grid.shape().width);
    for (Index l = 0; l < target.columns; ++l) {
        const TileGrid column = alone(grid, deal, l);
        T* const tiles = target.column(l).data();
        pack_tile_column<T>(column, 0, 0, grid.padded_rows(), ElementOrder::row_major,
                            source.block(0, l * grid.shape().width, grid.rows(), column.cols()), tiles);
        fill_padding<T>(grid, deal.column(l), 0, grid.padded_rows(), ElementOrder::row_major, tiles);
    }
}

template <class T>
void unpack_tile_columns(const TileGrid& grid, TileDeal deal, std::type_identity_t<TileColumns<const T>> source,
                         View<T> target) {
    assert(target.cols() == dealt_cols(grid, deal, source.columns) && target.rows() == grid.rows());
    assert(source.rows == grid.padded_rows() && source.ld == grid.shape().width);
    for (Index l = 0; l < source.columns; ++l) {
        const TileGrid column = alone(grid, deal, l);
        unpack_tile_column<T>(column, 0, 0, grid.padded_rows(), ElementOrder::row_major, source.column(l).data(),
                              target.block(0, l * grid.shape().width, grid.rows(), column.cols()));
    }
}

template <class T>
void pack_columns(const TileGrid& grid, Index j, Index first, std::type_identity_t<View<const T>> source,
                  View<T> target) {
    assert(source.rows() == grid.rows() && target.rows() == grid.padded_rows() && source.cols() <= target.cols());
    copy_elements<T>(source, target.block(0, 0, source.rows(), source.cols()));
    const Index first_col = grid.first_col(j) + first;
    for (Index i = 0; i < target.rows(); ++i) {
        const bool true_row = i < grid.rows();
        for (Index c = true_row ? source.cols() : 0; c < target.cols(); ++c) {
            target(i, c) = T(!true_row && c >= source.cols() && first_col + c == i);
        }
    }
}

template <class T>
void unpack_window(std::type_identity_t<View<const T>> source, View<T> target) {
    copy_elements<T>(source, target);
}

template <class T>
void pack_in_place(const TileGrid& grid, T* memory, T* buffer) {
    const Index size = grid.tile_column_size(), rows = grid.rows();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        T* const column = memory + j * size;
        pack_tile_columns<T>(grid, {j, 1}, View<T>::column_major(column, rows, grid.tile_width(j), grid.padded_rows()),
                             stored_tile_columns(grid, buffer, 1));
        std::copy_n(buffer, size, column);
    }
}

template <class T>
void unpack_in_place(const TileGrid& grid, T* memory, T* buffer) {
    const Index size = grid.tile_column_size(), rows = grid.rows();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        T* const column = memory + j * size;
        const Index cols = grid.tile_width(j);
        const auto unpacked = View<T>::column_major(buffer, rows, cols, grid.padded_rows());
        unpack_tile_columns<T>(grid, {j, 1}, stored_tile_columns(grid, column, 1), unpacked);
        copy_elements<T>(unpacked, View<T>::column_major(column, rows, cols, grid.padded_rows()));
    }
}

template <class T>
void reorder_tiles(TileShape shape, ElementOrder order, std::type_identity_t<TileColumns<const T>> source,
                   TileColumns<T> target) {
    assert(source.columns == target.columns && source.rows == target.rows && source.rows % shape.height == 0);
    assert(source.ld == shape.width && target.ld == shape.width && source.width == shape.width);
    const auto tile = [shape](auto* data, bool row_major) {
        using View = basalt::View<std::remove_pointer_t<decltype(data)>>;
        return row_major ? View::row_major(data, shape.height, shape.width, shape.width)
                         : View::column_major(data, shape.height, shape.width, shape.height);
    };
    const bool from_rows = order == ElementOrder::row_major;
    for (Index l = 0; l < source.columns; ++l) {
        for (Index row = 0; row < source.rows; row += shape.height) {
            const Index offset = row * shape.width;
            copy_elements<T>(tile(source.data + l * source.stride + offset, from_rows),
                             tile(target.data + l * target.stride + offset, !from_rows));
        }
    }
}

template void pack_tile_columns<float>(const TileGrid&, TileDeal, View<const float>, TileColumns<float>);
template void pack_tile_columns<double>(const TileGrid&, TileDeal, View<const double>, TileColumns<double>);
template void unpack_tile_columns<float>(const TileGrid&, TileDeal, TileColumns<const float>, View<float>);
template void unpack_tile_columns<double>(const TileGrid&, TileDeal, TileColumns<const double>, View<double>);
template void pack_columns<float>(const TileGrid&, Index, Index, View<const float>, View<float>);
template void pack_columns<double>(const TileGrid&, Index, Index, View<const double>, View<double>);
template void unpack_window<float>(View<const float>, View<float>);
template void unpack_window<double>(View<const double>, View<double>);
template void pack_in_place<float>(const TileGrid&, float*, float*);
template void pack_in_place<double>(const TileGrid&, double*, double*);
template void unpack_in_place<float>(const TileGrid&, float*, float*);
template void unpack_in_place<double>(const TileGrid&, double*, double*);
template void reorder_tiles<float>(TileShape, ElementOrder, TileColumns<const float>, TileColumns<float>);
template void reorder_tiles<double>(TileShape, ElementOrder, TileColumns<const double>, TileColumns<double>);

}  // namespace basalt::cpu_kernels
