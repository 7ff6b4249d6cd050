#pragma once

// Each case checks one kernel of kernels/cuda, or its CPU twin, against plain loops: `Kernels` calls the one
// or the other, and its Memory<T> is where their operands lie. Whole arrays are compared, gaps and padding
// included.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <basalt/generator.hpp>

#include "kernels/cpu/row_swap.hpp"
#include "kernels/device_generator.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/reference/gemm.hpp"
#include "kernels/reference/row_moves.hpp"
#include "kernels/reference/tile_columns.hpp"
#include "kernels/reference/trsm.hpp"
#include "kernels/split_product.hpp"
#include "tests/catch.hpp"
#include "tests/host_columns.hpp"
#include "tiles/norms.hpp"

namespace basalt_tests {

using namespace basalt;

inline std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Pivot lists of a panel of `rows` rows: random, and the ones with the longest chains.
inline std::vector<std::vector<Index>> pivot_lists(Index rows, Index count) {
    std::mt19937 random(static_cast<unsigned>(7 * rows + count));
    std::vector<std::vector<Index>> lists(6, std::vector<Index>(at(count)));
    for (Index k = 0; k < count; ++k) {
        lists[0][at(k)] = k + static_cast<Index>(random()) % (rows - k);
        lists[1][at(k)] = k;
        lists[2][at(k)] = rows - 1;
        lists[3][at(k)] = std::min(k + 1, rows - 1);
        lists[4][at(k)] = std::max(k, rows - 1 - k);
        lists[5][at(k)] = k + static_cast<Index>(random()) % std::min<Index>(rows - k, 3);
    }
    return lists;
}

template <class Kernels>
void check_row_moves(Kernels& kernels, std::vector<std::array<Index, 2>> panels) {
    for (const auto& [rows, count] : panels) {
        for (const std::vector<Index>& pivots : pivot_lists(rows, count)) {
            std::vector<Index> expected(at(2 * count));
            reference::find_row_moves(rows, pivots.data(), {expected.data(), count});
            typename Kernels::template Memory<Index> device_pivots(kernels, pivots),
                moves(kernels, std::vector<Index>(at(2 * count), -7));
            kernels.find_row_moves(device_pivots.data(), RowMoves(moves.data(), count));
            INFO(rows << " x " << count);
            REQUIRE(moves.read() == expected);
        }
    }
}

template <class T, class Kernels>
void check_row_exchange(Kernels& kernels) {
    for (const auto& [rows, count] :
         {std::array<Index, 2>{0, 0}, {1, 1}, {3, 3}, {40, 0}, {40, 17}, {97, 33}, {300, 40}}) {
        for (const std::vector<Index>& pivots : pivot_lists(rows, count)) {
            for (const auto& [columns, width, gap] :
                 {std::array<Index, 3>{1, 1, 3}, {3, 7, 1}, {2, 64, 0}, {0, 4, 0}, {2, 0, 2}, {1, 1100, 4}}) {
                HostColumns<T> a(columns, rows, width, 1, gap), w(columns, count, width, 2, gap);
                std::vector<Index> lists(at(2 * count));
                reference::find_row_moves(rows, pivots.data(), {lists.data(), count});
                typename Kernels::template Memory<Index> moves(kernels, lists);
                typename Kernels::template Memory<T> device_a(kernels, a.values), device_w(kernels, w.values);
                kernels.template exchange_rows<T>(RowMoves(moves.data(), count), a.on(device_a.data()),
                                                  w.on(device_w.data()));

                std::vector<T> result = device_a.read();
                for (Index l = 0; l < columns; ++l) {
                    const View<T> column = a.column(l), dead = a.on(result.data()).column(l);
                    reference::laswp(column, pivots.data(), count);
                    for (Index k = 0; k < count; ++k) {
                        for (Index c = 0; c < width; ++c) {
                            w.column(l)(k, c) = column(k, c);
                            dead(k, c) = column(k, c);
                        }
                    }
                }
                INFO(rows << " rows, " << count << " exchanged, " << columns << " columns of " << width);
                REQUIRE(device_w.read() == w.values);
                REQUIRE(result == a.values);
            }
        }
    }
}

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
        kernels.template invert_unit_lower<T>(View<const T>(l.on(device_l.data()).column(0)),
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
        kernels.template invert_unit_lower<T>(View<const T>(l.on(device_l.data()).column(0)),
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
            kernels.template solve_by_inverse<T>(View<const T>(inverse.on(device_inverse.data()).column(0)),
                                                 w.on(device_w.data()), u.on(first.data()));
            kernels.template solve_by_substitution<T>(View<const T>(l.on(device_l.data()).column(0)),
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
            kernels.template solve_by_inverses<T>(triangle, inverses, in_place, u.on(first.data()));
            kernels.template solve_by_substitution<T>(triangle, in_place, u.on(second.data()));
            INFO("k = " << k << ", " << columns << " columns of " << width << (odd != 0 ? ", odd" : ", even"));
            REQUIRE(distance(first.read(), expected.values) <= 16 * tolerance<T>(k));
            REQUIRE(distance(second.read(), expected.values) <= 16 * tolerance<T>(k));
            REQUIRE(device_w.read() == w.values);

            kernels.template solve_by_inverses<T>(triangle, inverses, in_place, in_place);
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

template <class T, class Kernels>
void check_update(Kernels& kernels) {
    for (const auto& [m, k] : {std::array<Index, 2>{0, 5}, {5, 0}, {1, 1}, {40, 3}, {131, 64}, {77, 150}}) {
        for (const auto& [columns, width, gap] :
             {std::array<Index, 3>{1, 1, 3}, {3, 9, 1}, {2, 300, 0}, {0, 4, 0}, {2, 0, 2}}) {
            HostColumns<T> l(1, m, k, 1), u(columns, k, width, 2, gap), c(columns, m, width, 3, gap + 1);
            typename Kernels::template Memory<T> device_l(kernels, l.values), device_u(kernels, u.values),
                device_c(kernels, c.values);
            kernels.template update_trailing<T>(View<const T>(l.on(device_l.data()).column(0)), u.on(device_u.data()),
                                                c.on(device_c.data()));
            for (Index j = 0; j < columns; ++j) {
                reference::gemm<T>(T{-1}, l.column(0), u.column(j), T{1}, c.column(j));
            }
            INFO(m << " x " << width << " x " << k << ", " << columns << " columns");
            REQUIRE(distance(device_c.read(), c.values) <= tolerance<T>(k));
        }
    }
}

/// Y -= A X for every part of A and diagonals in and beside it, vectors of T and of double.
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
                kernels.template subtract_product<T, V>(View<const T>(a.on(device_a.data()).column(0)), part, diagonal,
                                                        View<const V>(x.on(device_x.data()).column(0)),
                                                        y.on(device_y.data()).column(0));
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
            kernels.template solve_triangle<T>(upper ? basalt::Triangle::upper : basalt::Triangle::lower,
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
            kernels.template solve_triangle<T>(upper ? basalt::Triangle::upper : basalt::Triangle::lower,
                                               unit ? basalt::Diagonal::unit : basalt::Diagonal::stored, on_device,
                                               transposed(rows_of_b.on(device_rows.data()).column(0)));
            REQUIRE(distance(device_rows.read(), rows_of_x.values) <= 4 * tolerance<T>(n));

            const Index m = n + 3;
            HostColumns<T> a(1, flipped ? n : m, flipped ? m : n, 3), y(1, m, r, 4);
            typename Kernels::template Memory<T> device_a(kernels, a.values), device_x(kernels, x.values),
                device_y(kernels, y.values);
            kernels.template subtract_from_rows<T>(View<const T>(seen(flipped, a.on(device_a.data()).column(0))),
                                                   View<const T>(x.on(device_x.data()).column(0)),
                                                   y.on(device_y.data()).column(0));
            reference::gemm<T>(T{-1}, seen(flipped, a.column(0)), x.column(0), T{1}, y.column(0));
            REQUIRE(distance(device_y.read(), y.values) <= tolerance<T>(n));
        }
    }
}

/// In TF32 the update is as accurate as that; in full precision, of the same operands, as single precision is, and so
/// is a product in TF32 of operands that are numbers of TF32 already.
template <class Kernels>
void check_update_in_tf32(Kernels& kernels) {
    const Index columns = 3, m = 200, k = 300, width = 130;
    HostColumns<float> l(1, m, k, 1), u(columns, k, width, 2, 3), c(columns, m, width, 3, 4);
    const auto updated = [&](basalt::ProductPrecision precision) {
        typename Kernels::template Memory<float> device_l(kernels, l.values), device_u(kernels, u.values),
            device_c(kernels, c.values);
        kernels.template update_trailing<float>(View<const float>(l.on(device_l.data()).column(0)),
                                                u.on(device_u.data()), c.on(device_c.data()), precision);
        return device_c.read();
    };
    const auto error_of = [&](const std::vector<float>& found) {
        HostColumns<float> expected = c;
        for (Index j = 0; j < columns; ++j) {
            reference::gemm<float>(-1, l.column(0), u.column(j), 1, expected.column(j));
        }
        return distance(found, expected.values);
    };
    const double of_tf32 = tolerance<float>(k) * basalt::tf32_roundoff / 0x1p-24;
    CHECK(error_of(updated(basalt::ProductPrecision::full)) <= tolerance<float>(k));
    const double error = error_of(updated(basalt::ProductPrecision::tf32));
    CHECK(error <= of_tf32);
    CHECK(error > tolerance<float>(k));
    for (auto* operand : {&l.values, &u.values}) {
        for (float& x : *operand) x = basalt::rounded_to_tf32(x);
    }
    CHECK(error_of(updated(basalt::ProductPrecision::tf32)) <= tolerance<float>(k));
}

/// Largest |C' - (C - L U)|, of what a kernel computed, with the sums in double precision.
inline double largest_error(const HostColumns<float>& computed, HostColumns<float>& c, HostColumns<float>& l,
                            HostColumns<float>& u) {
    double largest = 0;
    HostColumns<float> result = computed;
    for (Index t = 0; t < c.shape.columns; ++t) {
        for (Index i = 0; i < c.shape.rows; ++i) {
            for (Index j = 0; j < c.shape.width; ++j) {
                double sum = c.column(t)(i, j);
                for (Index p = 0; p < l.shape.width; ++p) sum -= double{l.column(0)(i, p)} * double{u.column(t)(p, j)};
                const double error = std::abs(double{result.column(t)(i, j)} - sum);
                if (std::isnan(error)) return error;
                largest = std::max(largest, error);
            }
        }
    }
    return largest;
}

/// Products by pieces are as accurate as plain ones of single precision, for large and for small numbers.
template <class Kernels>
void check_update_by_pieces(Kernels& kernels) {
    for (const auto& [m, k] :
         {std::array<Index, 2>{0, 5}, {5, 0}, {1, 1}, {40, 3}, {131, 64}, {77, 256}, {64, 512}, {40, 2500}}) {
        for (const auto& [columns, width, gap] :
             {std::array<Index, 3>{1, 1, 3}, {3, 9, 1}, {2, 64, 0}, {0, 4, 0}, {2, 0, 2}}) {
            for (const float scale : {1.0F, 0x1p-60F, 0x1p60F}) {
                HostColumns<float> l(1, m, k, 1, gap), u(columns, k, width, 2, gap), c(columns, m, width, 3, gap);
                for (float& x : l.values) x *= scale;
                for (float& x : u.values) x *= 1 / scale;
                HostColumns<float> lt(1, k, m, 1, gap);
                for (Index i = 0; i < m; ++i) {
                    for (Index p = 0; p < k; ++p) lt.column(0)(p, i) = l.column(0)(i, p);
                }
                typename Kernels::template Memory<float> device_l(kernels, l.values), device_lt(kernels, lt.values),
                    device_u(kernels, u.values), plain(kernels, c.values);
                typename Kernels::template Memory<float> workspace(
                    kernels,
                    std::vector<float>(basalt::split_workspace(m, std::min(k, basalt::split_depth), columns * width) /
                                       sizeof(float)));
                const View<float> l_view = l.on(device_l.data()).column(0), lt_view = lt.on(device_lt.data()).column(0);
                kernels.template update_trailing<float>(l_view, u.on(device_u.data()), c.on(plain.data()));
                HostColumns<float> result = c;
                result.values = plain.read();
                const double usual = largest_error(result, c, l, u);
                for (const View<float>& left : {l_view, basalt::transposed(lt_view)}) {
                    typename Kernels::template Memory<float> by_pieces(kernels, c.values);
                    kernels.update_by_pieces(View<const float>(left), TileColumns<const float>(u.on(device_u.data())),
                                             c.on(by_pieces.data()), static_cast<void*>(workspace.data()));
                    result.values = by_pieces.read();
                    const double error = largest_error(result, c, l, u);
                    INFO(m << " x " << width << " x " << k << ", " << columns << " columns, scale " << scale << ": "
                           << error << ", plain " << usual);
                    REQUIRE(error <= 2 * usual + 0x1p-22);
                }
            }
        }
    }
}

template <class T, class Kernels>
void check_copies(Kernels& kernels, const std::vector<std::array<Index, 3>>& shapes) {
    for (const auto& [columns, rows, width] : shapes) {
        HostColumns<T> from(columns, rows, width, 1, 2), to(columns, rows, width, 2, 5);
        typename Kernels::template Memory<T> source(kernels, from.values), target(kernels, to.values);
        kernels.template copy_tile_columns<T>(from.on(source.data()), to.on(target.data()));
        for (Index l = 0; l < columns; ++l) {
            for (Index i = 0; i < rows; ++i) {
                for (Index c = 0; c < width; ++c) to.column(l)(i, c) = from.column(l)(i, c);
            }
        }
        INFO(columns << " columns of " << rows << " x " << width);
        REQUIRE(target.read() == to.values);

        typename Kernels::template Memory<T> again(kernels, HostColumns<T>(columns, rows, width, 2, 5).values);
        for (Index l = 0; l < columns; ++l) {
            kernels.template copy_elements<T>(View<const T>(from.on(source.data()).column(l)),
                                              to.on(again.data()).column(l));
        }
        REQUIRE(again.read() == to.values);
    }
}

/// Matrices and tile shapes, ragged in every way, and which of their tile columns are dealt to one of how
/// many.
struct Dealt {
    TileGrid grid;
    TileDeal deal;

    Index columns() const {
        return deal.first < grid.tile_cols() ? (grid.tile_cols() - deal.first + deal.step - 1) / deal.step : 0;
    }
    TileColumns<char> shape() const { return stored_tile_columns<char>(grid, nullptr, columns()); }
};

inline std::vector<Dealt> dealt_matrices() {
    std::vector<Dealt> cases;
    for (const auto& [m, n] :
         {std::array<Index, 2>{0, 0}, {1, 1}, {0, 9}, {9, 0}, {64, 64}, {70, 130}, {130, 71}, {200, 33}, {33, 200}}) {
        for (const TileShape shape : {TileShape{1, 1}, {32, 32}, {16, 50}, {64, 7}, {300, 128}}) {
            for (const TileDeal deal : {TileDeal{0, 1}, {1, 2}, {0, 3}}) cases.push_back({TileGrid(m, n, shape), deal});
        }
    }
    return cases;
}

inline std::string describe(const Dealt& dealt) {
    const TileGrid& grid = dealt.grid;
    return std::to_string(grid.rows()) + " x " + std::to_string(grid.cols()) + " in tiles of " +
           std::to_string(grid.shape().height) + " x " + std::to_string(grid.shape().width) + ", every " +
           std::to_string(dealt.deal.step) + ". from " + std::to_string(dealt.deal.first);
}

template <class T, class Kernels>
void check_conversion(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const auto& [grid, deal] = dealt;
        const Index columns = dealt.columns(), cols = dealt_cols(grid, deal, columns), ld = grid.rows() + 3;
        const Index width = grid.shape().width, stored = columns * grid.tile_column_size();
        const std::vector<T> array = random_values<T>(ld * cols + 2, 1);
        std::vector<T> expected(at(stored));
        const auto source = View<const T>::column_major(array.data(), grid.rows(), cols, ld);
        reference::fill_tile_columns<T>(grid, deal, stored_tile_columns(grid, expected.data(), columns),
                                        [&](Index i, Index j) {
                                            const Index tile = grid.tile_col_of(j);
                                            return source(i, (tile - deal.first) / deal.step * width + j % width);
                                        });

        typename Kernels::template Memory<T> device_array(kernels, array), tiles(kernels, random_values<T>(stored, 2));
        const auto device_columns = stored_tile_columns(grid, tiles.data(), columns);
        kernels.template pack_tile_columns<T>(
            grid, deal, View<const T>::column_major(device_array.data(), grid.rows(), cols, ld), device_columns);
        INFO(describe(dealt));
        REQUIRE(tiles.read() == expected);

        std::vector<T> rubbish = random_values<T>(ld * cols + 2, 3);
        typename Kernels::template Memory<T> back(kernels, rubbish);
        kernels.template unpack_tile_columns<T>(grid, deal, TileColumns<const T>(device_columns),
                                                View<T>::column_major(back.data(), grid.rows(), cols, ld));
        for (Index j = 0; j < cols; ++j) {
            for (Index i = 0; i < grid.rows(); ++i) rubbish[at(j * ld + i)] = array[at(j * ld + i)];
        }
        REQUIRE(back.read() == rubbish);
    }
}

/// Each tile column in strips, into memory with gaps between its rows, and windows of it back.
template <class T, class Kernels>
void check_conversion_of_strips(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const TileGrid& grid = dealt.grid;
        if (dealt.deal.step != 1) continue;
        INFO(describe(dealt));
        const Index width = grid.shape().width, size = grid.tile_column_size(), ld = grid.rows() + 3;
        const std::vector<T> array = random_values<T>(ld * grid.cols() + 2, 1);
        const auto source = View<const T>::column_major(array.data(), grid.rows(), grid.cols(), ld);
        for (Index j = 0; j < grid.tile_cols(); ++j) {
            std::vector<T> expected(at(size));
            reference::fill_tile_columns<T>(grid, {j, 1}, stored_tile_columns(grid, expected.data(), 1),
                                            [&](Index i, Index column) { return source(i, column); });
            typename Kernels::template Memory<T> device_array(kernels, array),
                tiles(kernels, random_values<T>(size, 2));
            const auto whole = View<T>::row_major(tiles.data(), grid.padded_rows(), width, width);
            const Index split = grid.tile_width(j) / 3;  // nothing may come of nothing
            for (const auto& [first, end] : {std::array<Index, 2>{0, split}, {split, width}}) {
                const Index cols = std::min(end, grid.tile_width(j)) - first;
                kernels.template pack_columns<T>(
                    grid, j, first,
                    View<const T>::column_major(device_array.data() + (grid.first_col(j) + first) * ld, grid.rows(),
                                                cols, ld),
                    whole.block(0, first, grid.padded_rows(), end - first));
            }
            REQUIRE(tiles.read() == expected);

            const Index row = grid.rows() / 4, rows = grid.rows() - row, cols = grid.tile_width(j) - split;
            std::vector<T> rubbish = random_values<T>(rows * cols + 5, 3);
            typename Kernels::template Memory<T> back(kernels, rubbish);
            kernels.template unpack_window<T>(View<const T>(whole.block(row, split, rows, cols)),
                                              View<T>::column_major(back.data(), rows, cols, std::max<Index>(rows, 1)));
            for (Index c = 0; c < cols; ++c) {
                for (Index i = 0; i < rows; ++i) {
                    rubbish[at(c * rows + i)] = source(row + i, grid.first_col(j) + split + c);
                }
            }
            REQUIRE(back.read() == rubbish);
        }
    }
}

