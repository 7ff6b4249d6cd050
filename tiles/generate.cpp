#include "tiles/generate.hpp"

#include "tiles/convert.hpp"
#include "tiles/row_windows.hpp"

namespace basalt {

template <class T>
void generate_tile_column(const TileGrid& grid, Index j, Index row_begin, Index row_end, ElementOrder order,
                          const Generator<T>& generator, T* column) {
    if (generator.rows() < grid.rows() || generator.cols() < grid.cols()) {
        throw UsageError("generation: the generator is " + std::to_string(generator.rows()) + " x " +
                         std::to_string(generator.cols()) + ", the matrix " + std::to_string(grid.rows()) + " x " +
                         std::to_string(grid.cols()));
    }
    check_tile_column_rows(grid, j, row_begin, row_end);
    for_each_window(grid, row_begin, row_end, order, column, [&](View<T> window, Index row) {
        const View<T> elements = true_part(grid, j, window, row);
        if (!elements.empty()) generator.fill(elements, row, grid.first_col(j));
    });
    fill_padding(grid, j, row_begin, row_end, order, column);
}

template void generate_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, const Generator<float>&, float*);
template void generate_tile_column(const TileGrid&, Index, Index, Index, ElementOrder, const Generator<double>&,
                                   double*);

}  // namespace basalt
