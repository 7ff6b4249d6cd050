#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const std::array<std::array<Index, 2>, 18> shapes{{{0, 0},
                                                   {0, 5},
                                                   {5, 0},
                                                   {1, 1},
                                                   {1, 40},
                                                   {40, 1},
                                                   {2, 2},
                                                   {nb - 1, nb - 1},
                                                   {nb, nb},
                                                   {nb + 1, nb + 1},
                                                   {2 * nb + 3, 2 * nb + 3},
                                                   {200, 33},
                                                   {33, 200},
                                                   {64, 65},
                                                   {300, 96},
                                                   {96, 300},
                                                   {129, 127},
                                                   {150, 150}}};

template <class T>
Dense<T> with_equal_columns(Dense<T> a, Index one, Index other) {
    for (Index i = 0; i < a.m; ++i) a(i, other) = a(i, one);
    return a;
}

template <class T>
Dense<T> with_equal_rows(Dense<T> a, Index one, Index other) {
    for (Index j = 0; j < a.n; ++j) a(other, j) = a(one, j);
    return a;
}

template <class T>
Dense<T> with_zero_column(Dense<T> a, Index zero) {
    for (Index i = 0; i < a.m; ++i) a(i, zero) = 0;
    return a;
}

/// A singular matrix whose elimination is exact up to the first zero pivot, or to the end.
template <class T>
struct Singular {
    std::string name;
    Dense<T> a;
    bool exact_to_the_end;
};

template <class T>
std::vector<Singular<T>> singular_matrices(Index m, Index n) {
    const Dense<T> full = generated<T>("integer", m, n, 9), ties = incidence<T>(m, n, 10);
    std::vector<Singular<T>> all{{"zero", generated<T>("zero", m, n), true}, {"incidence", ties, true}};
    for (const Index zero : {Index{0}, n / 3, nb - 1, nb, std::min(m, n) - 1}) {
        const std::string name = "column " + std::to_string(zero) + " zero";
        all.push_back({name, with_zero_column(full, zero), false});
        all.push_back({name + ", incidence", with_zero_column(ties, zero), true});
    }
    for (const auto& [one, other] : {std::array<Index, 2>{0, 1}, {3, nb + 5}, {nb, std::min(m, n) - 1}}) {
        const std::string name = std::to_string(one) + " and " + std::to_string(other) + " equal";
        all.push_back({"columns " + name, with_equal_columns(full, one, other), false});
        all.push_back({"columns " + name + ", incidence", with_equal_columns(ties, one, other), true});
        all.push_back({"rows " + name + ", incidence", with_equal_rows(ties, one, other), true});
    }
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("LU of any shape has LAPACK's residual with any tiles, panels, workers and policy", "[lu]", float,
                   double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const auto& [m, n] : shapes) {
            const Dense<T> a = random_dense<T>(m, n, static_cast<unsigned>(m * 1000 + n));
            for (Layout layout : layouts) {
                if (m > 100) layout.options.panel_threads = at_least(1, config.workers);
                INFO(m << " x " << n << ", " << text(layout) << ", " << text(config));
                check_factors(a, factor(rt, a, layout));
            }
        }
    }
}

TEMPLATE_TEST_CASE("LU of order 1000 is as exact as LAPACK's", "[lu]", float, double) {
    using T = TestType;
    const Dense<T> a = random_dense<T>(1000, 1000, 3);
    const Factored<T> expected = lapack_getrf(a);
    const double lapack_ratio = factor_ratio(a, expected.lu, expected.pivots);
    for (const int workers : {1, 2, 8}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        for (const Layout& layout : {Layout{}, Layout{{128, 96}, {.panel_width = 40, .panel_threads = workers}}}) {
            INFO(text(layout) << ", " << text(config));
            const Factored<T> f = factor(rt, a, layout);
            check_factors(a, f);
            CHECK(factor_ratio(a, f.lu, f.pivots) < 4 * lapack_ratio);
        }
    }
}

TEMPLATE_TEST_CASE("tall and wide matrices are factored like square ones", "[lu]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const auto& [m, n] : {std::array<Index, 2>{3000, 70}, {70, 3000}, {1500, 200}, {200, 1500}}) {
        const Dense<T> a = random_dense<T>(m, n, 4);
        for (const Layout& layout : {Layout{}, Layout{{64, 48}, {.panel_width = 20, .panel_threads = 2}}}) {
            INFO(m << " x " << n << ", " << text(layout));
            check_factors(a, factor(rt, a, layout));
        }
    }
}