template <class T, class Kernels>
void check_conversion_in_place(Kernels& kernels, const std::vector<Dealt>& matrices) {
    for (const Dealt& dealt : matrices) {
        const auto& [grid, deal] = dealt;
        if (deal.step != 1) continue;
        const Index ld = grid.padded_rows();
        const std::vector<T> array = random_values<T>(grid.tile_cols() * grid.tile_column_size(), 1);
        std::vector<T> expected(array.size());
        reference::fill_tile_columns<T>(grid, deal, stored_tile_columns(grid, expected.data(), grid.tile_cols()),
                                        [&](Index i, Index j) { return array[at(j * ld + i)]; });
        typename Kernels::template Memory<T> memory(kernels, array),
            buffer(kernels, std::vector<T>(at(grid.tile_column_size())));
        kernels.template pack_in_place<T>(grid, memory.data(), buffer.data());
        INFO(describe(dealt));
        REQUIRE(memory.read() == expected);
        kernels.template unpack_in_place<T>(grid, memory.data(), buffer.data());
        const std::vector<T> back = memory.read();
        for (Index j = 0; j < grid.cols(); ++j) {
            for (Index i = 0; i < grid.rows(); ++i) REQUIRE(back[at(j * ld + i)] == array[at(j * ld + i)]);
        }
    }
}

