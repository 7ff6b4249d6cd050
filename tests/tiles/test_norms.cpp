#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <basalt/error.hpp>

#include "tests/common/catch.hpp"
#include "tiles/norms.hpp"
#include "tiles/residual.hpp"

using namespace basalt;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Norms {
    double max = 0, one = 0, infinity = 0, frobenius = 0;
};

template <class T>
Norms naive(View<const T> a) {
    Norms norms;
    std::vector<double> rows(static_cast<std::size_t>(a.rows()));
    long double squares = 0;
    for (Index j = 0; j < a.cols(); ++j) {
        double col = 0;
        for (Index i = 0; i < a.rows(); ++i) {
            const double x = std::abs(static_cast<double>(a(i, j)));
            norms.max = std::max(norms.max, x);
            col += x;
            rows[i] += x;
            squares += static_cast<long double>(x) * x;
        }
        norms.one = std::max(norms.one, col);
    }
    for (const double row : rows) norms.infinity = std::max(norms.infinity, row);
    norms.frobenius = static_cast<double>(std::sqrt(squares));
    return norms;
}

/// In blocks of height x width dealt in turn to two sets of accumulators, which are merged.
template <class T>
Norms gathered(View<const T> a, Index height, Index width) {
    MaxNorm max[2];
    OneNorm one[2] = {OneNorm(a.cols()), OneNorm(a.cols())};
    InfinityNorm infinity[2] = {InfinityNorm(a.rows()), InfinityNorm(a.rows())};
    FrobeniusNorm frobenius[2];
    int turn = 0;
    for (Index col = 0; col < a.cols(); col += width) {
        for (Index row = 0; row < a.rows(); row += height) {
            const auto block = a.block(row, col, std::min(height, a.rows() - row), std::min(width, a.cols() - col));
            max[turn].accumulate(block, row, col);
            one[turn].accumulate(block, row, col);
            infinity[turn].accumulate(block, row, col);
            frobenius[turn].accumulate(block, row, col);
            turn = 1 - turn;
        }
    }
    max[0].merge(max[1]);
    one[0].merge(one[1]);
    infinity[0].merge(infinity[1]);
    frobenius[0].merge(frobenius[1]);
    return {max[0].value(), one[0].value(), infinity[0].value(), frobenius[0].value()};
}

Norms of(std::vector<double> elements) {
    const auto n = static_cast<Index>(elements.size());
    return gathered(View<const double>::column_major(elements.data(), n, 1, n), n, 1);
}

}  // namespace

TEMPLATE_TEST_CASE("norms gathered by blocks equal the naive ones", "", float, double) {
    for (const auto& [m, n] : {std::pair<Index, Index>{0, 0}, {0, 5}, {5, 0}, {1, 1}, {37, 61}, {100, 9}}) {
        std::vector<TestType> data(static_cast<std::size_t>((m + 2) * (n + 2)), TestType(1000));
        const View<TestType> views[] = {View<TestType>::column_major(data.data(), m, n, m + 2),
                                        View<TestType>::row_major(data.data(), m, n, n + 2)};
        for (const View<TestType>& view : views) {
            make_generator<TestType>("random", m, n, 9)->fill(view, 0, 0);
            const View<const TestType> a = view;
            const Norms expected = naive(a);
            for (const auto& [height, width] : {std::pair<Index, Index>{1000, 1000}, {7, 5}, {1, 1}}) {
                const Norms norms = gathered(a, height, width);
                CAPTURE(m, n, height, width);
                CHECK(norms.max == expected.max);
                CHECK(norms.one == Approx(expected.one).epsilon(1e-14));
                CHECK(norms.infinity == Approx(expected.infinity).epsilon(1e-14));
                CHECK(norms.frobenius == Approx(expected.frobenius).epsilon(1e-14));
            }
        }
    }
}

TEST_CASE("a NaN anywhere makes every norm NaN") {
    for (const Index m : {1, 8, 21}) {
        for (Index where = 0; where < m; ++where) {
            std::vector<double> x(static_cast<std::size_t>(m), 2.0);
            x[where] = not_a_number;
            if (where > 0) x[where - 1] = inf;  // NaN wins over infinity
            const Norms norms = of(x);
            CAPTURE(m, where);
            CHECK(std::isnan(norms.max));
            CHECK(std::isnan(norms.one));
            CHECK(std::isnan(norms.infinity));
            CHECK(std::isnan(norms.frobenius));
        }
    }
}

TEST_CASE("an infinity makes every norm infinite") {
    const Norms norms = of({1, -inf, 1e300, 0, 1e-300});
    CHECK(norms.max == inf);
    CHECK(norms.one == inf);
    CHECK(norms.infinity == inf);
    CHECK(norms.frobenius == inf);
}

TEST_CASE("the Frobenius norm neither overflows nor underflows") {
    CHECK(of({3e300, 4e300}).frobenius == Approx(5e300).epsilon(1e-15));
    CHECK(of({3e-300, 4e-300}).frobenius / 5e-300 == Approx(1).epsilon(1e-15));
    CHECK(of({3e-320, 4e-320}).frobenius / 5e-320 == Approx(1).epsilon(1e-3));  // subnormal: 13 bits
    CHECK(of({3e160, 4e160, 1e-200}).frobenius == Approx(5e160).epsilon(1e-15));
    CHECK(of({3e140, 4e150, 1}).frobenius == Approx(4e150).epsilon(1e-15));
    CHECK(of({0, 0, 0}).frobenius == 0);
    CHECK(of({}).frobenius == 0);
    const double most = std::numeric_limits<double>::max();
    CHECK(of({most}).frobenius == most);

    // Elements too small to be squared alone add up together with ordinary ones at the edge of the two ranges.
    std::vector<double> edge(10000, 0x1p-512);
    edge.push_back(0x1p-505);
    CHECK(of(edge).frobenius / 0x1p-505 == Approx(std::sqrt(1 + 10000 * 0x1p-14)).epsilon(1e-14));
}

