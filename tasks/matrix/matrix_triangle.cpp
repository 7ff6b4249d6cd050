// Matrix: moving one triangle in and out of the tiles, as tasks.
#include <algorithm>
#include <string>

#include "basalt/matrix.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/on_gpus/host_triangle.hpp"
#include "tiles/copy.hpp"
#include "tiles/copy_triangle.hpp"

namespace basalt {

namespace {

using detail::MatrixStorage;

// Rows and columns of a window that one task converts; source and target stay in the cache.
constexpr Index window_rows = 512, window_cols = 256;

/// Rows [row_begin, row_end) and columns [col_begin, col_end) of the matrix, inside one tile column. Either all
/// elements belong to the triangle, or it is a square on the diagonal.
struct Window {
    Index tile_column;
    Index row_begin, row_end;
    Index col_begin, col_end;
    bool diagonal = false;
};

/// visit(window) for windows that cover the triangle of a square matrix.
template <class Visit>
void for_each_window(const TileGrid& grid, Triangle triangle, const Visit& visit) {
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const Index end = grid.first_col(j) + grid.tile_width(j);
        for (Index col = grid.first_col(j); col < end; col += window_cols) {
            const Index col_end = std::min(col + window_cols, end);
            visit(Window{.tile_column = j,
                         .row_begin = col,
                         .row_end = col_end,
                         .col_begin = col,
                         .col_end = col_end,
                         .diagonal = true});
            const bool lower = triangle == Triangle::lower;
            const Index begin = lower ? col_end : 0, stop = lower ? grid.rows() : col;
            for (Index row = begin; row < stop; row += window_rows) {
                visit(Window{j, row, std::min(row + window_rows, stop), col, col_end});
            }
        }
    }
}

template <class T>
void copy_window(const Window& window, Triangle triangle, View<const T> source, View<T> target) {
    if (window.diagonal) return copy_square_triangle<T>(triangle, source, target);
    copy_elements<T>(source, target, Caching::bypass);
}

template <class T>
Region<T> region_of(const MatrixStorage& storage, const Window& p) {
    const Index first = storage.grid().first_col(p.tile_column);
    return storage.region<T>(p.tile_column, p.row_begin, p.row_end, p.col_begin - first, p.col_end - first);
}

template <class T>
View<T> window_of(View<T> array, const Window& p) {
    return array.block(p.row_begin, p.col_begin, p.row_end - p.row_begin, p.col_end - p.col_begin);
}

TaskOptions on_cores(TaskName name, const Window& p) {
    return {.name = name, .tile = {static_cast<int>(p.tile_column)}, .place = Place::cpu()};
}

template <class T>
void load_on_cores(const MatrixStorage& storage, Triangle triangle, View<const T> source) {
    for_each_window(storage.grid(), triangle, [&](const Window& p) {
        storage.runtime().submit(
            on_cores("load", p), readwrite(region_of<T>(storage, p)),
            [p, triangle, from = window_of(source, p)](View<T> a) { copy_window<T>(p, triangle, from, a); });
    });
}

template <class T>
void store_on_cores(const MatrixStorage& storage, Triangle triangle, View<T> target, OtherSide other) {
    for_each_window(storage.grid(), triangle, [&](const Window& p) {
        storage.runtime().submit(
            on_cores("store", p), read(region_of<T>(storage, p)),
            [p, triangle, to = window_of(target, p)](View<const T> a) { copy_window<T>(p, triangle, a, to); });
    });
    if (other == OtherSide::untouched) return;
    // the accesses: behind a load() that reads these elements of the same array
    for_each_window(storage.grid(), transposed(triangle), [&](const Window& p) {
        storage.runtime().submit(on_cores("store", p), read(region_of<T>(storage, p)),
                                 [p, triangle, to = window_of(target, p)](View<const T>) {
                                     zero_other_side<T>(triangle, p.col_begin - p.row_begin, to);
                                 });
    });
}

// --- on the GPU that has the array ---

/// The rows that a triangle has in a tile column.
struct Rows {
    Index first, end;
    Index diagonal;  ///< of the tile column's first column, from `first` on

    Rows(const TileGrid& grid, Index j, Triangle triangle)
        : first(triangle == Triangle::lower ? grid.first_col(j) : 0),
          end(triangle == Triangle::lower ? grid.rows() : grid.first_col(j) + grid.tile_width(j)),
          diagonal(grid.first_col(j) - first) {}

