#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <vector>

#include "kernels/on_stream.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/norms.hpp"
#include "tests/kernels/cases/triangles.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Sums whose order could differ from run to run on a GPU: two runs, at different addresses.
template <class T, class Kernels>
void check_repeated_bits(Kernels& kernels) {
    const Dealt dealt{TileGrid(2100, 600, {100, 520}), {}};
    const std::vector<T> values = random_values<T>(dealt.columns() * dealt.grid.tile_column_size(), 4);
    const Index n = 300, width = 200;
    HostColumns<T> l = small_triangle<T>(n), u(3, n, width, 1), c(3, n, width, 2);
    HostColumns<T> x = block_inverses<T>(l.column(0), 2);
    struct Outcome {
        reference::Norms norms;
        std::vector<double> inverse_norms;
        std::vector<T> inverse, updated, solved, substituted;
    };
    const auto compute = [&] {
        typename Kernels::template Memory<T> device_l(kernels, l.values), inverse(kernels, l.values),
            device_u(kernels, u.values), device_c(kernels, c.values), device_x(kernels, x.values),
            solved(kernels, c.values), substituted(kernels, c.values);
        typename Kernels::template Memory<double> inverse_norms(kernels, {-1.0, -1.0});
        const View<const T> triangle = l.on(device_l.data()).column(0);
        kernels(on_stream::invert_unit_lower<T>, triangle, l.on(inverse.data()).column(0), inverse_norms.data());
        kernels(on_stream::update_trailing<T>, triangle, u.on(device_u.data()), c.on(device_c.data()),
                ProductPrecision::plain);
        kernels(on_stream::solve_by_inverses<T>, triangle, View<const T>(x.on(device_x.data()).column(0)),
                u.on(device_u.data()), c.on(solved.data()));
        kernels(on_stream::solve_by_substitution<T>, triangle, u.on(device_u.data()), c.on(substituted.data()));
        return Outcome{measured_norms(kernels, dealt, values),
                       inverse_norms.read(),
                       inverse.read(),
                       device_c.read(),
                       solved.read(),
                       substituted.read()};
    };
    const Outcome first = compute(), second = compute();
    CHECK(first.norms.one == second.norms.one);
    CHECK(first.norms.infinity == second.norms.infinity);
    CHECK(first.norms.frobenius == second.norms.frobenius);
    CHECK(first.inverse_norms == second.inverse_norms);
    CHECK(first.inverse == second.inverse);
    CHECK(first.updated == second.updated);
    CHECK(first.solved == second.solved);
    CHECK(first.substituted == second.substituted);
}

}  // namespace basalt_tests