TEST_CASE("accumulators cover a range of rows or columns and refuse what is outside") {
    std::vector<double> data(12, 1.0);
    const auto block = View<const double>::column_major(data.data(), 4, 3, 4);
    OneNorm one(3, 10);
    one.accumulate(block, 0, 10);
    CHECK(one.value() == 4);
    InfinityNorm infinity(4, 20);
    infinity.accumulate(block, 20, 0);
    CHECK(infinity.value() == 3);
    CHECK_THROWS_AS(one.accumulate(block, 0, 9), UsageError);
    CHECK_THROWS_AS(one.accumulate(block, 0, 11), UsageError);
    CHECK_THROWS_AS(infinity.accumulate(block, 19, 0), UsageError);
    CHECK_THROWS_AS(infinity.accumulate(block, 21, 0), UsageError);
    CHECK_THROWS_AS(one.merge(OneNorm(3, 9)), UsageError);
    CHECK_THROWS_AS(infinity.merge(InfinityNorm(5, 20)), UsageError);
}

TEMPLATE_TEST_CASE("residual norms from a generator equal those of the stored matrix", "", float, double) {
    for (const auto& [m, n] : {std::pair<Index, Index>{300, 300}, {5, 170}, {257, 3}, {4, 0}, {0, 4}}) {
        const auto generator = make_generator<TestType>("integer", m, n + 2, 4);  // exact sums
        std::vector<TestType> data(static_cast<std::size_t>(m * (n + 2)));
        generator->fill(View<TestType>::column_major(data.data(), m, n + 2, std::max<Index>(m, 1)), 0, 0);
        std::vector<TestType> x(static_cast<std::size_t>(n));
        std::vector<TestType> b(static_cast<std::size_t>(m));
        for (Index j = 0; j < n; ++j) x[j] = static_cast<TestType>(j % 7 - 3);
        for (Index i = 0; i < m; ++i) b[i] = static_cast<TestType>(i % 5 - 3);
        ResidualNorms expected;
        for (Index i = 0; i < m; ++i) {
            double sum = b[i];
            double row = 0;
            for (Index j = 0; j < n; ++j) {
                sum -= static_cast<double>(data[i + j * m]) * x[j];
                row += std::abs(data[i + j * m]);
            }
            expected.merge({std::abs(sum), row, std::abs(static_cast<double>(b[i]))});
        }
        ResidualNorms norms;
        const View<const TestType> xs(x.data(), n);
        const View<const TestType> bs(b.data(), m);
        for (Index row = 0; row < m; row += 129) {
            norms.merge(residual_norms(*generator, row, std::min(row + 129, m), xs, bs));
        }
        CAPTURE(m, n);
        CHECK(norms.residual == expected.residual);
        CHECK(norms.matrix == expected.matrix);
        CHECK(norms.rhs == expected.rhs);
    }
}

TEST_CASE("a residual with NaN in the solution or the right-hand side is NaN") {
    const auto generator = make_generator<double>("random", 3, 3);
    std::vector<double> x = {1, 2, 3};
    std::vector<double> b = {1, not_a_number, 3};
    const View<const double> xs(x.data(), 3);
    const View<const double> bs(b.data(), 3);
    CHECK(std::isnan(residual_norms(*generator, 0, 3, xs, bs).residual));
    CHECK(std::isnan(residual_norms(*generator, 0, 3, xs, bs).rhs));
    b[1] = 2;
    CHECK(residual_norms(*generator, 0, 3, xs, bs).residual < 10);
    x[2] = not_a_number;
    CHECK(std::isnan(residual_norms(*generator, 0, 3, xs, bs).residual));
}

TEST_CASE("residuals refuse vectors and rows that do not fit") {
    const auto generator = make_generator<double>("random", 3, 4);
    std::vector<double> data(6);
    const auto vector = [&](Index size) { return View<const double>(data.data(), size); };
    CHECK_NOTHROW(residual_norms(*generator, 0, 3, vector(4), vector(3)));
    CHECK_THROWS_AS(residual_norms(*generator, 0, 3, vector(5), vector(3)), UsageError);
    CHECK_THROWS_AS(residual_norms(*generator, 0, 3, vector(4), vector(4)), UsageError);
    CHECK_THROWS_AS(residual_norms(*generator, 0, 4, vector(4), vector(3)), UsageError);
    CHECK_THROWS_AS(residual_norms(*generator, -1, 3, vector(4), vector(3)), UsageError);
    CHECK_THROWS_AS(residual_norms(*generator, 2, 1, vector(4), vector(3)), UsageError);
}

TEST_CASE("products are subtracted from residuals in either layout") {
    std::vector<double> a = {1, 2, 3, 4, 5, 6};
    const std::vector<double> x = {10, 100};
    for (const auto& block :
         {View<const double>::column_major(a.data(), 3, 2, 3), View<const double>::row_major(a.data(), 3, 2, 2)}) {
        std::vector<double> residual = {1, 1, 1};
        subtract_product<double>(block, View<const double>(x.data(), 2), View<double>(residual.data(), 3));
        for (Index i = 0; i < 3; ++i) CHECK(residual[i] == 1 - block(i, 0) * 10 - block(i, 1) * 100);
    }
}