    template <class T>
    View<T> of(View<T> columns) const {
        return columns.block(first, 0, end - first, columns.cols());
    }
};

/// Submits a task for each tile column: body(stream, tile column's number, its columns, those of the array). Both have
/// all rows of the matrix.
template <class T, class Access, class Element, class Body>
void for_each_column_on_gpu(const MatrixStorage& storage, TaskName name, Place place, Access access,
                            View<Element> array, const Body& body) {
    const TileGrid& grid = storage.grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const TaskOptions options{.name = name, .tile = {static_cast<int>(j)}, .place = place};
        storage.runtime().submit(
            options, access(storage.region<T>(j, 0, grid.padded_rows(), 0, grid.shape().width)),
            detail::on_any_device(
                [body, j, rows = grid.rows(), width = grid.tile_width(j),
                 columns = array.block(0, grid.first_col(j), grid.rows(), grid.tile_width(j))](Stream stream, auto a) {
                    body(stream, j, a.block(0, 0, rows, width), columns);
                }));
    }
}

template <class T>
void load_on_gpu(const MatrixStorage& storage, Triangle triangle, View<const T> source, Place place) {
    for_each_column_on_gpu<T>(
        storage, "load", place, [](const Region<T>& r) { return write(r); }, source,
        [triangle, grid = storage.grid()](Stream stream, Index j, View<T> a, View<const T> from) {
            const Rows rows(grid, j, triangle);
            on_stream::copy_triangle<T>(stream, triangle, rows.diagonal, rows.of(from), rows.of(a));
        });
}

template <class T>
void store_on_gpu(const MatrixStorage& storage, Triangle triangle, View<T> target, Place place, OtherSide other) {
    for_each_column_on_gpu<T>(
        storage, "store", place, [](const Region<T>& r) { return read(r); }, target,
        [triangle, other, grid = storage.grid()](Stream stream, Index j, View<const T> a, View<T> to) {
            const Rows rows(grid, j, triangle);
            on_stream::copy_triangle<T>(stream, triangle, rows.diagonal, rows.of(a), rows.of(to));
            if (other == OtherSide::untouched) return;
            const Rows beyond(grid, j, transposed(triangle));
            on_stream::zero_triangle<T>(stream, transposed(triangle), offset_of_other_side(triangle, beyond.diagonal),
                                        beyond.of(to));
        });
}

template <class V>
void require_triangle(const char* what, const V& array, const TileGrid& grid) {
    const auto shape = [](Index rows, Index cols) { return std::to_string(rows) + " x " + std::to_string(cols); };
    if (grid.rows() != grid.cols()) {
        throw UsageError(std::string(what) + ": the matrix is " + shape(grid.rows(), grid.cols()) +
                         "; allowed are square ones");
    }
    if (array.rows() != grid.rows() || array.cols() != grid.cols()) {
        throw UsageError(std::string(what) + ": the array is " + shape(array.rows(), array.cols()) +
                         "; the matrix is " + shape(grid.rows(), grid.cols()));
    }
    if (array.row_stride() != 1 && array.col_stride() != 1 && array.rows() > 1) {
        throw UsageError(std::string(what) + ": the array has strides " + std::to_string(array.row_stride()) + " and " +
                         std::to_string(array.col_stride()) + "; allowed is 1 for one of them");
    }
}

}  // namespace

template <class T>
void Matrix<T>::load_triangle(Triangle triangle, View<const T> source, Place place) {
    runtime();
    require_triangle("Matrix::load_triangle", source, storage_->grid());
    storage_->set_begins_on_gpus(place.is_gpu());
    if (place.is_gpu()) return load_on_gpu(*storage_, triangle, source, place);
    if (place.is_any() && detail::gpus_can_convert_triangle<T>(*storage_, source)) {
        return detail::load_triangle_by_gpus(*storage_, triangle, source);
    }
    load_on_cores(*storage_, triangle, source);
}

template <class T>
void Matrix<T>::store_triangle(Triangle triangle, View<T> target, Place place, OtherSide other) const {
    runtime();
    require_triangle("Matrix::store_triangle", target, storage_->grid());
    if (place.is_gpu()) return store_on_gpu(*storage_, triangle, target, place, other);
    if (place.is_any() && !detail::is_at_home(*storage_) && detail::gpus_can_convert_triangle<T>(*storage_, target)) {
        return detail::store_triangle_by_gpus(*storage_, triangle, target, other);
    }
    store_on_cores(*storage_, triangle, target, other);
}

template void Matrix<float>::load_triangle(Triangle, View<const float>, Place);
template void Matrix<double>::load_triangle(Triangle, View<const double>, Place);
template void Matrix<float>::store_triangle(Triangle, View<float>, Place, OtherSide) const;
template void Matrix<double>::store_triangle(Triangle, View<double>, Place, OtherSide) const;

}  // namespace basalt
