// Matrix: moving elements in and out of the tiles, as tasks.
#include "basalt/matrix.hpp"

#include <algorithm>
#include <string>

#include "kernels/on_stream.hpp"
#include "runtime/engine/before_wait.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/choices/usual_tile.hpp"
#include "tasks/on_gpus/converted_parts.hpp"
#include "tasks/on_gpus/host_columns.hpp"
#include "tasks/on_gpus/in_place_columns.hpp"
#include "tasks/on_gpus/priorities.hpp"
#include "tiles/convert.hpp"
#include "tiles/generate.hpp"

namespace basalt {

namespace {

// Rows of a window that one task converts: about 1 MB, so that all elements of the column-major side's cache lines are
// used while the lines are in the cache, and every core has work.
Index rows_of_window(const TileGrid& grid, std::size_t element_size) {
    const Index rows = (Index{1} << 20) / static_cast<Index>(element_size) / grid.shape().width;
    return std::max<Index>(8, rows / 8 * 8);
}

/// Submits a task for each row window of each tile column, which runs body(j, row_begin, row_end).
template <class T, class Body>
void for_each_row_window(const detail::MatrixStorage& storage, TaskName name, AccessMode mode, const Body& body) {
    const TileGrid& grid = storage.grid();
    const Index height = rows_of_window(grid, sizeof(T));
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        for (Index row = 0; row < grid.padded_rows(); row += height) {
            const Index end = std::min(row + height, grid.padded_rows());
            const auto region = storage.region<T>(j, row, end, 0, grid.shape().width);
            const TaskOptions options{
                .name = name, .priority = 0, .tile = {static_cast<int>(row / height), static_cast<int>(j)}};
            storage.runtime().submit(options, detail::make_access<T>(region, mode),
                                     [body, j, row, end] { body(j, row, end); });
        }
    }
}

template <class V>
void require_shape(const char* what, const V& view, const TileGrid& grid) {
    if (view.rows() == grid.rows() && view.cols() == grid.cols()) return;
    throw UsageError(std::string(what) + ": the array is " + std::to_string(view.rows()) + " x " +
                     std::to_string(view.cols()) + "; the matrix is " + std::to_string(grid.rows()) + " x " +
                     std::to_string(grid.cols()));
}

void require_leading_dimension(const char* what, Index lda, Index least, const void* a, Index m, Index n) {
    if (lda < std::max<Index>(1, least)) {
        throw UsageError(std::string(what) + ": lda = " + std::to_string(lda) + "; allowed is at least " +
                         std::to_string(std::max<Index>(1, least)));
    }
    if (a == nullptr && m > 0 && n > 0) throw UsageError(std::string(what) + ": the array is missing (null)");
}

/// Submits a task on GPUs for each tile column: body(stream, deal, columns) with the tile column as `columns`.
template <class T, class Body>
void for_each_column_on_gpu(const detail::MatrixStorage& storage, TaskName name, AccessMode mode, Place place,
                            const Body& body) {
    const TileGrid& grid = storage.grid();
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const auto region = storage.region<T>(j, 0, grid.padded_rows(), 0, grid.shape().width);
        const TaskOptions options{
            .name = name, .tile = {static_cast<int>(j)}, .place = place.is_any() ? storage.place_of(j) : place};
        storage.runtime().submit(options, detail::make_access<T>(region, mode),
                                 detail::on_any_device([body, j, &grid](Stream stream, View<T> a) {
                                     body(stream, TileDeal{j, 1}, stored_tile_columns(grid, a.data(), 1));
                                 }));
    }
}

template <class T>
void require_unit_stride(const char* what, const View<T>& view) {
    if (view.row_stride() == 1 || view.col_stride() == 1 || view.rows() <= 1) return;
    throw UsageError(std::string(what) + ": the array in a GPU's memory has row stride " +
                     std::to_string(view.row_stride()) + " and column stride " + std::to_string(view.col_stride()) +
                     "; allowed is that one of them is 1");
}

template <class T>
void submit_store(const detail::MatrixStorage& storage, View<T> target) {
    for_each_row_window<T>(storage, "store", AccessMode::read, [target, &storage](Index j, Index begin, Index end) {
        unpack_tile_column<T>(storage.grid(), j, begin, end, ElementOrder::row_major,
                              static_cast<const T*>(storage.column(j)), target);
    });
}

}  // namespace

