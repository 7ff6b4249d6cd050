#include "tasks/on_gpus/in_place_columns.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "kernels/on_stream.hpp"
#include "runtime/engine/before_wait.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/choices/usual_tile.hpp"

namespace basalt::detail {

namespace {

/// The user's array: column-major, with the matrix's rows and the rows below them.
template <class T>
class InPlaceColumns {
  public:
    InPlaceColumns(MatrixStorage& storage, T* a, int gpu)
        : storage_(storage),
          grid_(storage.grid()),
          a_(a),
          place_(Place::gpu(gpu)),
          turn_(storage.runtime(), 1, "turn") {
        // the last column of the array may end after the matrix's rows
        for (Index j = 1; j < grid_.tile_cols(); ++j) storage.adopt(j, gpu, place_of(j - 1));
    }

    void pack() {
        for (Index j = 0; j < grid_.tile_cols(); ++j) {
            submit<AccessMode::write>("pack in place", j, [this, j](Stream stream, View<T> tiles) {
                for_each_part(j, [&](const TileGrid& rows, View<T> columns, Index first, Index end) {
                    on_stream::pack_columns<T>(stream, rows, j, first, columns,
                                               tiles.block(0, first, tiles.rows(), end - first));
                });
            });
        }
    }

    /// After all users of the tile columns. From the last on, each leaves its place before the one in front of it moves
    /// there.
    void unpack() {
        for (Index j = grid_.tile_cols() - 1; j >= 0; --j) {
            submit<AccessMode::readwrite>("unpack in place", j, [this, j](Stream stream, View<T> tiles) {
                for_each_part(j, [&](const TileGrid&, View<T> columns, Index first, Index) {
                    on_stream::unpack_window<T>(stream, tiles.block(0, first, columns.rows(), columns.cols()), columns);
                });
            });
        }
    }

  private:
    Index lda() const { return grid_.shape().height; }
    /// The columns of tile column j in the array.
    T* place_of(Index j) const { return a_ + grid_.first_col(j) * lda(); }

    /// visit(grid, columns of the array, first, end) for the columns of tile column j that have lda() elements, and for
    /// the matrix's last column where it may have fewer. The grid has as many rows as these columns. `first` and `end`
    /// are counted inside the tile column; the last visit goes to its end.
    template <class Visit>
    void for_each_part(Index j, const Visit& visit) const {
        const Index width = grid_.tile_width(j);
        const bool cut = j + 1 == grid_.tile_cols() && lda() > grid_.rows();
        const Index whole = cut ? width - 1 : width;
        const auto columns = [&](Index first, Index rows, Index cols) {
            return View<T>::column_major(place_of(j) + first * lda(), rows, cols, lda());
        };
        if (whole > 0) {
            const TileGrid all_rows(lda(), grid_.cols(), grid_.shape());
            visit(all_rows, columns(0, lda(), whole), Index{0}, cut ? whole : grid_.shape().width);
        }
        if (cut) visit(grid_, columns(whole, grid_.rows(), 1), whole, grid_.shape().width);
    }

    /// Tasks run one after the other: each writes to the memory that its predecessor has read.
    template <AccessMode mode, class Body>
    void submit(TaskName name, Index j, Body body) {
        const auto tiles = storage_.region<T>(j, 0, grid_.padded_rows(), 0, grid_.shape().width);
        storage_.runtime().submit(
            {.name = name, .tile = {static_cast<int>(j)}, .place = place_}, make_access<T>(tiles, mode),
            readwrite(turn_), on_any_device([body](Stream stream, View<T> all, View<Index>) { body(stream, all); }));
    }

    MatrixStorage& storage_;
    const TileGrid& grid_;
    T* const a_;
    const Place place_;
    Array<Index> turn_;  // waits for the tasks at its end
};

/// Submits the conversion; returns the action that converts back.
template <class T>
std::function<void()> pack_until_wait(MatrixStorage& storage, T* a, int gpu) {
    const auto columns = std::make_shared<InPlaceColumns<T>>(storage, a, gpu);
    columns->pack();
    return [columns, &storage] {
        columns->unpack();
        storage.give_back();
    };
}

}  // namespace

Index in_place_tile_width(const Tuning& tuning, Index m, Index n, int gpus) {
    const GpuInPlace& in_place = tuning.gpu.lu.in_place;
    Index width = table_tile(tuning, m, n, gpus).width;
    while (width > in_place.narrowest_tile && n / width < in_place.tile_columns) width /= 2;
    return width;
}

template <class T>
void wrap_on_gpu(const std::shared_ptr<MatrixStorage>& storage, T* a, int gpu) {
    if (inside_task(storage->runtime())) {
        throw UsageError("Matrix::wrap: an array on a GPU is wrapped inside a task; allowed is outside of tasks");
    }
    if (storage->grid().rows() == 0 || storage->grid().cols() == 0) return;
    before_wait(storage->runtime()).add(storage, storage.get(), pack_until_wait(*storage, a, gpu));
}

template void wrap_on_gpu(const std::shared_ptr<MatrixStorage>&, float*, int);
template void wrap_on_gpu(const std::shared_ptr<MatrixStorage>&, double*, int);

}  // namespace basalt::detail
