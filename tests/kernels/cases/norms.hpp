#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/norm_workspace.hpp"
#include "kernels/on_stream.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/dealt.hpp"
#include "tests/kernels/host_columns.hpp"
#include "tiles/blue.hpp"
#include "tiles/norms.hpp"

namespace basalt_tests {

using namespace basalt;

/// All four norms, from their parts, of the dealt tile columns as they lie in `values`.
template <class T, class Kernels>
reference::Norms measured_norms(Kernels& kernels, const Dealt& dealt, const std::vector<T>& values) {
    const auto& [grid, deal] = dealt;
    typename Kernels::template Memory<T> tiles(kernels, values);
    const TileColumns<const T> a = stored_tile_columns(grid, tiles.data(), dealt.columns());
    const auto doubles = [&](Index count) {
        return typename Kernels::template Memory<double>(kernels, std::vector<double>(at(count), -1.0));
    };
    auto result = doubles(3), column_sums = doubles(a.columns * a.width), row_sums = doubles(grid.rows());
    auto scratch = doubles(column_sums_workspace(a)), square_scratch = doubles(square_sums_workspace(a));
    typename Kernels::template Memory<blue::Sums> squares(kernels, std::vector<blue::Sums>(1));
    kernels(on_stream::max_norm<T>, grid, deal, a, result.data());
    kernels(on_stream::absolute_column_sums<T>, grid, deal, a, column_sums.data(), scratch.data());
    kernels(on_stream::largest, static_cast<const double*>(column_sums.data()), a.columns * a.width, result.data() + 1);
    kernels(on_stream::absolute_row_sums<T>, grid, deal, a, row_sums.data());
    kernels(on_stream::largest, static_cast<const double*>(row_sums.data()), grid.rows(), result.data() + 2);
    kernels(on_stream::square_sums<T>, grid, deal, a, squares.data(), square_scratch.data());
    const std::vector<double> found = result.read();
    return {found[0], found[1], found[2], FrobeniusNorm(squares.read()[0]).value()};
}

/// The norms of dealt tile columns, by plain loops over their true elements next to each other.
template <class T>
reference::Norms expected_norms(const Dealt& dealt, std::vector<T>& values) {
    const auto& [grid, deal] = dealt;
    const Index columns = dealt.columns(), cols = dealt_cols(grid, deal, columns), width = grid.shape().width;
    std::vector<T> matrix(at(grid.rows() * cols));
    const auto all = View<T>::row_major(matrix.data(), grid.rows(), cols, cols);
    const auto tiles = stored_tile_columns(grid, values.data(), columns);
    for (Index i = 0; i < grid.rows(); ++i) {
        for (Index j = 0; j < cols; ++j) all(i, j) = tiles.column(j / width)(i, j % width);
    }
    return reference::norms<T>(all);
}

template <class T>
void require_equal_norms(const reference::Norms& found, const reference::Norms& expected) {
    const auto close = [](double a, double b) {
        return std::isnan(b) ? std::isnan(a) : a == b || std::abs(a - b) <= 1e-12 * b;
    };
    CAPTURE(found.max, expected.max, found.one, expected.one, found.infinity, expected.infinity, found.frobenius,
            expected.frobenius);
    REQUIRE((close(found.max, expected.max) && close(found.one, expected.one)));
    REQUIRE((close(found.infinity, expected.infinity) && close(found.frobenius, expected.frobenius)));
}

template <class T, class Kernels>
void check_norms(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        std::vector<T> values = random_values<T>(dealt.columns() * dealt.grid.tile_column_size(), 4);
        INFO(describe(dealt));
        require_equal_norms<T>(measured_norms(kernels, dealt, values), expected_norms(dealt, values));
    }
}

template <class T, class Kernels>
void check_norms_of_extreme_elements(Kernels& kernels) {
    using Limits = std::numeric_limits<T>;
    const Dealt dealt{TileGrid(70, 130, {32, 50}), {}};
    const std::vector<T> plain = random_values<T>(dealt.columns() * dealt.grid.tile_column_size(), 4);
    for (const T extreme :
         {Limits::max() / 256, Limits::min(), Limits::denorm_min(), Limits::infinity(), Limits::quiet_NaN()}) {
        for (const bool everywhere : {false, true}) {
            std::vector<T> values = plain;
            if (everywhere) {
                for (T& x : values) x *= extreme;
            }
            values[1234] = extreme;
            INFO("with " << extreme << (everywhere ? " everywhere" : " once"));
            require_equal_norms<T>(measured_norms(kernels, dealt, values), expected_norms(dealt, values));
        }
    }
}

template <class T, class Kernels>
void check_that_padding_has_no_norm(Kernels& kernels) {
    const Dealt dealt{TileGrid(40, 41, {32, 32}), {}};
    std::vector<T> values(at(dealt.columns() * dealt.grid.tile_column_size()), std::numeric_limits<T>::quiet_NaN());
    const auto tiles = stored_tile_columns(dealt.grid, values.data(), dealt.columns());
    for (Index i = 0; i < 40; ++i) {
        for (Index j = 0; j < 41; ++j) tiles.column(j / 32)(i, j % 32) = T{2};
    }
    require_equal_norms<T>(measured_norms(kernels, dealt, values), {2, 80, 82, std::sqrt(4.0 * 40 * 41)});
}

}  // namespace basalt_tests
