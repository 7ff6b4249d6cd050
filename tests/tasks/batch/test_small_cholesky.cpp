// The Cholesky kernel of small matrices, which are not interleaved.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/common/same_numbers.hpp"
#include "tests/tasks/batch/batch_cases.hpp"
#include "tests/tasks/batch/factor_cases.hpp"
#include "tests/tasks/batch/small_kernels.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Lower triangles with elements that must neither matter nor change everywhere else.
template <class T>
struct Triangles {
    Index n, ld, count, begin;
    std::vector<T> values;
    std::vector<Index> info;

    Triangles(Index order, Index matrices, Index start, T outside = std::numeric_limits<T>::quiet_NaN())
        : n(order),
          ld(order + order % 3),
          count(matrices),
          begin(start),
          values(at(start + matrices * (ld * order + 1)), outside),
          info(at(matrices), Index{-1}) {}

    T& operator()(Index k, Index i, Index j) { return values[at(begin + k * (ld * n + 1) + j * ld + i)]; }

    /// Dominant diagonals, times `scale`.
    void fill(double scale) {
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < n; ++j) {
                for (Index i = j; i < n; ++i) {
                    const double x = scattered(i, j, k) + (i == j ? static_cast<double>(n) : 0);
                    (*this)(k, i, j) = static_cast<T>(x * scale);
                }
            }
        }
    }

    void factor(const simd::Kernels<T>& kernels) {
        std::vector<T*> a;
        for (Index k = 0; k < count; ++k) a.push_back(&(*this)(k, 0, 0));
        kernels.small_cholesky({.n = n, .count = count, .a = a.data(), .lda = ld, .info = info.data()});
    }

    /// Elements of matrix k, as doubles; zero above the diagonal.
    std::vector<double> triangle(Index k) {
        std::vector<double> all(at(n * n));
        for (Index j = 0; j < n; ++j) {
            for (Index i = j; i < n; ++i) all[at(j * n + i)] = static_cast<double>((*this)(k, i, j));
        }
        return all;
    }
};

/// The largest |A - L L^T|, relative to the largest element of A.
double residual(Index n, const std::vector<double>& a, const std::vector<double>& l) {
    double worst = 0, largest = 0;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) {
            double sum = 0;
            for (Index q = 0; q <= j; ++q) sum += l[at(q * n + i)] * l[at(q * n + j)];
            const double error = std::abs(sum - a[at(j * n + i)]);
            if (!(error <= worst)) worst = error;  // NaN stays
            largest = std::max(largest, std::abs(a[at(j * n + i)]));
        }
    }
    return worst / largest;
}

template <class T>
bool only_triangles_changed(Triangles<T>& before, Triangles<T>& after) {
    for (Index k = 0; k < before.count; ++k) {
        for (Index j = 0; j < before.n; ++j) {
            for (Index i = j; i < before.n; ++i) before(k, i, j) = after(k, i, j) = T{};
        }
    }
    return same_numbers(before.values, after.values);
}

}  // namespace

TEMPLATE_TEST_CASE("small lower triangles are factored in place, and nothing else changes", "[batch]", float, double) {
    using T = TestType;
    if (small_kernels<T>() == nullptr) SKIP("needs AVX-512");
    const auto& kernels = *small_kernels<T>();
    // so that pivots have no reciprocal, or one of less than full precision
    const double smallest = std::numeric_limits<T>::min(), largest = std::numeric_limits<T>::max();
    for (Index n = 1; n <= kernels.small_order; ++n) {
        for (const double scale :
             {1.0, 100 * smallest / static_cast<double>(n), smallest / 64, 0.3 * largest / static_cast<double>(n),
              0.9 * largest / static_cast<double>(n + 1)}) {
            INFO("n = " << n << ", scale " << scale);
            Triangles<T> before(n, 1 + n % 5, n % 17);
            before.fill(scale);
            Triangles<T> after = before;
            after.factor(kernels);
            CHECK(std::count(after.info.begin(), after.info.end(), 0) == after.count);
            // subnormal numbers have fewer digits
            const double unit =
                std::max(eps<T>(), std::numeric_limits<T>::denorm_min() / (scale * static_cast<double>(n)));
            for (Index k = 0; k < before.count; ++k) {
                CHECK(residual(n, before.triangle(k), after.triangle(k)) <= 2 * static_cast<double>(n) * unit);
            }
            // with numbers elsewhere, which NaN hides if they change
            Triangles<T> numbers(n, before.count, before.begin, T{77});
            numbers.fill(scale);
            Triangles<T> factored = numbers;
            factored.factor(kernels);
            bool same = true;
            for (Index k = 0; k < before.count; ++k) same = same && factored.triangle(k) == after.triangle(k);
            CHECK(same);
            CHECK(only_triangles_changed(before, after));
            CHECK(only_triangles_changed(numbers, factored));
        }
    }
}

