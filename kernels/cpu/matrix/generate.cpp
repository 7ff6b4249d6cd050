#include <cassert>

#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/matrix.hpp"
#include "tiles/generate.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_cpu(GenerateTileColumns<T>, const GeneratorSpec& generator, const TileGrid& grid, TileDeal deal,
                TileColumns<T> target) {
    assert(target.rows == grid.padded_rows() && target.ld == grid.shape().width);
    const auto matrix = make_generator<T>(name_of(generator.generator), generator.rows, generator.cols, generator.seed);
    for (Index l = 0; l < target.columns; ++l) {
        generate_tile_column<T>(grid, deal.column(l), 0, target.rows, ElementOrder::row_major, *matrix,
                                target.column(l).data());
    }
}

template <>
const GenerateTileColumns<float>::Cpu Code<GenerateTileColumns<float>>::cpu = cpu_code<GenerateTileColumns<float>>;
template <>
const GenerateTileColumns<double>::Cpu Code<GenerateTileColumns<double>>::cpu = cpu_code<GenerateTileColumns<double>>;

}  // namespace basalt::on_stream
