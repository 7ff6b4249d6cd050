#pragma once

// Kernels of mixed precision against plain loops, as in updates.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/on_stream/mixed.hpp"
#include "kernels/on_stream/substitution.hpp"
#include "kernels/split_product.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/updates.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// The columns of A are measured in two calls; the second one also rounds, to a target with padding.
template <class Kernels>
void check_measured_magnitudes(Kernels& kernels, on_stream::ScaledRows of_rows) {
    using Doubles = typename Kernels::template Memory<double>;
    for (const auto& [m, n] : {std::array<Index, 2>{1, 1}, {1, 2}, {5, 3}, {33, 40}, {300, 130}, {70, 2100}}) {
        const Index left = n / 3;
        HostColumns<double> a(1, m, n, 4), rows(1, m, 1, 5), cols(1, n, 1, 6);
        HostColumns<float> target(1, m + 3, n - left + 2, 9);
        for (double& x : rows.values) x = std::abs(x);
        for (double& x : cols.values) x = std::abs(x);
        Doubles on_a(kernels, a.values), row_factors(kernels, rows.values), col_factors(kernels, cols.values);
        typename Kernels::template Memory<float> on_target(kernels, target.values);
        const auto vector = [&](Index size) {
            return Doubles(kernels, std::vector<double>(static_cast<std::size_t>(size), -1));
        };
        auto sums = vector(m), row_scaled = vector(m), col_max = vector(n);
        const auto measure = [&](Index begin, Index end, View<float> to) {
            kernels(
                on_stream::measure_magnitudes,
                View<const double>(a.on(on_a.data()).column(0)).block(0, begin, m, end - begin),
                View<const double>(row_factors.data(), m), View<const double>(col_factors.data() + begin, end - begin),
                on_stream::MeasuredMagnitudes{View<double>(sums.data(), m), View<double>(row_scaled.data(), m),
                                              View<double>(col_max.data() + begin, end - begin), begin > 0, of_rows},
                to);
        };
        if (left > 0) measure(0, left, View<float>());
        measure(left, n, target.on(on_target.data()).column(0));
        const auto found_sums = sums.read(), found_rows = row_scaled.read(), found_cols = col_max.read();
        std::vector<double> largest(static_cast<std::size_t>(n));
        const View<float> expected = target.column(0);
        for (Index i = 0; i < expected.rows(); ++i) {
            for (Index j = 0; j < expected.cols(); ++j) expected(i, j) = 0;
        }
        for (Index i = 0; i < m; ++i) {
            double sum = 0, most = 0, scaled_sum = 0;
            for (Index j = 0; j < n; ++j) {
                const double element = a.column(0)(i, j);
                const double scaled =
                    element * rows.values[static_cast<std::size_t>(i)] * cols.values[static_cast<std::size_t>(j)];
                sum += std::abs(element);
                most = std::max(most, std::abs(scaled));
                scaled_sum += std::abs(scaled);
                double& of_column = largest[static_cast<std::size_t>(j)];
                of_column = std::max(of_column, std::abs(scaled));
                if (j >= left) expected(i, j - left) = static_cast<float>(scaled);
            }
            REQUIRE(std::abs(found_sums[static_cast<std::size_t>(i)] - sum) <= 1e-12 * sum);
            const double of_row = found_rows[static_cast<std::size_t>(i)];
            if (of_rows == on_stream::ScaledRows::largest) REQUIRE(of_row == most);
            if (of_rows == on_stream::ScaledRows::sums) REQUIRE(std::abs(of_row - scaled_sum) <= 1e-12 * scaled_sum);
        }
        REQUIRE(found_cols == largest);
        REQUIRE(on_target.read() == target.values);
    }
}

template <class Kernels>
void check_rounding(Kernels& kernels) {
    for (const auto& [m, n, rows, cols] :
         {std::array<Index, 4>{0, 0, 3, 2}, {1, 1, 1, 1}, {30, 20, 32, 33}, {200, 130, 200, 130}}) {
        HostColumns<double> a(1, std::max<Index>(m, 1), std::max<Index>(n, 1), 7);
        HostColumns<float> target(1, rows, cols, 8);
        std::vector<double> row_factors(static_cast<std::size_t>(rows)), col_factors(static_cast<std::size_t>(cols));
        for (Index i = 0; i < rows; ++i)
            row_factors[static_cast<std::size_t>(i)] = std::ldexp(1.0, static_cast<int>(i % 7) - 3);
        for (Index j = 0; j < cols; ++j)
            col_factors[static_cast<std::size_t>(j)] = std::ldexp(1.0, static_cast<int>(j % 5) - 2);
        typename Kernels::template Memory<double> on_a(kernels, a.values), on_rows(kernels, row_factors),
            on_cols(kernels, col_factors);
        typename Kernels::template Memory<float> on_target(kernels, target.values);
        kernels(on_stream::round_scaled, View<const double>(a.on(on_a.data()).column(0).block(0, 0, m, n)),
                View<const double>(on_rows.data(), m), View<const double>(on_cols.data(), n),
                target.on(on_target.data()).column(0));
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < cols; ++j) {
                target.column(0)(i, j) =
                    i < m && j < n ? static_cast<float>(a.column(0)(i, j) * row_factors[static_cast<std::size_t>(i)] *
                                                        col_factors[static_cast<std::size_t>(j)])
                                   : 0.0F;
            }
        }
        REQUIRE(on_target.read() == target.values);
    }
}