TEMPLATE_TEST_CASE("small triangles that are not positive definite have LAPACK's INFO", "[batch]", float, double) {
    using T = TestType;
    if (small_kernels<T>() == nullptr) SKIP("needs AVX-512");
    const auto& kernels = *small_kernels<T>();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    for (Index n = 1; n <= kernels.small_order; ++n) {
        for (const T bad : {T{0}, T{-1}, nan, -inf}) {
            for (const Index row : {Index{0}, n / 2, n - 1}) {
                INFO("n = " << n << ", row " << row << " has " << bad);
                Triangles<T> before(n, 3, 1);
                before.fill(1);
                before(1, row, row) = bad;
                Triangles<T> after = before;
                after.factor(kernels);
                CHECK(after.info == std::vector<Index>{0, row + 1, 0});
                for (const Index k : {0, 2}) {
                    CHECK(residual(n, before.triangle(k), after.triangle(k)) <= 2 * static_cast<double>(n) * eps<T>());
                }
                // columns on its left are those of L
                Triangles<T> good = before;
                good(1, row, row) = static_cast<T>(n);
                good.factor(kernels);
                bool same = true;
                for (Index j = 0; j < row; ++j) {
                    for (Index i = j; i < n; ++i) same = same && after(1, i, j) == good(1, i, j);
                }
                CHECK(same);
                CHECK(only_triangles_changed(before, after));
            }
        }
        Triangles<T> infinite(n, 1, 0);
        infinite.fill(1);
        infinite(0, n - 1, n - 1) = inf;
        infinite.factor(kernels);
        CHECK(infinite.info[0] == 0);
        CHECK(infinite(0, n - 1, n - 1) == inf);
    }
}

TEMPLATE_TEST_CASE("few matrices, of which one fails, go one by one", "[batch]", float, double) {
    using T = TestType;
    Config config;
    config.workers = 2;
    config.gpus = 0;
    Runtime runtime(config);
    for (const Index n : {8, 16, 24, 32, 48, 64, 65}) {
        for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
            for (const Index count : {1, 2}) {
                INFO("n = " << n << ", " << uplo(triangle) << ", " << count << " matrices");
                BatchMemory<T> a{count, n, n}, b{count, n, 2};
                for (Index k = 0; k < count; ++k) {
                    fill_spd(triangle, a[k], k);
                    fill_sides(b[k], k);
                }
                BatchMemory<T> factors = a, expected = b;
                for (Index k = 1; k < count; ++k) {
                    REQUIRE(oracle_potrf(triangle, factors[k]) == 0);
                    oracle_potrs(triangle, factors[k], expected[k]);
                }
                a[0](n / 2, n / 2) = T{-1};
                BatchMemory<T> kept = a, discarded = a, x = b, y = b;
                std::vector<Index> info(static_cast<std::size_t>(count), 77), planted(info.size(), 0);
                planted[0] = n / 2 + 1;
                batch_cholesky_factor_solve<T>(runtime, triangle, kept.strided(), x.strided(), info);
                CHECK(info == planted);
                batch_cholesky_factor_solve<T>(runtime, triangle, discarded.strided(), y.strided(), info,
                                               BatchFactor::discard);
                CHECK(info == planted);
                CHECK(batch_difference(x.values, expected.values) <= batch_tolerance<T>(n));
                CHECK(x.values == y.values);
                CHECK(discarded.values == a.values);
            }
        }
    }
}
