#pragma once

// Columns that are scaled by powers of two, against plain loops, as in updates.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/on_stream/scaling.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/same_numbers.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Columns of all magnitudes, one of zeros, one with NaN and infinity: measured, scaled, and scaled back above the
/// diagonal.
template <class Kernels>
void check_scaled_columns(Kernels& kernels) {
    for (const auto& [m, n, diagonal] :
         {std::array<Index, 3>{1, 1, 0}, {5, 0, 0}, {3, 40, 0}, {300, 200, -70}, {70, 300, 20}, {1000, 130, 0}}) {
        HostColumns<float> a(1, m, n, 4);
        const View<float> host = a.column(0);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m; ++i) host(i, j) = std::ldexp(host(i, j), static_cast<int>(j * 61 % 250) - 124);
        }
        if (n > 2) {
            for (Index i = 0; i < m; ++i) host(i, 1) = 0;
            host(0, 2) = std::numeric_limits<float>::quiet_NaN();
            host(m - 1, 2) = -std::numeric_limits<float>::infinity();
        }
        typename Kernels::template Memory<float> on_a(kernels, a.values),
            largest(kernels, std::vector<float>(static_cast<std::size_t>(n + 1), -1));
        const View<float> device = a.on(on_a.data()).column(0), found(largest.data(), n);
        kernels(on_stream::largest_in_columns, View<const float>(device), found);
        std::vector<float> expected(static_cast<std::size_t>(n + 1), -1);
        for (Index j = 0; j < n; ++j) {
            float most = 0;
            for (Index i = 0; i < m; ++i) {
                if (std::isfinite(host(i, j))) most = std::max(most, std::abs(host(i, j)));
            }
            expected[at(j)] = most;
        }
        REQUIRE(largest.read() == expected);

        const HostColumns<float> before = a;
        const auto exponent = [&](Index j) {
            const float most = expected[at(j)];
            return most == 0 || (most >= 0x1p-4F && most < 16) ? 0 : std::ilogb(std::max(most, 0x1p-126F));
        };
        kernels(on_stream::scale_columns, device, diagonal, View<const float>(found), on_stream::ColumnScaling::to_one);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m; ++i) host(i, j) = std::ldexp(host(i, j), -exponent(j));
        }
        INFO(m << " x " << n);
        REQUIRE(same_numbers(on_a.read(), a.values));
        kernels(on_stream::scale_columns, device, diagonal, View<const float>(found),
                on_stream::ColumnScaling::back_above);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < m && i + diagonal <= j; ++i) host(i, j) = std::ldexp(host(i, j), exponent(j));
        }
        REQUIRE(same_numbers(on_a.read(), a.values));
    }
}

}  // namespace basalt_tests
