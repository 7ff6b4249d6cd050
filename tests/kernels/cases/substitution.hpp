#pragma once

// Kernels against plain loops; whole arrays are compared, with their gaps and padding. `Kernels` calls the kernels of a
// GPU (cuda_kernels.hpp) or their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <basalt/matrix_part.hpp>

#include "kernels/on_stream.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/triangle.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/host_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Y -= A X for every part of A, with diagonals inside and outside of it, vectors of T and of double.
template <class T, class V, class Kernels>
void check_vector_products(Kernels& kernels) {
    using enum MatrixPart;
    for (const auto& [m, n, r] :
         {std::array<Index, 3>{0, 3, 1}, {3, 0, 1}, {1, 1, 1}, {5, 40, 1}, {70, 33, 3}, {131, 200, 1}}) {
        for (const Index diagonal : {Index{0}, Index{-40}, Index{17}, Index{-500}, Index{500}}) {
            for (const MatrixPart part : {all, upper, strictly_lower, magnitudes}) {
                HostColumns<T> a(1, m, n, 1);
                HostColumns<V> x(1, n, r, 2), y(1, m, r, 3);
                typename Kernels::template Memory<T> device_a(kernels, a.values);
                typename Kernels::template Memory<V> device_x(kernels, x.values), device_y(kernels, y.values);
                kernels(on_stream::subtract_product<T, V>, View<const T>(a.on(device_a.data()).column(0)), part,
                        diagonal, View<const V>(x.on(device_x.data()).column(0)), y.on(device_y.data()).column(0));
                for (Index i = 0; i < m; ++i) {
                    for (Index j = 0; j < n * r; ++j) {
                        const Index c = j / r;
                        const bool right = c >= i + diagonal;
                        if ((part == upper && !right) || (part == strictly_lower && right)) continue;
                        const auto element = static_cast<V>(a.column(0)(i, c));
                        y.column(0)(i, j % r) -=
                            (part == magnitudes ? std::abs(element) : element) * x.column(0)(c, j % r);
                    }
                }
                INFO(m << " x " << n << ", " << r << " vectors, part " << static_cast<int>(part) << ", diagonal "
                       << diagonal);
                REQUIRE(distance(device_y.read(), y.values) <= tolerance<V>(n));
            }
        }
    }
}

/// X = T^-1 B for either triangle of T, as it lies and transposed; what is on the other side is not looked at. And B -=
/// A X for any A, likewise.
template <class T, class Kernels>
void check_solve_steps(Kernels& kernels, std::vector<Index> orders) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    const auto seen = [](bool flipped, auto view) { return flipped ? transposed(view) : view; };
    for (const Index n : orders) {
        for (const auto& [r, upper, unit, flipped] : {std::tuple<Index, bool, bool, bool>{1, true, false, false},
                                                      {1, false, true, false},
                                                      {1, true, false, true},
                                                      {1, false, false, true},
                                                      {5, false, false, false},
                                                      {5, true, true, true},
                                                      {5, true, false, false},
                                                      {5, false, true, true}}) {
            HostColumns<T> t(1, n, n, 1), x(1, n, r, 2), b(1, n, r, 2);
            const View<T> triangle = seen(flipped, t.column(0));
            for (Index i = 0; i < n; ++i) {
                for (Index j = 0; j < n; ++j) {
                    T& element = triangle(i, j);
                    const bool other_side = upper ? j < i : j > i;
                    if (i == j) element = unit ? nan : 2 + element;
                    if (i != j) element = other_side ? nan : element / static_cast<T>(n);
                }
            }
            for (Index i = 0; i < n; ++i) {
                for (Index c = 0; c < r; ++c) {
                    T sum = (unit ? T{1} : triangle(i, i)) * x.column(0)(i, c);
                    for (Index j = upper ? i + 1 : 0; j < (upper ? n : i); ++j)
                        sum += triangle(i, j) * x.column(0)(j, c);
                    b.column(0)(i, c) = sum;
                }
            }
            typename Kernels::template Memory<T> device_t(kernels, t.values), device_b(kernels, b.values);
            const View<const T> on_device = seen(flipped, t.on(device_t.data()).column(0));
            kernels(on_stream::solve_triangle<T>, upper ? basalt::Triangle::upper : basalt::Triangle::lower,
                    unit ? basalt::Diagonal::unit : basalt::Diagonal::stored, on_device,
                    b.on(device_b.data()).column(0));
            INFO(n << ", " << r << " right-hand sides, " << (upper ? "upper" : "lower") << (unit ? ", unit" : "")
                   << (flipped ? ", transposed" : ""));
            REQUIRE(distance(device_b.read(), x.values) <= 4 * tolerance<T>(n));

            HostColumns<T> rows_of_x(1, r, n, 2), rows_of_b(1, r, n, 2);
            for (Index i = 0; i < n; ++i) {
                for (Index c = 0; c < r; ++c) {
                    rows_of_x.column(0)(c, i) = x.column(0)(i, c);
                    rows_of_b.column(0)(c, i) = b.column(0)(i, c);
                }
            }
            typename Kernels::template Memory<T> device_rows(kernels, rows_of_b.values);
            kernels(on_stream::solve_triangle<T>, upper ? basalt::Triangle::upper : basalt::Triangle::lower,
                    unit ? basalt::Diagonal::unit : basalt::Diagonal::stored, on_device,
                    transposed(rows_of_b.on(device_rows.data()).column(0)));
            REQUIRE(distance(device_rows.read(), rows_of_x.values) <= 4 * tolerance<T>(n));

            const Index m = n + 3;
            HostColumns<T> a(1, flipped ? n : m, flipped ? m : n, 3), y(1, m, r, 4);
            typename Kernels::template Memory<T> device_a(kernels, a.values), device_x(kernels, x.values),
                device_y(kernels, y.values);
            kernels(on_stream::subtract_from_rows<T>, View<const T>(seen(flipped, a.on(device_a.data()).column(0))),
                    View<const T>(x.on(device_x.data()).column(0)), y.on(device_y.data()).column(0));
            reference::gemm<T>(T{-1}, seen(flipped, a.column(0)), x.column(0), T{1}, y.column(0));
            REQUIRE(distance(device_y.read(), y.values) <= tolerance<T>(n));
        }
    }
}

}  // namespace basalt_tests