/// Products with one or two slices: as accurate as their operands, and exact sums of rounded ones.
template <class Kernels>
void check_rounded_products(Kernels& kernels) {
    const Index columns = 2, m = 64, k = 192, width = 40;
    HostColumns<float> l(1, m, k, 1), u(columns, k, width, 2), c(columns, m, width, 3);
    typename Kernels::template Memory<float> device_l(kernels, l.values), device_u(kernels, u.values);
    typename Kernels::template Memory<float> workspace(
        kernels, std::vector<float>(split_workspace(m, k, columns * width) / sizeof(float)));
    double before = 0;
    for (const ProductPrecision products :
         {ProductPrecision::split_fp16, ProductPrecision::fp16, ProductPrecision::bf16}) {
        typename Kernels::template Memory<float> device_c(kernels, c.values);
        kernels(on_stream::update_by_slices, View<const float>(l.on(device_l.data()).column(0)),
                TileColumns<const float>(u.on(device_u.data())), c.on(device_c.data()), products,
                static_cast<void*>(workspace.data()), on_stream::RoomForOthers{50, 32});
        HostColumns<float> result = c;
        result.values = device_c.read();
        const double error = largest_error(result, c, l, u);
        INFO(name_of(products) << ": " << error);
        CHECK(error <= static_cast<double>(k) / 2 * roundoff_of(products));
        CHECK(error > before);
        before = error;
    }
}

/// A block of the triangle times its inverse is the identity. NaN stands where nothing may be read.
template <class T, class Kernels>
void check_inverses_of_blocks(Kernels& kernels) {
    constexpr Index order = on_stream::substituted_block;
    for (const Index n : {1, 5, 128, 130, 300}) {
        for (const auto& [triangle, diagonal] : {std::pair{Triangle::lower, Diagonal::unit},
                                                 {Triangle::lower, Diagonal::stored},
                                                 {Triangle::upper, Diagonal::unit},
                                                 {Triangle::upper, Diagonal::stored}}) {
            const bool lower = triangle == Triangle::lower, unit = diagonal == Diagonal::unit;
            constexpr T nan = std::numeric_limits<T>::quiet_NaN();
            HostColumns<T> t(1, n, n, 9, 4), expected(1, n, order, 0), identity(1, n, order, 0);
            for (Index i = 0; i < n; ++i) {
                for (Index j = 0; j < n; ++j) {
                    T& element = t.column(0)(i, j);
                    const bool other_side = lower ? j > i : j < i;
                    if (i == j) element = unit ? nan : 2 + element;
                    if (i != j) element = other_side ? nan : element / static_cast<T>(order);
                }
                for (Index j = 0; j < order; ++j) {
                    expected.column(0)(i, j) = i % order == j ? T{1} : T{0};
                    identity.column(0)(i, j) = T{0};
                }
            }
            typename Kernels::template Memory<T> on_t(kernels, t.values),
                on_inverses(kernels, std::vector<T>(expected.values.size(), nan));
            kernels(on_stream::invert_diagonal_blocks<T>, triangle, diagonal,
                    View<const T>(t.on(on_t.data()).column(0)), identity.on(on_inverses.data()).column(0));
            HostColumns<T> inverses = identity;
            inverses.values = on_inverses.read();
            for (Index i = 0; i < n; ++i) {
                const Index first = i / order * order, own = std::min(order, n - first);
                for (Index j = 0; j < order; ++j) {
                    T sum = j < own ? T{0} : inverses.column(0)(i, j);
                    for (Index p = lower ? first : i; p < (lower ? i + 1 : first + own) && j < own; ++p) {
                        const T element = p == i && unit ? T{1} : t.column(0)(i, p);
                        sum += element * inverses.column(0)(p, j);
                    }
                    identity.column(0)(i, j) = sum;
                }
            }
            INFO("order " << n << ", " << (lower ? "lower" : "upper") << (unit ? ", unit" : ""));
            REQUIRE(distance(identity.values, expected.values) <= 8 * tolerance<T>(order));
        }
    }
}

}  // namespace basalt_tests