/// Room for one more tile column in front is enough to convert with one pass: each goes one place ahead.
template <class T, class Kernels>
void check_conversion_one_place_ahead(Kernels& kernels) {
    const TileGrid grid(128, 100, {32, 32});
    const Index size = grid.tile_column_size();
    const std::vector<T> array = random_values<T>((grid.tile_cols() + 1) * size, 1);
    std::vector<T> expected(array);
    reference::fill_tile_columns<T>(grid, {}, stored_tile_columns(grid, expected.data(), grid.tile_cols()),
                                    [&](Index i, Index j) { return array[at(size + j * grid.rows() + i)]; });
    typename Kernels::template Memory<T> memory(kernels, array);
    for (Index j = 0; j < grid.tile_cols(); ++j) {
        const auto source =
            View<const T>::column_major(memory.data() + (j + 1) * size, grid.rows(), grid.tile_width(j), grid.rows());
        kernels.template pack_tile_columns<T>(grid, TileDeal{j, 1}, source,
                                              stored_tile_columns(grid, memory.data() + j * size, 1));
    }
    std::vector<T> tiles = memory.read();
    tiles.resize(at(grid.tile_cols() * size));
    expected.resize(tiles.size());
    REQUIRE(tiles == expected);
}

template <class T, class Kernels>
void check_reordering(Kernels& kernels) {
    for (const TileShape shape : {TileShape{1, 1}, {32, 32}, {16, 50}, {64, 7}, {300, 128}, {65, 63}}) {
        for (const auto& [columns, tiles] : {std::array<Index, 2>{0, 2}, {2, 0}, {1, 1}, {3, 2}}) {
            HostColumns<T> crrb(columns, tiles * shape.height, shape.width, 1, 0),
                ccrb(columns, tiles * shape.height, shape.width, 2, 0);
            typename Kernels::template Memory<T> rows(kernels, crrb.values), cols(kernels, ccrb.values),
                back(kernels, ccrb.values);
            for (Index l = 0; l < columns; ++l) {
                for (Index i = 0; i < crrb.shape.rows; ++i) {
                    for (Index c = 0; c < shape.width; ++c) {
                        const Index tile = i / shape.height * shape.height * shape.width;
                        ccrb.columns().data[l * ccrb.shape.stride + tile + c * shape.height + i % shape.height] =
                            crrb.column(l)(i, c);
                    }
                }
            }
            kernels.template reorder_tiles<T>(shape, ElementOrder::row_major, crrb.on(rows.data()),
                                              ccrb.on(cols.data()));
            INFO(columns << " columns of " << tiles << " tiles of " << shape.height << " x " << shape.width);
            REQUIRE(cols.read() == ccrb.values);
            kernels.template reorder_tiles<T>(shape, ElementOrder::column_major, ccrb.on(cols.data()),
                                              crrb.on(back.data()));
            std::vector<T> home = back.read();
            for (Index l = 0; l < columns; ++l) {
                for (Index i = 0; i < crrb.shape.rows; ++i) {
                    for (Index c = 0; c < shape.width; ++c) {
                        REQUIRE(crrb.on(home.data()).column(l)(i, c) == crrb.column(l)(i, c));
                    }
                }
            }
        }
    }
}

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
            kernels.template generate_tile_columns<T>(spec, grid, deal,
                                                      stored_tile_columns(grid, tiles.data(), columns));
            INFO(info.name << ", " << describe(dealt));
            REQUIRE(tiles.read() == expected);
        }
    }
    CHECK(find_device_generator("vandermonde") == std::nullopt);
}

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
    kernels.template max_norm<T>(grid, deal, a, result.data());
    kernels.template absolute_column_sums<T>(grid, deal, a, column_sums.data(), scratch.data());
    kernels.largest(static_cast<const double*>(column_sums.data()), a.columns * a.width, result.data() + 1);
    kernels.template absolute_row_sums<T>(grid, deal, a, row_sums.data());
    kernels.largest(static_cast<const double*>(row_sums.data()), grid.rows(), result.data() + 2);
    kernels.template square_sums<T>(grid, deal, a, squares.data(), square_scratch.data());
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

/// Sums whose order a GPU could choose anew each time: two runs, on other addresses.
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
        kernels.template invert_unit_lower<T>(triangle, l.on(inverse.data()).column(0), inverse_norms.data());
        kernels.template update_trailing<T>(triangle, u.on(device_u.data()), c.on(device_c.data()));
        kernels.template solve_by_inverses<T>(triangle, View<const T>(x.on(device_x.data()).column(0)),
                                              u.on(device_u.data()), c.on(solved.data()));
        kernels.template solve_by_substitution<T>(triangle, u.on(device_u.data()), c.on(substituted.data()));
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
