#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <optional>
#include <vector>

#include <basalt/generator.hpp>

#include "kernels/device_generator.hpp"
#include "kernels/on_stream.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/dealt.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

template <class T, class Kernels>
void check_generators(Kernels& kernels) {
    for (const GeneratorInfo& info : generator_names()) {
        const auto generator = find_device_generator(info.name);
        if (!generator) continue;
        REQUIRE(name_of(*generator) == info.name);
        for (const Dealt& dealt : dealt_matrices()) {
            const auto& [grid, deal] = dealt;
            const GeneratorSpec spec{*generator, grid.rows(), grid.cols() + 1, 42};
            const auto matrix = make_generator<T>(info.name, spec.rows, spec.cols, spec.seed);
            const Index columns = dealt.columns(), stored = columns * grid.tile_column_size();
            std::vector<T> all(at(grid.rows() * grid.cols())), expected(at(stored));
            const auto elements = View<T>::column_major(all.data(), grid.rows(), grid.cols(), grid.rows());
            matrix->fill(elements, 0, 0);
            reference::fill_tile_columns<T>(grid, deal, stored_tile_columns(grid, expected.data(), columns), elements);
            typename Kernels::template Memory<T> tiles(kernels, random_values<T>(stored, 2));
            kernels(on_stream::generate_tile_columns<T>, spec, grid, deal,
                    stored_tile_columns(grid, tiles.data(), columns));
            INFO(info.name << ", " << describe(dealt));
            REQUIRE(tiles.read() == expected);
        }
    }
    CHECK(find_device_generator("vandermonde") == std::nullopt);
}

}  // namespace basalt_tests
