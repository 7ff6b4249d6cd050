#include "tasks/matrix/transposed_triangle.hpp"

#include "kernels/on_stream/triangle.hpp"

namespace basalt::detail {

namespace {

/// The block of `storage` in the rows of one tile column's range and the columns of another one.
template <class T>
Region<T> meeting(const MatrixStorage& storage, Index rows_of, Index cols_of) {
    const TileGrid& grid = storage.grid();
    const Index first = grid.first_col(rows_of);
    return storage.region<T>(cols_of, first, first + grid.tile_width(rows_of), 0, grid.tile_width(cols_of));
}

}  // namespace

TileGrid transposed_grid(const TileGrid& grid) { return TileGrid(grid.cols(), grid.rows(), grid.shape()); }

template <class T>
void submit_transposition(Runtime& runtime, const MatrixStorage& from, const MatrixStorage& to, Triangle of_to) {
    const bool lower = of_to == Triangle::lower;
    const Index columns = from.grid().tile_cols();
    for (Index j = 0; j < columns; ++j) {
        for (Index i = j; i < columns; ++i) {
            // tile (i, j) of the lower triangle
            const Index row = lower ? i : j, col = lower ? j : i;
            const auto source = meeting<T>(from, col, row), target = meeting<T>(to, row, col);
            // off the diagonal the whole tile belongs to the triangle
            const Index everything = lower ? -source.cols - source.rows : source.cols + source.rows;
            const Index offset = i == j ? 0 : everything;
            runtime.submit(
                {.name = "transpose", .tile = {static_cast<int>(i), static_cast<int>(j)}, .place = Place::cpu()},
                read(source), readwrite(target), [of_to, offset](View<const T> a, View<T> b) {
                    on_stream::copy_triangle<T>.on_cpu(of_to, offset, transposed(a), b);
                });
        }
    }
}

template void submit_transposition<float>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);
template void submit_transposition<double>(Runtime&, const MatrixStorage&, const MatrixStorage&, Triangle);

}  // namespace basalt::detail