template <class T>
Matrix<T>::Matrix(Runtime& runtime, Index m, Index n, TileShape tile, const char* name) {
    if (tile == TileShape{}) {
        tile = fitting_tile(runtime, detail::usual_tile(runtime.tuning(), m, n, runtime.gpus()), m, n, sizeof(T));
    }
    storage_ = std::make_shared<detail::MatrixStorage>(runtime, TileGrid(m, n, tile), sizeof(T), name);
}

template <class T>
Matrix<T> Matrix<T>::from_columns(Runtime& runtime, const T* a, Index m, Index n, Index lda, TileShape tile) {
    require_leading_dimension("Matrix::from_columns", lda, m, a, m, n);
    Matrix matrix(runtime, m, n, tile);
    matrix.load(View<const T>::column_major(a, m, n, lda));
    for (Index j = 0; j < matrix.tile_cols(); ++j) matrix.host_view(j);
    return matrix;
}

template <class T>
Matrix<T> Matrix<T>::from_rows(Runtime& runtime, const T* a, Index m, Index n, Index lda, TileShape tile) {
    require_leading_dimension("Matrix::from_rows", lda, n, a, m, n);
    Matrix matrix(runtime, m, n, tile);
    matrix.load(View<const T>::row_major(a, m, n, lda));
    for (Index j = 0; j < matrix.tile_cols(); ++j) matrix.host_view(j);
    return matrix;
}

template <class T>
Matrix<T> Matrix<T>::wrap(Runtime& runtime, T* a, Index m, Index n, Index lda, TileShape tile) {
    require_leading_dimension("Matrix::wrap", lda, m, a, m, n);
    Matrix matrix(runtime, m, n, tile);
    matrix.load(View<const T>::column_major(a, m, n, lda));
    detail::MatrixStorage* storage = matrix.storage_.get();
    detail::before_wait(runtime).add(matrix.storage_, storage, [storage, a, m, n, lda] {
        submit_store(*storage, View<T>::column_major(a, m, n, lda));
    });
    return matrix;
}

template <class T>
Matrix<T> Matrix<T>::wrap(Runtime& runtime, T* a, Index m, Index n, Index lda, TileShape tile, Place place) {
    if (place.is_cpu()) return wrap(runtime, a, m, n, lda, tile);
    require_leading_dimension("Matrix::wrap", lda, m, a, m, n);
    if (place.is_any() || place.gpu_number() < 0 || place.gpu_number() >= runtime.gpus()) {
        throw UsageError("Matrix::wrap: " +
                         (place.is_any() ? "Place::any()" : "Place::gpu(" + std::to_string(place.gpu_number()) + ")") +
                         "; allowed is Place::cpu() or the GPU in whose memory the array is, of " +
                         std::to_string(runtime.gpus()));
    }
    const Index width =
        tile.width > 0 ? tile.width : detail::in_place_tile_width(runtime.tuning(), m, n, runtime.gpus());
    Matrix matrix(runtime, m, n, {lda, width}, "wrapped array");
    detail::wrap_on_gpu<T>(matrix.storage_, a, place.gpu_number());
    return matrix;
}

template <class T>
Matrix<T> Matrix<T>::generate(Runtime& runtime, std::shared_ptr<const Generator<T>> generator, Index m, Index n,
                              TileShape tile, Place place) {
    Matrix matrix(runtime, m, n, tile);
    matrix.fill(std::move(generator), place);
    return matrix;
}

template <class T>
Index Matrix<T>::rows() const {
    return storage_ ? storage_->grid().rows() : 0;
}
template <class T>
Index Matrix<T>::cols() const {
    return storage_ ? storage_->grid().cols() : 0;
}
template <class T>
TileShape Matrix<T>::tile_shape() const {
    return storage_ ? storage_->grid().shape() : TileShape{};
}
template <class T>
Index Matrix<T>::tile_rows() const {
    return storage_ ? storage_->grid().tile_rows() : 0;
}
template <class T>
Index Matrix<T>::tile_cols() const {
    return storage_ ? storage_->grid().tile_cols() : 0;
}
template <class T>
Runtime& Matrix<T>::runtime() const {
    if (!storage_) throw UsageError("the matrix is empty: it was moved from or never made");
    return storage_->runtime();
}

