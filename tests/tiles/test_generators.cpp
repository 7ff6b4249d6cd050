#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <basalt/error.hpp>
#include <basalt/generator.hpp>

#include "tests/common/catch.hpp"
#include "tiles/generators/lcg.hpp"

using namespace basalt;

namespace {

/// A whole column-major matrix.
template <class T>
struct Elements {
    Elements(Index m, Index n) : data(static_cast<std::size_t>(m * n)), rows(m), cols(n) {}
    explicit Elements(const Generator<T>& generator) : Elements(generator.rows(), generator.cols()) {
        generator.fill(view(), 0, 0);
    }
    View<T> view() { return View<T>::column_major(data.data(), rows, cols, std::max<Index>(rows, 1)); }
    T& operator()(Index i, Index j) { return data[i + j * rows]; }
    T operator()(Index i, Index j) const { return data[i + j * rows]; }

    std::vector<T> data;
    Index rows;
    Index cols;
};

template <class T = double>
Elements<T> made(std::string_view name, Index m, Index n, std::uint64_t seed = 1) {
    return Elements<T>(*make_generator<T>(name, m, n, seed));
}

template <class T>
struct Elimination {
    std::vector<Index> pivots;
    bool unique = true;  ///< every pivot was larger than all other candidates
};

/// Gaussian elimination with partial pivoting, plainly; `a` becomes L below the diagonal and U.
template <class T>
Elimination<T> eliminate(Elements<T>& a) {
    Elimination<T> result;
    for (Index k = 0; k < std::min(a.rows, a.cols); ++k) {
        Index pivot = k;
        for (Index i = k + 1; i < a.rows; ++i) {
            if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
        }
        for (Index i = k; i < a.rows; ++i) {
            if (i != pivot && std::abs(a(i, k)) == std::abs(a(pivot, k))) result.unique = false;
        }
        result.pivots.push_back(pivot);
        if (a(pivot, k) == T(0)) continue;
        for (Index j = 0; j < a.cols; ++j) std::swap(a(k, j), a(pivot, j));
        for (Index i = k + 1; i < a.rows; ++i) {
            a(i, k) /= a(k, k);
            for (Index j = k + 1; j < a.cols; ++j) a(i, j) -= a(i, k) * a(k, j);
        }
    }
    return result;
}

/// Rank by elimination with complete pivoting: pivots above `tolerance`.
Index numerical_rank(Elements<double> a, double tolerance) {
    Index rank = 0;
    for (; rank < std::min(a.rows, a.cols); ++rank) {
        Index row = rank;
        Index col = rank;
        for (Index j = rank; j < a.cols; ++j) {
            for (Index i = rank; i < a.rows; ++i) {
                if (std::abs(a(i, j)) > std::abs(a(row, col))) row = i, col = j;
            }
        }
        if (std::abs(a(row, col)) <= tolerance) break;
        for (Index j = 0; j < a.cols; ++j) std::swap(a(rank, j), a(row, j));
        for (Index i = 0; i < a.rows; ++i) std::swap(a(i, rank), a(i, col));
        for (Index i = rank + 1; i < a.rows; ++i) {
            const double factor = a(i, rank) / a(rank, rank);
            for (Index j = rank; j < a.cols; ++j) a(i, j) -= factor * a(rank, j);
        }
    }
    return rank;
}

double element(const Generator<double>& generator, Index i, Index j) {
    double value = 0;
    generator.fill(View<double>(&value, 1), i, j);
    return value;
}

// Printed with %.17g by HPL 2.3 itself: N = 5, the six columns of [A b].
constexpr double hpl_5[6][5] = {
    {-5.1599441937666413e-05, 0.38413122531282284, 0.44368366759894268, -0.46046395121548966, -0.45958772011929283},
    {0.34562064452403346, -0.11136713687225697, -0.047680656152731316, 0.49361358048305759, -0.35630564973669032},
    {-0.16823369577055691, -0.090831820623165749, 0.29068848961522353, 0.085691074133398604, -0.21413395171812966},
    {0.28788494260027764, -0.17371051400182458, 0.30216059901126585, 0.4753296170688478, -0.23966144380975285},
    {0.0093221841384155679, 0.015331159708422748, -0.12411527527500799, -0.073042461116776924, 0.4730770021832989},
    {0.31511113229176213, 0.15813947822606234, 0.047074525499273268, -0.453643472551302, -0.048103255443626813},
};

}  // namespace