TEMPLATE_TEST_CASE("pivots equal LAPACK's where magnitudes are well separated", "[lu]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const auto& [m, n] : {std::array<Index, 2>{150, 150}, {260, 90}, {90, 260}, {33, 33}}) {
            const Dense<T> a = well_separated<T>(m, n, 5);
            const Factored<T> expected = lapack_getrf(a);
            for (const Layout& layout : layouts) {
                INFO(m << " x " << n << ", " << text(layout) << ", " << text(config));
                const Factored<T> f = factor(rt, a, layout);
                CHECK(f.pivots == expected.pivots);
                check_factors(a, f);
            }
        }
    }
}

TEMPLATE_TEST_CASE("exact-integer matrices have LAPACK's factors and pivots, bit for bit", "[lu]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const auto& [m, n] : {std::array<Index, 2>{200, 200}, {333, 100}, {100, 333}, {65, 65}}) {
            const Dense<T> a = generated<T>("integer", m, n, 7);
            const Factored<T> expected = lapack_getrf(a);
            for (const Layout& layout : layouts) {
                INFO(m << " x " << n << ", " << text(layout) << ", " << text(config));
                const Factored<T> f = factor(rt, a, layout);
                CHECK(f.pivots == expected.pivots);
                CHECK(f.info == expected.info);
                CHECK(f.lu.values == expected.lu.values);
            }
        }
    }
}

