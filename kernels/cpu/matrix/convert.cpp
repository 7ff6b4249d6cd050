#include <algorithm>
#include <cassert>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "tiles/convert.hpp"
#include "tiles/copy.hpp"

namespace basalt::on_stream {

namespace {

/// The l-th dealt tile column as a matrix of its own, which has the same padding but for the ones in its
/// corner.
TileGrid alone(const TileGrid& grid, TileDeal deal, Index l) {
    return TileGrid(grid.rows(), dealt_width(grid, deal, l), grid.shape());
}

}  // namespace

template <class T>
void run_on_cpu(PackTileColumns<T>, const TileGrid& grid, TileDeal deal, View<const T> source, TileColumns<T> target) {
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
void run_on_cpu(UnpackTileColumns<T>, const TileGrid& grid, TileDeal deal, TileColumns<const T> source,
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
void run_on_cpu(PackColumns<T>, const TileGrid& grid, Index j, Index first, View<const T> source, View<T> target) {
    assert(source.rows() == grid.rows() && target.rows() == grid.padded_rows() && source.cols() <= target.cols());
    basalt::copy_elements<T>(source, target.block(0, 0, source.rows(), source.cols()));
    const Index first_col = grid.first_col(j) + first;
    for (Index i = 0; i < target.rows(); ++i) {
        const bool true_row = i < grid.rows();
        for (Index c = true_row ? source.cols() : 0; c < target.cols(); ++c) {
            target(i, c) = T(!true_row && c >= source.cols() && first_col + c == i);
        }
    }
}

template <class T>
void run_on_cpu(UnpackWindow<T>, View<const T> source, View<T> target) {
    basalt::copy_elements<T>(source, target);
}

template <class T>
void run_on_cpu(PackInPlace<T>, const TileGrid& grid, T* memory, T* buffer) {
    const Index size = grid.tile_column_size(), rows = grid.rows();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        T* const column = memory + j * size;
        pack_tile_columns<T>.on_cpu(grid, {j, 1},
                                    View<T>::column_major(column, rows, grid.tile_width(j), grid.padded_rows()),
                                    stored_tile_columns(grid, buffer, 1));
        std::copy_n(buffer, size, column);
    }
}

template <class T>
void run_on_cpu(UnpackInPlace<T>, const TileGrid& grid, T* memory, T* buffer) {
    const Index size = grid.tile_column_size(), rows = grid.rows();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        T* const column = memory + j * size;
        const Index cols = grid.tile_width(j);
        const auto unpacked = View<T>::column_major(buffer, rows, cols, grid.padded_rows());
        unpack_tile_columns<T>.on_cpu(grid, {j, 1}, stored_tile_columns(grid, column, 1), unpacked);
        basalt::copy_elements<T>(unpacked, View<T>::column_major(column, rows, cols, grid.padded_rows()));
    }
}

template <class T>
void run_on_cpu(ReorderTiles<T>, TileShape shape, ElementOrder order, TileColumns<const T> source,
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
            basalt::copy_elements<T>(tile(source.data + l * source.stride + offset, from_rows),
                                     tile(target.data + l * target.stride + offset, !from_rows));
        }
    }
}

template <>
const PackTileColumns<float>::Cpu Code<PackTileColumns<float>>::cpu = cpu_code<PackTileColumns<float>>;
template <>
const PackTileColumns<double>::Cpu Code<PackTileColumns<double>>::cpu = cpu_code<PackTileColumns<double>>;
template <>
const UnpackTileColumns<float>::Cpu Code<UnpackTileColumns<float>>::cpu = cpu_code<UnpackTileColumns<float>>;
template <>
const UnpackTileColumns<double>::Cpu Code<UnpackTileColumns<double>>::cpu = cpu_code<UnpackTileColumns<double>>;
template <>
const PackColumns<float>::Cpu Code<PackColumns<float>>::cpu = cpu_code<PackColumns<float>>;
template <>
const PackColumns<double>::Cpu Code<PackColumns<double>>::cpu = cpu_code<PackColumns<double>>;
template <>
const UnpackWindow<float>::Cpu Code<UnpackWindow<float>>::cpu = cpu_code<UnpackWindow<float>>;
template <>
const UnpackWindow<double>::Cpu Code<UnpackWindow<double>>::cpu = cpu_code<UnpackWindow<double>>;
template <>
const PackInPlace<float>::Cpu Code<PackInPlace<float>>::cpu = cpu_code<PackInPlace<float>>;
template <>
const PackInPlace<double>::Cpu Code<PackInPlace<double>>::cpu = cpu_code<PackInPlace<double>>;
template <>
const UnpackInPlace<float>::Cpu Code<UnpackInPlace<float>>::cpu = cpu_code<UnpackInPlace<float>>;
template <>
const UnpackInPlace<double>::Cpu Code<UnpackInPlace<double>>::cpu = cpu_code<UnpackInPlace<double>>;
template <>
const ReorderTiles<float>::Cpu Code<ReorderTiles<float>>::cpu = cpu_code<ReorderTiles<float>>;
template <>
const ReorderTiles<double>::Cpu Code<ReorderTiles<double>>::cpu = cpu_code<ReorderTiles<double>>;

}  // namespace basalt::on_stream