TEST_CASE("the hpl matrix of order 5 is HPL 2.3's bit for bit") {
    const auto a = made("hpl", 5, 6);
    const auto single = made<float>("hpl", 5, 6);
    for (Index j = 0; j < 6; ++j) {
        for (Index i = 0; i < 5; ++i) {
            CHECK(a(i, j) == hpl_5[j][i]);
            CHECK(single(i, j) == static_cast<float>(hpl_5[j][i]));
        }
    }
}

TEST_CASE("the hpl matrix of order 1000 is HPL 2.3's bit for bit at its corners and in its norm") {
    const auto generator = make_generator<double>("hpl", 1000, 1001);
    CHECK(element(*generator, 0, 0) == -5.1599441937666413e-05);
    CHECK(element(*generator, 999, 0) == 0.38365152715177331);
    CHECK(element(*generator, 0, 999) == -0.047883765242502596);
    CHECK(element(*generator, 999, 999) == -0.4588445242892768);
    CHECK(element(*generator, 0, 1000) == 0.033855561163696979);
    CHECK(element(*generator, 999, 1000) == 0.19857774149730228);

    const Elements<double> a(*generator);
    double norm = 0;
    for (Index i = 0; i < 1000; ++i) {
        double sum = 0;
        for (Index j = 0; j < 1000; ++j) sum += std::abs(a(i, j));
        norm = std::max(norm, sum);
    }
    CHECK(norm == Approx(262.77346763673688).epsilon(1e-14));
}

TEST_CASE("jumping ahead in the hpl stream equals stepping, near and far") {
    constexpr generators::AffineMap step{6364136223846793005U, 1};
    std::uint64_t x = 100;
    for (std::uint64_t k = 0; k < 1000; ++k, x = step(x)) REQUIRE(step.power(k)(100) == x);

    const std::uint64_t far = 0x123456789abcdefU;
    CHECK(step.power(far + 7)(100) == step.power(7)(step.power(far)(100)));
    // The increment is odd and the multiplier 1 mod 4, so the period is 2^64 and half of it flips one bit.
    CHECK(step.power(std::uint64_t{1} << 63)(100) == (100 ^ (std::uint64_t{1} << 63)));
}

TEST_CASE("hpl elements of a matrix no memory holds are reached at once") {
    const Index n = 3000000;
    const auto generator = make_generator<double>("hpl", n, n + 1);
    double pair[2];
    generator->fill(View<double>(pair, 2), n - 2, n - 1);
    CHECK(element(*generator, n - 2, n - 1) == pair[0]);
    CHECK(element(*generator, n - 1, n - 1) == pair[1]);
    // Element (0, n) follows (n - 1, n - 1) in the stream.
    constexpr generators::AffineMap step{6364136223846793005U, 1};
    const std::uint64_t next = step.power(static_cast<std::uint64_t>(n) * n + 1)(100);
    CHECK(element(*generator, 0, n) == 0.5 - static_cast<double>(next) * 0x1p-64);
}

