#pragma once

// The kernels of Cholesky against plain loops: on a GPU, and their CPU twins.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/inverted_block.hpp"
#include "kernels/reference/potrf.hpp"
#include "tests/kernels/cpu_twins.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"
#include "tests/tasks/cholesky/extreme_pivots.hpp"

namespace basalt_tests {

/// The CPU twins, in host memory.
struct CholeskyTwins : CpuTwins {
    basalt::cuda_kernels::CholeskyPanelPlan plan;

    template <class T>
    static std::size_t workspace(Index, Index) {
        return sizeof(T);
    }
};

/// The first `cols` columns of a positive definite matrix of order `rows`, row-major with a gap.
template <class T>
std::vector<T> panel_of(const Dense<T>& a, Index cols, Index ld) {
    std::vector<T> values(static_cast<std::size_t>(a.n * ld + 1), T(gap_mark));
    for (Index i = 0; i < a.n; ++i) {
        for (Index j = 0; j < std::min(cols, i + 1); ++j) values[static_cast<std::size_t>(i * ld + j)] = a(i, j);
    }
    return values;
}

template <class T, class Kernels>
std::vector<T> factored_panel(Kernels& kernels, const std::vector<T>& values, Index rows, Index cols, Index ld,
                              Index& info) {
    typename Kernels::template Memory<T> panel(kernels, values);
    typename Kernels::template Memory<Index> result(kernels, {-1});
    typename Kernels::template Memory<char> workspace(
        kernels, std::vector<char>(Kernels::template workspace<T>(rows, cols), char(0x5a)));
    kernels(basalt::on_stream::cholesky_panel<T>, View<T>::row_major(panel.data(), rows, cols, ld), kernels.plan,
            result.data(), workspace.data());
    info = result.read()[0];
    return panel.read();
}

/// |A - L L^T| / |A| in the panel is up to `bound`; what is outside the panel is as it was.
template <class T, class Kernels>
void check_panel(Kernels& kernels, const Dense<T>& a, Index cols, Index gap, double bound = 30 * roundoff<T>) {
    const Index rows = a.n, ld = cols + gap;
    const std::vector<T> before = panel_of(a, cols, ld);
    Index info = -1;
    const std::vector<T> l = factored_panel(kernels, before, rows, cols, ld, info);
    const auto at = [&](Index i, Index j) { return static_cast<double>(l[static_cast<std::size_t>(i * ld + j)]); };
    INFO(rows << " x " << cols << ", gap " << gap);
    REQUIRE(info == 0);
    double error = 0, norm = 0;
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j <= std::min(i, cols - 1); ++j) {
            long double sum = -static_cast<long double>(a(i, j));
            for (Index k = 0; k <= j; ++k) sum += static_cast<long double>(at(i, k)) * at(j, k);
            error = std::isnan(sum) ? NAN : std::max(error, static_cast<double>(std::abs(sum)));
            norm = std::max(norm, std::abs(static_cast<double>(a(i, j))));
        }
        for (Index j = cols; j < ld; ++j) REQUIRE(l[static_cast<std::size_t>(i * ld + j)] == T(gap_mark));
    }
    REQUIRE(error <= bound * norm);
}

template <class T, class Kernels>
void check_panels(Kernels& kernels, const std::vector<std::array<Index, 2>>& panels) {
    for (const auto& [rows, cols] : panels) {
        for (const Index gap : {0, 3, 8}) check_panel<T>(kernels, generated<T>("spd", rows, rows, 3), cols, gap);
    }
}