template <class T>
Region<T> Matrix<T>::tile(Index i, Index j) const {
    runtime();  // throws for an empty matrix
    const TileGrid& grid = storage_->grid();
    if (i < 0 || i >= grid.tile_rows() || j < 0 || j >= grid.tile_cols()) {
        throw UsageError("tile (" + std::to_string(i) + ", " + std::to_string(j) + ") does not exist; there are " +
                         std::to_string(grid.tile_rows()) + " x " + std::to_string(grid.tile_cols()) + " tiles");
    }
    return block(j, grid.first_row(i), grid.first_row(i) + grid.tile_height(i), 0, grid.tile_width(j));
}

template <class T>
Region<T> Matrix<T>::column(Index j) const {
    return block(j, 0, rows(), 0, j >= 0 && j < tile_cols() ? storage_->grid().tile_width(j) : 0);
}

template <class T>
Place Matrix<T>::dealt_to(Index j) const {
    runtime();  // throws for an empty matrix
    if (j < 0 || j >= tile_cols()) {
        throw UsageError("Matrix::dealt_to: tile column " + std::to_string(j) + "; allowed is 0 to " +
                         std::to_string(tile_cols() - 1));
    }
    return storage_->place_of(j);
}

template <class T>
void Matrix<T>::set_deal(Deal deal) {
    for (Index j = 0; j < tile_cols(); ++j) {
        for (int gpu = 0; gpu < runtime().gpus(); ++gpu) {
            if (!detail::gpu_data(runtime()).has_memory_on(*storage_->datum(j), gpu)) continue;
            throw UsageError("Matrix::set_deal: tile column " + std::to_string(j) + " has memory on GPU " +
                             std::to_string(gpu) + "; allowed is a matrix that is new to the GPUs");
        }
    }
    runtime();  // throws for an empty matrix
    storage_->set_deal(deal);
}

template <class T>
Region<T> Matrix<T>::block(Index j, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
    runtime();  // throws for an empty matrix
    return storage_->template region<T>(j, row_begin, row_end, col_begin, col_end);
}

template <class T>
void Matrix<T>::load(View<const T> source) {
    runtime();
    const detail::MatrixStorage& storage = *storage_;
    require_shape("Matrix::load", source, storage.grid());
    storage_->set_begins_on_gpus(false);
    for_each_row_window<T>(storage, "load", AccessMode::write, [source, &storage](Index j, Index begin, Index end) {
        pack_tile_column<T>(storage.grid(), j, begin, end, ElementOrder::row_major, source,
                            static_cast<T*>(storage.column(j)));
    });
}

template <class T>
void Matrix<T>::store(View<T> target) const {
    runtime();
    require_shape("Matrix::store", target, storage_->grid());
    submit_store(*storage_, target);
}

template <class T>
void Matrix<T>::load(View<const T> source, Place place) {
    runtime();
    detail::MatrixStorage& storage = *storage_;
    require_shape("Matrix::load", source, storage.grid());
    storage.set_begins_on_gpus(place.is_gpu());
    if (!place.is_gpu()) {
        const bool by_gpus = place.is_any() && detail::gpus_can_convert(storage, source);
        return by_gpus ? detail::load_by_gpus(storage, source) : load(source);
    }
    require_unit_stride("Matrix::load", source);
    const TileGrid& grid = storage.grid();
    const Index width = grid.shape().width;
    const detail::ConvertedParts parts(storage, width, grid.padded_rows(), sizeof(T));
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        if (!parts.single()) detail::claim_tile_column<T>(storage, j, place);
        parts.arrive([&](Index first, Index end) {
            const Index cols = std::clamp<Index>(grid.tile_width(j) - first, 0, end - first);  // without padding
            const View<const T> columns = source.block(0, grid.first_col(j) + first, grid.rows(), cols);
            const bool before_all = j == 0 && first == 0;
            storage.runtime().submit(
                {.name = "load",
                 .priority = before_all ? detail::urgent : 0,
                 .tile = {static_cast<int>(j)},
                 .place = place},
                write(storage.region<T>(j, 0, grid.padded_rows(), first, end)),
                read(storage.region<T>(j, 0, grid.padded_rows(), 0, first)),  // the small part comes first
                detail::on_any_device([j, first, columns, &grid](Stream stream, View<T> a, View<const T>) {
                    on_stream::pack_columns<T>(stream, grid, j, first, columns, a);
                }));
        });
    }
}