TEMPLATE_TEST_CASE("every generator gives the same values whatever the blocking and strides", "", float, double) {
    const std::vector<std::pair<Index, Index>> shapes = {{23, 23}, {37, 11}, {11, 300}};
    for (const GeneratorInfo& info : generator_names()) {
        for (const auto& [m, n] : shapes) {
            const auto generator = make_generator<TestType>(info.name, m, n, 42);
            const Elements<TestType> whole(*generator);
            Elements<TestType> blocks(m, n);
            std::vector<TestType> rows(static_cast<std::size_t>(m * n));
            std::vector<TestType> strided(static_cast<std::size_t>(2 * m * n));
            for (Index col = 0; col < n; col += 7) {
                for (Index row = 0; row < m; row += 5) {
                    const Index height = std::min<Index>(5, m - row);
                    const Index width = std::min<Index>(7, n - col);
                    generator->fill(blocks.view().block(row, col, height, width), row, col);
                }
            }
            generator->fill(View<TestType>::row_major(rows.data(), m, n, n), 0, 0);
            generator->fill(View<TestType>(strided.data(), m, n, 2 * n, 2), 0, 0);
            Index wrong = 0;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) {
                    wrong += rows[i * n + j] != whole(i, j) ? 1 : 0;
                    wrong += strided[2 * (i * n + j)] != whole(i, j) ? 1 : 0;
                }
            }
            CAPTURE(std::string(info.name), m, n);
            CHECK(blocks.data == whole.data);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("every listed generator answers to its name and makes finite matrices of any shape") {
    for (const GeneratorInfo& info : generator_names()) {
        CAPTURE(std::string(info.name));
        CHECK(!info.description.empty());
        for (const auto& [m, n] : {std::pair<Index, Index>{0, 0}, {0, 4}, {4, 0}, {1, 1}, {1, 9}, {9, 2}}) {
            const auto generator = make_generator<double>(info.name, m, n, 3);
            CHECK(generator->name() == info.name);
            const Elements<double> a(*generator);
            CHECK(std::all_of(a.data.begin(), a.data.end(), [](double x) { return std::isfinite(x); }));
        }
    }
}

TEST_CASE("an unknown generator, a negative size and a block outside are refused") {
    try {
        make_generator<double>("hilberd", 3, 3);
        FAIL("accepted");
    } catch (const UsageError& error) {
        const std::string text = error.what();
        CHECK(text.find("hilberd") != std::string::npos);
        for (const GeneratorInfo& info : generator_names()) {
            CHECK(text.find(info.name) != std::string::npos);
        }
    }
    CHECK_THROWS_AS(make_generator<double>("random", -1, 3), UsageError);
    CHECK_THROWS_AS(make_generator<float>("random", 1, -3), UsageError);

    const auto generator = make_generator<double>("random", 5, 6);
    Elements<double> scratch(9, 9);
    for (const auto& [row, col] : {std::pair<Index, Index>{4, 0}, {0, 5}, {-1, 0}, {0, -1}, {INT64_MAX, 0}}) {
        CHECK_THROWS_AS(generator->fill(scratch.view().block(0, 0, 2, 2), row, col), UsageError);
    }
    CHECK_NOTHROW(generator->fill(scratch.view().block(0, 0, 0, 2), 5, 0));
    CHECK_NOTHROW(generator->fill(scratch.view().block(0, 0, 2, 2), 3, 4));
}

TEMPLATE_TEST_CASE("random elements are uniform, differ by seed and have no equal columns", "", float, double) {
    const Index n = 300;
    const auto a = made<TestType>("random", n, n, 1);
    const auto b = made<TestType>("random", n, n, 2);
    CHECK(made<TestType>("random", n, n, 1).data == a.data);
    double sum = 0;
    double squares = 0;
    double products = 0;
    for (std::size_t k = 0; k < a.data.size(); ++k) {
        REQUIRE(a.data[k] >= TestType(-0.5));
        REQUIRE(a.data[k] < TestType(0.5));
        sum += a.data[k];
        squares += static_cast<double>(a.data[k]) * a.data[k];
        products += static_cast<double>(a.data[k]) * b.data[k];
    }
    // Five standard deviations of a sample of 90,000.
    const double count = static_cast<double>(n * n);
    CHECK(std::abs(sum / count) < 5 * 0.289 / std::sqrt(count));
    CHECK(std::abs(squares / count - 1.0 / 12) < 5 * 0.0745 / std::sqrt(count));
    CHECK(std::abs(products / count) < 5 / 12.0 / std::sqrt(count));
    std::set<TestType> first_row;
    for (Index j = 0; j < n; ++j) first_row.insert(a(0, j));
    CHECK(first_row.size() >= static_cast<std::size_t>(n - 1));
}

TEST_CASE("random matrices do not change from one release to the next") {
    // SplitMix64 from its published definition, for seed 1, element (2, 3).
    const auto mix = [](std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    };
    const std::uint64_t step = 0x9e3779b97f4a7c15U;
    REQUIRE(mix(step) == 0xe220a8397b1dcdafU);  // the published first output for state 0
    const std::uint64_t bits = mix(mix(mix(1 + step) + step * 4) + step * 3);
    CHECK(element(*make_generator<double>("random", 9, 9, 1), 2, 3) == static_cast<double>(bits >> 11) * 0x1p-53 - 0.5);
}

TEST_CASE("spd matrices are symmetric and have a Cholesky factor") {
    const Index n = 60;
    auto a = made("spd", n, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) REQUIRE(a(i, j) == a(j, i));
    }
    for (Index k = 0; k < n; ++k) {  // A(k, k) of the Schur complement stays positive
        REQUIRE(a(k, k) > 0);
        for (Index j = k + 1; j < n; ++j) {
            for (Index i = k + 1; i < n; ++i) a(i, j) -= a(i, k) * a(k, j) / a(k, k);
        }
    }
}

TEST_CASE("wilkinson's matrix grows by two to the n minus one without an interchange") {
    const Index n = 40;
    auto a = made("wilkinson", n, n);
    const auto lu = eliminate(a);
    for (Index k = 0; k < n; ++k) CHECK(lu.pivots[k] == k);
    CHECK(a(n - 1, n - 1) == std::ldexp(1.0, n - 1));
}