/// Products in TF32 between the halves: the panel is as accurate as those are, and where it is a single leaf, without
/// products, its bits are those of the plan with plain products.
template <class Kernels>
void check_panels_in_tf32(Kernels& kernels) {
    using basalt::ProductPrecision;
    const auto before = kernels.plan;
    kernels.plan.design = basalt::cuda_kernels::CholeskyPanelDesign::recursive;
    const Index leaf = kernels.plan.leaf.columns;
    for (const Index cols : {leaf, 2 * leaf, 3 * leaf + 5}) {
        const Dense<float> a = generated<float>("spd", cols + 70, cols + 70, 3);
        const auto factored_by = [&](ProductPrecision products) {
            kernels.plan.products = products;
            Index info = -1;
            return factored_panel(kernels, panel_of(a, cols, cols), a.n, cols, cols, info);
        };
        const std::vector<float> in_single = factored_by(ProductPrecision::plain),
                                 in_tf32 = factored_by(ProductPrecision::tf32);
        INFO(a.n << " x " << cols);
        REQUIRE((in_tf32 == in_single) == (cols == leaf));
        check_panel<float>(kernels, a, cols, 3, 4 * roundoff_of(ProductPrecision::tf32));
    }
    kernels.plan.products = ProductPrecision::tf32;
    Dense<float> a = generated<float>("spd", 3 * leaf, 3 * leaf, 3);
    a(2 * leaf + 1, 2 * leaf + 1) = -1;
    Index info = -1;
    factored_panel(kernels, panel_of(a, a.n, a.n), a.n, a.n, a.n, info);
    REQUIRE(info == 2 * leaf + 2);
    kernels.plan = before;
}

template <class T, class Kernels>
void check_ill_conditioned_panels(Kernels& kernels) {
    for (const double condition : {1e3, sizeof(T) == 4 ? 1e5 : 1e9, sizeof(T) == 4 ? 2e5 : 1e13}) {
        const Dense<T> a = rounded<T>(conditioned(160, condition, 4));
        for (const Index cols : {32, 100, 160}) check_panel<T>(kernels, a, cols, 0);
    }
}

/// L L^T, the inverse of whose second tile on the diagonal is too large to be used.
template <class T>
Dense<T> with_large_inverse(Index n) {
    constexpr Index tile = basalt::inverted_block;
    Dense<double> l = random_dense<double>(n, n, 8), square = conditioned(tile, sizeof(T) == 4 ? 5e5 : 1e7, 9);
    for (double& element : l.values) element *= 0.1;
    for (Index i = 0; i < n; ++i) l(i, i) = 1;
    basalt::reference::potrf<double>(Triangle::lower,
                                     View<double>::column_major(square.values.data(), tile, tile, tile));
    for (Index j = 0; j < tile; ++j) {
        for (Index i = j; i < tile; ++i) l(tile + i, tile + j) = square(i, j);
    }
    Dense<double> a(n, n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) {
            double sum = 0;
            for (Index k = 0; k <= j; ++k) sum += l(i, k) * l(j, k);
            a(i, j) = sum;
        }
    }
    return rounded<T>(a);
}

template <class T, class Kernels>
void check_panels_by_substitution(Kernels& kernels) {
    const Dense<T> a = with_large_inverse<T>(170);
    for (const Index cols : {50, 64, 150}) check_panel<T>(kernels, a, cols, 0);
}

template <class T, class Kernels>
void check_panel_info(Kernels& kernels) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    for (const Index cols : {20, 200, 300}) {
        const Index rows = cols + 40;
        for (const Index where : {Index{0}, Index{19}, cols / 2, cols - 1}) {
            for (const T pivot : {T{-1}, T{0}, nan}) {
                Dense<T> a = generated<T>("spd", rows, rows, 3);
                a(where, where) = pivot;
                if (where + 1 < cols) a(cols - 1, cols - 1) = T{-1};
                Index info = -1;
                factored_panel(kernels, panel_of(a, cols, cols), rows, cols, cols, info);
                INFO(rows << " x " << cols << ", pivot " << where << " is " << pivot);
                REQUIRE(info == where + 1);
            }
        }
    }
}