template <class T>
void Matrix<T>::store(View<T> target, Place place) const {
    runtime();
    detail::MatrixStorage& storage = *storage_;
    require_shape("Matrix::store", target, storage.grid());
    if (!place.is_gpu()) {
        const bool by_gpus = place.is_any() && detail::gpus_can_convert<T>(storage, target);
        return by_gpus ? detail::store_by_gpus(storage, target) : store(target);
    }
    require_unit_stride("Matrix::store", target);
    // by rows, which become final one after the other in a factorization
    const TileGrid& grid = storage.grid();
    const detail::ConvertedParts parts(storage, grid.rows(), grid.shape().width, sizeof(T));
    parts.leave([&](Index first, Index end) {
        for (Index j = 0; j < grid.tile_cols(); ++j) {
            const View<T> rows = target.block(first, grid.first_col(j), end - first, grid.tile_width(j));
            storage.runtime().submit({.name = "store", .tile = {static_cast<int>(j)}, .place = place},
                                     read(storage.region<T>(j, first, end, 0, grid.tile_width(j))),
                                     detail::on_any_device([rows](Stream stream, View<const T> a) {
                                         on_stream::unpack_window<T>(stream, a, rows);
                                     }));
        }
    });
}

template <class T>
void Matrix<T>::pin() {
    runtime();
    storage_->pin();
}

template <class T>
void Matrix<T>::fill(std::shared_ptr<const Generator<T>> generator, Place place) {
    runtime();
    const detail::MatrixStorage& storage = *storage_;
    if (!generator || generator->rows() < rows() || generator->cols() < cols()) {
        throw UsageError("Matrix::fill: the generator makes less than the matrix's " + std::to_string(rows()) + " x " +
                         std::to_string(cols()));
    }
    const auto on_device = generator ? find_device_generator(generator->name()) : std::nullopt;
    const int gpus = place.is_any() ? detail::gpu_data(this->runtime()).gpus_to_deal_to() : this->runtime().gpus();
    const bool by_gpus = !place.is_cpu() && gpus > 0 && on_device;
    storage_->set_begins_on_gpus(by_gpus);
    if (by_gpus) {
        if (place.is_any()) storage.make_room_on_gpus(storage.grid().tile_cols());
        const GeneratorSpec spec{*on_device, generator->rows(), generator->cols(), generator->seed()};
        for_each_column_on_gpu<T>(storage, "generate", AccessMode::write, place,
                                  [spec, &storage](Stream stream, TileDeal deal, TileColumns<T> a) {
                                      on_stream::generate_tile_columns<T>(stream, spec, storage.grid(), deal, a);
                                  });
        return;
    }
    for_each_row_window<T>(storage, "generate", AccessMode::write,
                           [generator, &storage](Index j, Index begin, Index end) {
                               generate_tile_column<T>(storage.grid(), j, begin, end, ElementOrder::row_major,
                                                       *generator, static_cast<T*>(storage.column(j)));
                           });
    if (place.is_cpu()) return;
    for (Index j = 0; j < storage.grid().tile_cols(); ++j) {
        this->runtime().prefetch(column(j), place.is_any() ? dealt_to(j) : place);
    }
}

template <class T>
View<T> Matrix<T>::host_view(Index j) const {
    const Region<T> region = column(j);
    storage_->wait(j);
    return View<T>(static_cast<T*>(storage_->column(j)), region.rows, region.cols, region.row_stride,
                   region.col_stride);
}

template <class T>
T Matrix<T>::at(Index i, Index j) const {
    if (i < 0 || i >= rows() || j < 0 || j >= cols()) {
        throw UsageError("element (" + std::to_string(i) + ", " + std::to_string(j) + ") of a " +
                         std::to_string(rows()) + " x " + std::to_string(cols()) + " matrix");
    }
    const TileGrid& grid = storage_->grid();
    const Index column = grid.tile_col_of(j);
    return host_view(column)(i, j - grid.first_col(column));
}

template class Matrix<float>;
template class Matrix<double>;

}  // namespace basalt
