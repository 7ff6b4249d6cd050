#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "kernels/reference/trsm.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Unit lower triangular with small multipliers and rubbish elsewhere, in storage of leading dimension n +
/// gap.
template <class T>
HostColumns<T> small_triangle(Index n, Index gap = 3) {
    HostColumns<T> l(1, n, n, 77, gap);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) l.column(0)(i, j) *= T{4} / static_cast<T>(n);
    }
    return l;
}

template <class T, class Kernels>
void check_triangle_inverse(Kernels& kernels, std::vector<Index> orders) {
    for (const Index n : orders) {
        HostColumns<T> l = small_triangle<T>(n), inverse(1, n, n, 5, 1);
        typename Kernels::template Memory<T> device_l(kernels, l.values), result(kernels, inverse.values);
        typename Kernels::template Memory<double> norms(kernels, {-1.0, -1.0});
        kernels(on_stream::invert_unit_lower<T>, View<const T>(l.on(device_l.data()).column(0)),
                inverse.on(result.data()).column(0), norms.data());

        const View<T> expected = inverse.column(0);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) expected(i, j) = i == j ? T{1} : T{0};
        }
        reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.column(0), expected);
        INFO("order " << n);
        REQUIRE(device_l.read() == l.values);
        REQUIRE(distance(result.read(), inverse.values) <= 10 * tolerance<T>(n));
        const reference::Norms right = reference::norms<T>(expected);
        REQUIRE(norms.read()[0] == Approx(right.max).epsilon(tolerance<T>(100 + n)));
        REQUIRE(norms.read()[1] == Approx(right.one).epsilon(tolerance<T>(100 + n)));
        std::vector<T> values = result.read();
        for (Index i = 0; i < n; ++i) {
            for (Index j = i + 1; j < n; ++j) REQUIRE(inverse.on(values.data()).column(0)(i, j) == T{0});
        }
    }
}

template <class T, class Kernels>
void check_inverse_of_a_triangle_with_a_nan(Kernels& kernels) {
    for (const Index n : {2, 40, 300}) {
        HostColumns<T> l = small_triangle<T>(n), inverse(1, n, n, 5);
        l.column(0)(n - 1, 0) = std::numeric_limits<T>::quiet_NaN();
        typename Kernels::template Memory<T> device_l(kernels, l.values), result(kernels, inverse.values);
        typename Kernels::template Memory<double> norms(kernels, {-1.0, -1.0});
        kernels(on_stream::invert_unit_lower<T>, View<const T>(l.on(device_l.data()).column(0)),
                inverse.on(result.data()).column(0), norms.data());
        CHECK(std::isnan(norms.read()[0]));
        CHECK(std::isnan(norms.read()[1]));
    }
}

template <class T, class Kernels>
void check_solves(Kernels& kernels) {
    for (const Index k : {0, 1, 5, 37, 64, 130}) {
        for (const auto& [columns, width, gap] :
             {std::array<Index, 3>{1, 1, 3}, {3, 9, 1}, {2, 300, 0}, {0, 4, 0}, {2, 0, 2}}) {
            HostColumns<T> l = small_triangle<T>(k), inverse(1, k, k, 5, 1), w(columns, k, width, 2, gap),
                           u(columns, k, width, 3, gap + 2);
            HostColumns<T> by_inverse = u, by_substitution = u;
            for (Index i = 0; i < k; ++i) {
                for (Index j = 0; j < k; ++j) inverse.column(0)(i, j) = i == j ? T{1} : T{0};
            }
            reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.column(0), inverse.column(0));
            for (Index j = 0; j < columns; ++j) {
                reference::gemm<T>(T{1}, inverse.column(0), w.column(j), T{0}, u.column(j));
            }
            typename Kernels::template Memory<T> device_l(kernels, l.values), device_inverse(kernels, inverse.values),
                device_w(kernels, w.values), first(kernels, by_inverse.values), second(kernels, by_substitution.values);
            kernels(on_stream::solve_by_inverse<T>, View<const T>(inverse.on(device_inverse.data()).column(0)),
                    w.on(device_w.data()), u.on(first.data()));
            kernels(on_stream::solve_by_substitution<T>, View<const T>(l.on(device_l.data()).column(0)),
                    w.on(device_w.data()), u.on(second.data()));
            INFO("k = " << k << ", " << columns << " columns of " << width);
            REQUIRE(distance(first.read(), u.values) <= 4 * tolerance<T>(k));
            REQUIRE(distance(second.read(), u.values) <= 16 * tolerance<T>(k));
            REQUIRE(device_w.read() == w.values);
        }
    }
}

/// The inverses of the diagonal blocks of L, one below the other; NaN where nothing may be read.
template <class T>
HostColumns<T> block_inverses(View<const T> l, Index gap) {
    const Index n = l.rows();
    HostColumns<T> x(1, n, inverted_block, 5, gap);
    std::fill(x.values.begin(), x.values.end(), std::numeric_limits<T>::quiet_NaN());
    for (Index top = 0; top < n; top += inverted_block) {
        const Index order = std::min(inverted_block, n - top);
        const View<T> block = x.column(0).block(top, 0, order, order);
        for (Index i = 0; i < order; ++i) {
            for (Index j = 0; j < order; ++j) block(i, j) = i == j ? T{1} : T{0};
        }
        reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.block(top, top, order, order), block);
    }
    return x;
}