/// Denormal and infinite pivots, in squares and in panels that go on below them.
template <class T, class Kernels>
void check_extreme_panels(Kernels& kernels) {
    for (const Index cols : {40, 130}) {
        for (const ExtremeMatrix<T>& extreme : extreme_matrices<T>(cols + 20)) {
            const Index rows = extreme.a.n;
            Index info = -1;
            const std::vector<T> l = factored_panel(kernels, panel_of(extreme.a, cols, cols), rows, cols, cols, info);
            INFO(rows << " x " << cols << ", " << extreme.what);
            const Index expected = extreme.info <= cols ? extreme.info : 0;
            REQUIRE(info == expected);
            if (info != 0 || extreme.info != 0) continue;
            Dense<T> got = extreme.factor;
            for (Index j = 0; j < cols; ++j) {
                for (Index i = j; i < rows; ++i) got(i, j) = l[static_cast<std::size_t>(i * cols + j)];
            }
            REQUIRE(same_factor(got, extreme.factor));
        }
    }
}

template <class T, class Kernels>
void check_repeated_panel(Kernels& kernels, Index rows, Index cols) {
    const std::vector<T> values = panel_of(generated<T>("spd", rows, rows, 5), cols, cols);
    Index info = -1;
    std::vector<T> first = factored_panel(kernels, values, rows, cols, cols, info);
    for (int again = 0; again < 3; ++again) REQUIRE(factored_panel(kernels, values, rows, cols, cols, info) == first);
}

template <class T, class Kernels>
void check_transposed_products(Kernels& kernels) {
    for (const auto& [m, n, k, count] : {std::array<Index, 4>{0, 3, 3, 2},
                                         {3, 0, 3, 1},
                                         {5, 7, 0, 2},
                                         {5, 7, 3, 0},
                                         {1, 1, 1, 1},
                                         {33, 17, 40, 1},
                                         {130, 64, 65, 1},
                                         {33, 17, 40, 3}}) {
        // one A for all, B from consecutive rows, C from matrices with a row between them
        const Index lda = k + 3, ldb = k + 1, ldc = n + 2, c_rows = (m + 1) * count;
        const auto elements = [](Index rows, Index ld, unsigned seed) {
            const Dense<T> d = random_dense<T>(std::max<Index>(rows * ld, 1), 1, seed);
            return std::vector<T>(d.values.begin(), d.values.end());
        };
        const std::vector<T> a = elements(m, lda, 1), b = elements(n * count, ldb, 2), c = elements(c_rows, ldc, 3);
        typename Kernels::template Memory<T> da(kernels, a), db(kernels, b), dc(kernels, c);
        kernels(basalt::on_stream::subtract_transposed_products<T>, count,
                basalt::Strided<const T>{View<const T>::row_major(da.data(), m, k, lda)},
                basalt::Strided<const T>{View<const T>::row_major(db.data(), n, k, ldb), n * ldb},
                basalt::Strided<T>{View<T>::row_major(dc.data(), m, n, ldc), (m + 1) * ldc},
                basalt::ProductPrecision::plain);
        const std::vector<T> got = dc.read();
        for (Index i = 0; i < c_rows; ++i) {
            for (Index j = 0; j < ldc; ++j) {
                const Index row = i % (m + 1), matrix = i / (m + 1);
                double sum = static_cast<double>(c[static_cast<std::size_t>(i * ldc + j)]);
                for (Index q = 0; q < k && j < n && row < m; ++q) {
                    sum -= static_cast<double>(a[static_cast<std::size_t>(row * lda + q)]) *
                           static_cast<double>(b[static_cast<std::size_t>((matrix * n + j) * ldb + q)]);
                }
                REQUIRE(std::abs(static_cast<double>(got[static_cast<std::size_t>(i * ldc + j)]) - sum) <=
                        10 * static_cast<double>(k + 1) * roundoff<T>);
            }
        }
    }
}

