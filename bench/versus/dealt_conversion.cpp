#include "bench/versus/dealt_conversion.hpp"

#include "kernels/on_stream.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace bench {

using basalt::DealtColumns;
using basalt::DealtView;
using basalt::Index;
using basalt::Matrix;
using basalt::Stream;
using basalt::View;

namespace {

basalt::TaskOptions by_owner(basalt::TaskName name, const DealtColumns& columns, Index tile_column) {
    const int gpu = columns.gpu_of(tile_column * columns.block());
    return {.name = name, .tile = {static_cast<int>(tile_column)}, .place = basalt::Place::gpu(gpu)};
}

/// Tile column j, padding included.
template <class T>
basalt::Region<T> whole_column(const basalt::detail::MatrixStorage& storage, Index j) {
    return storage.region<T>(j, 0, storage.grid().padded_rows(), 0, storage.grid().shape().width);
}

}  // namespace

template <class T>
void load_dealt(Matrix<T>& a, const DealtView<T>& source) {
    const basalt::detail::MatrixStorage& storage = *a.share_storage();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        const View<T> from = source.block(storage.grid().first_col(j));
        a.runtime().submit(by_owner("load", source.columns, j), write(whole_column<T>(storage, j)),
                           basalt::detail::on_any_device([j, from, &storage](Stream stream, View<T> to) {
                               basalt::on_stream::pack_tile_columns<T>(
                                   stream, storage.grid(), {j, 1}, from,
                                   basalt::stored_tile_columns(storage.grid(), to.data(), 1));
                           }));
    }
}

template <class T>
void store_dealt(const Matrix<T>& a, const DealtView<T>& target) {
    const basalt::TileGrid& grid = a.share_storage()->grid();
    const auto store_rows = [&](Index j, Index begin, Index end) {
        if (begin == end) return;
        const View<T> to = target.block(grid.first_col(j)).block(begin, 0, end - begin, grid.tile_width(j));
        a.runtime().submit(by_owner("store", target.columns, j), read(a.block(j, begin, end, 0, grid.tile_width(j))),
                           basalt::detail::on_any_device([to](Stream stream, View<const T> from) {
                               basalt::on_stream::unpack_window<T>(stream, from, to);
                           }));
    };
    // a factorization has finished the part above the diagonal blocks long before its last step
    const auto diagonal = [&](Index j) { return std::min(grid.first_col(j), grid.rows()); };
    for (Index j = 0; j < grid.tile_cols(); ++j) store_rows(j, 0, diagonal(j));
    for (Index j = 0; j < grid.tile_cols(); ++j) store_rows(j, diagonal(j), grid.rows());
}

template <class T>
void load_dealt_triangle(Matrix<T>& a, const DealtView<T>& source) {
    const basalt::detail::MatrixStorage& storage = *a.share_storage();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        const Index first = storage.grid().first_col(j), rows = a.rows() - first, width = storage.grid().tile_width(j);
        const View<T> from = source.block(first).block(first, 0, rows, width);
        a.runtime().submit(by_owner("load", source.columns, j), write(whole_column<T>(storage, j)),
                           basalt::detail::on_any_device([=](Stream stream, View<T> to) {
                               basalt::on_stream::copy_triangle<T>(stream, basalt::Triangle::lower, 0, from,
                                                                   to.block(first, 0, rows, width));
                           }));
    }
}

template <class T>
void store_dealt_triangle(const Matrix<T>& a, const DealtView<T>& target) {
    const basalt::detail::MatrixStorage& storage = *a.share_storage();
    for (Index j = 0; j < a.tile_cols(); ++j) {
        const Index first = storage.grid().first_col(j), rows = a.rows() - first, width = storage.grid().tile_width(j);
        const View<T> to = target.block(first).block(first, 0, rows, width);
        a.runtime().submit(by_owner("store", target.columns, j), read(whole_column<T>(storage, j)),
                           basalt::detail::on_any_device([=](Stream stream, View<const T> from) {
                               basalt::on_stream::copy_triangle<T>(stream, basalt::Triangle::lower, 0,
                                                                   from.block(first, 0, rows, width), to);
                           }));
    }
}

template void load_dealt(Matrix<float>&, const DealtView<float>&);
template void load_dealt(Matrix<double>&, const DealtView<double>&);
template void store_dealt(const Matrix<float>&, const DealtView<float>&);
template void store_dealt(const Matrix<double>&, const DealtView<double>&);
template void load_dealt_triangle(Matrix<float>&, const DealtView<float>&);
template void load_dealt_triangle(Matrix<double>&, const DealtView<double>&);
template void store_dealt_triangle(const Matrix<float>&, const DealtView<float>&);
template void store_dealt_triangle(const Matrix<double>&, const DealtView<double>&);

}  // namespace bench