TEST_CASE("deficient matrices have the documented rank") {
    for (const auto& [m, n] : {std::pair<Index, Index>{40, 40}, {60, 25}, {13, 50}, {3, 3}, {1, 1}}) {
        CAPTURE(m, n);
        CHECK(numerical_rank(made("deficient", m, n), 1e-11) == std::min(m, n) / 2);
        const auto single = made<float>("deficient", m, n);
        const auto a = made("deficient", m, n);
        CHECK(std::equal(a.data.begin(), a.data.end(), single.data.begin()));  // exact in float
    }
    CHECK(numerical_rank(made("random", 40, 40), 1e-11) == 40);
}

TEST_CASE("orthogonal matrices have orthonormal rows or columns, whichever are longer") {
    for (const auto& [m, n] : {std::pair<Index, Index>{50, 50}, {70, 30}, {20, 45}}) {
        const auto a = made("orthogonal", m, n);
        const bool tall = m >= n;
        double worst = 0;
        for (Index p = 0; p < std::min(m, n); ++p) {
            for (Index q = 0; q < std::min(m, n); ++q) {
                double sum = p == q ? -1 : 0;
                for (Index k = 0; k < std::max(m, n); ++k) {
                    sum += tall ? a(k, p) * a(k, q) : a(p, k) * a(q, k);
                }
                worst = std::max(worst, std::abs(sum));
            }
        }
        CAPTURE(m, n);
        CHECK(worst < 1e-14);
    }
}

TEMPLATE_TEST_CASE("integer matrices factor exactly, with unique pivots that are no identity", "", float, double) {
    for (const auto& [m, n] : {std::pair<Index, Index>{64, 64}, {90, 31}, {30, 77}, {1, 1}, {2, 2}}) {
        for (const std::uint64_t seed : {1, 2, 3}) {
            CAPTURE(m, n, seed);
            const auto a = made<TestType>("integer", m, n, seed);
            for (const TestType x : a.data) REQUIRE((x == std::round(x) && std::abs(x) <= 20));
            auto lu = a;
            const auto elimination = eliminate(lu);
            CHECK(elimination.unique);
            std::vector<Index> order(static_cast<std::size_t>(m));
            std::iota(order.begin(), order.end(), Index{0});
            for (std::size_t k = 0; k < elimination.pivots.size(); ++k) {
                std::swap(order[k], order[elimination.pivots[k]]);
            }
            if (std::min(m, n) > 10) CHECK(!std::is_sorted(order.begin(), order.begin() + std::min(m, n)));
            for (Index k = 0; k < std::min(m, n); ++k) CHECK(std::abs(lu(k, k)) == 8);
            Index wrong = 0;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) {
                    TestType sum = i <= j ? lu(i, j) : TestType(0);
                    for (Index k = 0; k < std::min({i, j + 1, n}); ++k) sum += lu(i, k) * lu(k, j);
                    wrong += sum != a(order[i], j) ? 1 : 0;
                    if (i > j) wrong += std::abs(lu(i, j)) > TestType(0.5) ? 1 : 0;
                }
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("the plain formulas hold") {
    const auto hilbert = made("hilbert", 4, 6);
    CHECK(hilbert(0, 0) == 1);
    CHECK(hilbert(3, 5) == 1.0 / 9);
    const auto identity = made("identity", 3, 5);
    const auto zero = made("zero", 3, 5);
    for (Index j = 0; j < 5; ++j) {
        for (Index i = 0; i < 3; ++i) {
            CHECK(identity(i, j) == (i == j ? 1 : 0));
            CHECK(zero(i, j) == 0);
        }
    }
    const auto vandermonde = made("vandermonde", 5, 4);
    CHECK(vandermonde(0, 3) == -1);
    CHECK(vandermonde(1, 2) == 0.25);
    CHECK(vandermonde(2, 0) == 1);
    const auto kahan = made("kahan", 6, 8);
    CHECK(kahan(2, 1) == 0);
    CHECK(kahan(2, 2) == Approx(std::pow(std::sin(1.2), 2)));
    CHECK(kahan(2, 7) == Approx(-std::cos(1.2) * std::pow(std::sin(1.2), 2)));
    const auto graded = made("graded", 52, 52);
    double corner = 0;
    for (Index j = 48; j < 52; ++j) {
        for (Index i = 48; i < 52; ++i) corner = std::max(corner, std::abs(graded(i, j)));
    }
    CHECK(corner > 0);
    CHECK(corner <= 0x1p-49);
}