/// What is above the diagonal within the band comes back, everything else stays.
template <class T, class Kernels>
void check_band(Kernels& kernels) {
    for (const auto& [n, band] : {std::array<Index, 2>{1, 1}, {5, 1}, {5, 2}, {40, 16}, {40, 300}, {300, 290}}) {
        const Index ld = n + 3;
        const Dense<T> d = random_dense<T>(n * ld, 1, 4);
        const std::vector<T> a(d.values.begin(), d.values.end());
        std::vector<T> overwritten = a;
        for (Index i = 0; i < n; ++i) {
            for (Index j = i + 1; j < n; ++j) overwritten[static_cast<std::size_t>(i * ld + j)] = T{7};
        }
        typename Kernels::template Memory<T> from(kernels, a), to(kernels, overwritten),
            saved(kernels, std::vector<T>(static_cast<std::size_t>(n * band)));
        const auto kept = View<T>::row_major(saved.data(), n, band, band);
        kernels(basalt::on_stream::save_above_diagonal<T>, View<const T>::row_major(from.data(), n, n, ld), kept);
        kernels(basalt::on_stream::restore_above_diagonal<T>, View<const T>(kept),
                View<T>::row_major(to.data(), n, n, ld));
        std::vector<T> expected = overwritten;
        for (Index i = 0; i < n; ++i) {
            for (Index j = i + 1; j < std::min(n, i + band); ++j) {
                expected[static_cast<std::size_t>(i * ld + j)] = a[static_cast<std::size_t>(i * ld + j)];
            }
        }
        INFO("order " << n << ", band " << band);
        REQUIRE(to.read() == expected);
        REQUIRE(from.read() == a);
    }
}

template <class T, class Kernels>
void check_triangle_copies(Kernels& kernels) {
    for (const auto& [rows, cols, offset] : {std::array<Index, 3>{0, 4, 0},
                                             {1, 1, 0},
                                             {33, 33, 0},
                                             {100, 40, 0},
                                             {40, 100, -7},
                                             {70, 65, 31},
                                             {64, 64, 64},
                                             {64, 64, -64},
                                             {50, 50, 1},
                                             {130, 97, -200},
                                             {200, 150, 3}}) {
        for (const Triangle triangle : both_triangles) {
            for (const int layouts : {0, 1, 2, 3}) {
                const Index most = (rows + 3) * (cols + 3);
                const Dense<T> from = random_dense<T>(most, 1, 1), into = random_dense<T>(most, 1, 2);
                const auto view = [&, r = rows, c = cols](T* data, bool by_rows) {
                    return by_rows ? View<T>::row_major(data, r, c, c + 2) : View<T>::column_major(data, r, c, r + 1);
                };
                typename Kernels::template Memory<T> source(kernels, from.values), target(kernels, into.values);
                kernels(basalt::on_stream::copy_triangle<T>, triangle, Index{offset},
                        View<const T>(view(source.data(), layouts % 2 == 0)), view(target.data(), layouts / 2 == 0));
                std::vector<T> elements = from.values, expected = into.values;
                const View<T> f = view(elements.data(), layouts % 2 == 0), e = view(expected.data(), layouts / 2 == 0);
                for (Index i = 0; i < rows; ++i) {
                    for (Index j = 0; j < cols; ++j) {
                        if (triangle == Triangle::lower ? i >= j + offset : i <= j + offset) e(i, j) = f(i, j);
                    }
                }
                INFO(text(triangle) << " of " << rows << " x " << cols << ", offset " << offset << ", layouts "
                                    << layouts);
                REQUIRE(target.read() == expected);
                kernels(basalt::on_stream::zero_triangle<T>, triangle, Index{offset},
                        view(target.data(), layouts / 2 == 0));
                for (Index i = 0; i < rows; ++i) {
                    for (Index j = 0; j < cols; ++j) {
                        if (triangle == Triangle::lower ? i >= j + offset : i <= j + offset) e(i, j) = T{0};
                    }
                }
                REQUIRE(target.read() == expected);
            }
        }
    }
}

}  // namespace basalt_tests