TEMPLATE_TEST_CASE("INFO of an exactly singular matrix is LAPACK's and the factors are complete", "[lu]", float,
                   double) {
    using T = TestType;
    for (const int workers : {1, 2, 8}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        for (const auto& [m, n] : {std::array<Index, 2>{100, 100}, {150, 80}, {80, 110}}) {
            for (const Singular<T>& matrix : singular_matrices<T>(m, n)) {
                const Factored<T> expected = lapack_getrf(matrix.a);
                REQUIRE(expected.info > 0);
                const auto exact =
                    static_cast<std::size_t>(matrix.exact_to_the_end ? std::min(m, n) : expected.info - 1);
                for (const Layout& layout : layouts) {
                    INFO(m << " x " << n << ", " << matrix.name << ", " << text(layout) << ", " << text(config));
                    const Factored<T> f = factor(rt, matrix.a, layout);
                    CHECK(f.info == expected.info);
                    CHECK(std::equal(f.pivots.begin(), f.pivots.begin() + static_cast<Index>(exact),
                                     expected.pivots.begin()));
                    if (matrix.exact_to_the_end) CHECK(f.lu.values == expected.lu.values);
                    CHECK(factor_ratio(matrix.a, f.lu, f.pivots) < 30);
                    CHECK(largest_multiplier(f.lu) <= 1);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("every generator's matrix is factored as exactly as by LAPACK", "[lu]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const GeneratorInfo& kind : generator_names()) {
        for (const auto& [m, n] : {std::array<Index, 2>{50, 50}, {120, 120}, {200, 70}, {70, 200}}) {
            const Dense<T> a = generated<T>(kind.name, m, n);
            const Factored<T> expected = lapack_getrf(a);
            const double lapack_ratio = factor_ratio(a, expected.lu, expected.pivots);
            for (const Layout& layout : {layouts[0], layouts[2], layouts[7]}) {
                INFO(kind.name << " " << m << " x " << n << ", " << text(layout));
                const Factored<T> f = factor(rt, a, layout);
                check_pivots_inside(f.pivots, m);
                CHECK(largest_multiplier(f.lu) <= 1);
                // Where elements grow (wilkinson) no code stays below 30; ours must not be worse than
                // LAPACK's.
                CHECK(factor_ratio(a, f.lu, f.pivots) < std::max(30.0, 4 * lapack_ratio));
                // Whether rounding leaves a zero pivot of a rank-deficient matrix exactly zero is chance.
                if (kind.name != "deficient") CHECK(f.info == expected.info);
            }
        }
    }
}

TEST_CASE("Wilkinson's matrix grows by two to the n - 1 without an interchange", "[lu]") {
    Runtime rt(two_workers());
    const Index n = 53;  // every power of two and every sum is exact
    const Factored<double> f = factor(rt, generated<double>("wilkinson", n, n), layouts[1]);
    for (Index k = 0; k < n; ++k) {
        CHECK(f.pivots[static_cast<std::size_t>(k)] == k + 1);
        CHECK(f.lu(k, n - 1) == std::ldexp(1.0, static_cast<int>(k)));
    }
}

TEMPLATE_TEST_CASE("NaN and infinity never hang the factorization nor choose a row outside", "[lu]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const double bad : {nan_value, infinity, -infinity}) {
            for (int where = 0; where < 5; ++where) {
                Dense<T> a = random_dense<T>(110, 100, 11);
                for (Index j = 0; j < a.n; ++j) {
                    for (Index i = 0; i < a.m; ++i) {
                        const bool hit = where == 0 || (where == 1 && j == 40) || (where == 2 && i == 70) ||
                                         (where == 3 && i == j) || (where == 4 && i == 109 && j == 99);
                        if (hit) a(i, j) = static_cast<T>(bad);
                    }
                }
                for (const Layout& layout : {layouts[0], layouts[2]}) {
                    INFO(bad << " at place " << where << ", " << text(layout) << ", " << text(config));
                    const Factored<T> f = factor(rt, a, layout);
                    check_pivots_inside(f.pivots, a.m);
                    CHECK(!std::isfinite(one_norm(f.lu)));
                }
            }
        }
    }
}

TEST_CASE("a small factorization under a sanitizer is right on every path", "[lu][sanitize]") {
    for (const int workers : {1, 2, 3}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        for (const auto& [m, n] : {std::array<Index, 2>{0, 0}, {1, 1}, {70, 70}, {90, 33}, {33, 90}}) {
            for (Layout layout : {layouts[0], layouts[2], layouts[4], layouts[7]}) {
                layout.options.panel_threads = workers;
                const Dense<double> a = generated<double>("integer", m, n);
                const Factored<double> f = factor(rt, a, layout);
                CHECK(f.info == 0);
                CHECK(largest_multiplier(f.lu) <= 1);
            }
        }
    }
}

TEMPLATE_TEST_CASE("NaN and infinity read nothing outside", "[lu][sanitize]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const double bad : {nan_value, infinity}) {
        for (const Index column : {0, 20, 49}) {
            Dense<T> a = random_dense<T>(60, 50, 23);
            for (Index i = 0; i < a.m; ++i) a(i, column) = static_cast<T>(bad);
            Layout layout = layouts[2];
            layout.options.panel_threads = 2;
            check_pivots_inside(factor(rt, a, layout).pivots, a.m);
            for (T& x : a.values) x = static_cast<T>(bad);
            check_pivots_inside(factor(rt, a, layout).pivots, a.m);
        }
    }
}

TEMPLATE_TEST_CASE("random shapes, tiles, panels and workers agree with LAPACK", "[lu][.soak]", float, double) {
    using T = TestType;
    const unsigned seed = std::random_device{}();
    std::mt19937 random(seed);
    INFO("seed " << seed);
    const auto up_to = [&](unsigned limit) { return static_cast<Index>(random() % limit); };
    for (int round = 0; round < 300; ++round) {
        Config config;
        config.workers = static_cast<int>(1 + up_to(8));
        config.scheduler = scheduler_names()[static_cast<std::size_t>(up_to(2))];
        Runtime rt(config);
        const Index m = up_to(round % 10 == 0 ? 2500 : 500), n = up_to(round % 10 == 0 ? 2500 : 500);
        const Layout layout{
            {1 + up_to(300), 1 + up_to(300)},
            {.panel_width = at_least<Index>(1, up_to(200)), .panel_threads = at_least(1, static_cast<int>(up_to(10)))}};
        INFO(m << " x " << n << ", " << text(layout) << ", " << text(config));
        const Dense<T> a = random_dense<T>(m, n, random());
        check_factors(a, factor(rt, a, layout));
        const Dense<T> exact = generated<T>("integer", m, n, random());
        CHECK(factor(rt, exact, layout).lu.values == lapack_getrf(exact).lu.values);
    }
}

TEST_CASE("LU of order 4000 is as exact as LAPACK's", "[lu][.soak]") {
    const Dense<double> a = random_dense<double>(4000, 4000, 24);
    Runtime rt;
    check_factors(a, factor(rt, a));
}
