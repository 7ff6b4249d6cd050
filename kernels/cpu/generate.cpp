#include "kernels/cpu/generate.hpp"

#include <cassert>

#include "tiles/generate.hpp"

namespace basalt::cpu_kernels {

template <class T>
void generate_tile_columns(const GeneratorSpec& generator, const TileGrid& grid, TileDeal deal, TileColumns<T> target) {
    assert(target.rows == grid.padded_rows() && target.ld == grid.shape().width);
    const auto matrix = make_generator<T>(name_of(generator.generator), generator.rows, generator.cols, generator.seed);
    for (Index l = 0; l < target.columns; ++l) {
        generate_tile_column<T>(grid, deal.column(l), 0, target.rows, ElementOrder::row_major, *matrix,
                                target.column(l).data());
    }
}

template void generate_tile_columns<float>(const GeneratorSpec&, const TileGrid&, TileDeal, TileColumns<float>);
template void generate_tile_columns<double>(const GeneratorSpec&, const TileGrid&, TileDeal, TileColumns<double>);

}  // namespace basalt::cpu_kernels