/// A tile column has the same bits alone and in a group, whose strips the kernels may cut in another way. k: at most
/// what one launch solves, since products lie between launches, and cuBLAS may add up those of other shapes in another
/// order.
template <class T, class Kernels>
void check_solves_of_groups(Kernels& kernels, Index k, Index columns, Index width) {
    HostColumns<T> l = small_triangle<T>(k), w(columns, k, width, 2), u(columns, k, width, 3);
    typename Kernels::template Memory<T> device_l(kernels, l.values), device_w(kernels, w.values),
        together(kernels, u.values), alone(kernels, u.values);
    const View<const T> triangle = l.on(device_l.data()).column(0);
    const TileColumns<const T> right = w.on(device_w.data());
    kernels(on_stream::solve_by_substitution<T>, triangle, right, u.on(together.data()));
    for (Index j = 0; j < columns; ++j) {
        const TileColumns<T> one = one_tile_column(u.on(alone.data()).column(j));
        kernels(on_stream::solve_by_substitution<T>, triangle, one_tile_column(w.on(device_w.data()).column(j)), one);
    }
    INFO("k = " << k << ", " << columns << " columns of " << width);
    const bool same = together.read() == alone.read();
    REQUIRE(same);
    // and in place
    kernels(on_stream::solve_by_substitution<T>, triangle, right, w.on(device_w.data()));
    const std::vector<T> in_place = device_w.read(), apart = together.read();
    HostColumns<T> left = w, expected = u;
    left.values = in_place;
    expected.values = apart;
    for (Index j = 0; j < columns; ++j) {
        Index wrong = 0;
        for (Index i = 0; i < k; ++i) {
            for (Index c = 0; c < width; ++c) wrong += left.column(j)(i, c) != expected.column(j)(i, c) ? 1 : 0;
        }
        REQUIRE(wrong == 0);
    }
    for (Index j = 0; j < columns; ++j) {
        const View<T> solved = w.column(j);
        reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.column(0), solved);
        Index wrong = 0;
        for (Index i = 0; i < k; ++i) {
            for (Index c = 0; c < width; ++c) {
                wrong += std::abs(expected.column(j)(i, c) - solved(i, c)) <= 16 * tolerance<T>(k) ? 0 : 1;
            }
        }
        REQUIRE(wrong == 0);
    }
}

/// Shapes with all leading dimensions even, which kernels read in pairs, and odd.
template <class T, class Kernels>
void check_solves_by_blocks(Kernels& kernels, std::vector<Index> orders) {
    for (const Index k : orders) {
        for (const auto& [columns, width, odd] :
             {std::array<Index, 3>{1, 1, 1}, {3, 9, 1}, {2, 300, 0}, {1, 64, 1}, {3, 50, 0}, {0, 4, 0}, {2, 0, 0}}) {
            HostColumns<T> l = small_triangle<T>(k, 2 + (k + odd) % 2),
                           w(columns, k, width, 2, 2 + (width + odd) % 2, 6),
                           u(columns, k, width, 3, 4 + (width + odd) % 2, 2);
            HostColumns<T> x = block_inverses<T>(l.column(0), 2 + odd), expected = u;
            for (Index j = 0; j < columns; ++j) {
                const View<T> solved = expected.column(j);
                for (Index i = 0; i < k; ++i) {
                    for (Index c = 0; c < width; ++c) solved(i, c) = w.column(j)(i, c);
                }
                reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.column(0), solved);
            }
            typename Kernels::template Memory<T> device_l(kernels, l.values), device_x(kernels, x.values),
                device_w(kernels, w.values), first(kernels, u.values), second(kernels, u.values);
            const View<const T> triangle = l.on(device_l.data()).column(0), inverses = x.on(device_x.data()).column(0);
            const TileColumns<T> in_place = w.on(device_w.data());
            kernels(on_stream::solve_by_inverses<T>, triangle, inverses, in_place, u.on(first.data()));
            kernels(on_stream::solve_by_substitution<T>, triangle, in_place, u.on(second.data()));
            INFO("k = " << k << ", " << columns << " columns of " << width << (odd != 0 ? ", odd" : ", even"));
            REQUIRE(distance(first.read(), expected.values) <= 16 * tolerance<T>(k));
            REQUIRE(distance(second.read(), expected.values) <= 16 * tolerance<T>(k));
            const bool untouched = device_w.read() == w.values;
            REQUIRE(untouched);

            kernels(on_stream::solve_by_inverses<T>, triangle, inverses, in_place, in_place);
            std::vector<T> left = device_w.read(), right = first.read();
            for (Index j = 0; j < columns; ++j) {
                const View<T> a = w.on(left.data()).column(j), b = u.on(right.data()).column(j);
                bool same = true;
                for (Index i = 0; i < k; ++i) {
                    for (Index c = 0; c < width; ++c) same = same && a(i, c) == b(i, c);
                }
                REQUIRE(same);
            }
        }
    }
}

}  // namespace basalt_tests
