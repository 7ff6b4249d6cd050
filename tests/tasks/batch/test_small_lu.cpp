// The kernel of small matrices' LU against the one of interleaved matrices: the same bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/common/same_numbers.hpp"
#include "tests/tasks/batch/factor_cases.hpp"
#include "tests/tasks/batch/small_kernels.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr Index sides = 3;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Matrices of one order with right-hand sides, and their factors. Elements between columns and matrices hold `gap`.
template <class T>
struct Problem {
    static constexpr T gap = T{77};
    Index n, ld, ldb, count;
    std::vector<T> a, b;
    std::vector<Index> pivots, info;

    Problem(Index order, Index matrices, Index begin)
        : n(order),
          ld(order + order % 3),
          ldb(order + order % 4),
          count(matrices),
          a(at(begin + matrices * (ld * order + 1)), gap),
          b(at(begin + matrices * (ldb * sides + 1)), gap),
          pivots(at(matrices * order)),
          info(at(matrices), Index{-1}),
          begin_(begin) {}

    T* matrix(Index k) { return a.data() + begin_ + k * (ld * n + 1); }
    T* right(Index k) { return b.data() + begin_ + k * (ldb * sides + 1); }
    Index* order(Index k) { return pivots.data() + k * n; }

  private:
    Index begin_;
};

/// Equal candidates, pivots that are zero or have no reciprocal, and numbers that are not finite.
template <class T>
T element(int kind, Index n, Index i, Index j, Index k) {
    const double x = scattered(i, j, k);
    if (kind == 1) return static_cast<T>(std::round(2 * x));
    if (kind == 2) return j == n / 2 ? T{} : static_cast<T>(x);
    if (kind == 3) return static_cast<T>(x) * std::numeric_limits<T>::min() / 2;
    if (kind == 4 && i == j && i % 5 == 3) return std::numeric_limits<T>::quiet_NaN();
    if (kind == 5 && i == (3 * j) % n && j % 4 == 1) return -std::numeric_limits<T>::infinity();
    return static_cast<T>(x);
}

template <class T>
void fill(Problem<T>& problem) {
    for (Index k = 0; k < problem.count; ++k) {
        for (Index j = 0; j < problem.n; ++j) {
            for (Index i = 0; i < problem.n; ++i) {
                problem.matrix(k)[j * problem.ld + i] =
                    element<T>(static_cast<int>((k + problem.n) % 6), problem.n, i, j, k);
            }
        }
        for (Index j = 0; j < sides; ++j) {
            for (Index i = 0; i < problem.n; ++i) {
                problem.right(k)[j * problem.ldb + i] = static_cast<T>(scattered(i, j + 50, k));
            }
        }
    }
}

/// Matrix k by the interleaved kernel, in all lanes.
template <class T>
void factor_interleaved(const simd::Kernels<T>& kernels, Problem<T>& problem, Index k) {
    using Order = typename simd::Kernels<T>::Order;
    const Index n = problem.n, lanes = kernels.lanes;
    std::vector<T> a(at(n * (n + sides) * lanes)), x(at(n * sides * lanes)), copy(at(n)),
        scratch(at(kernels.batch_scratch * n * lanes));
    std::vector<Order> order(at(3 * n * lanes)), row(at(n));
    std::vector<Index> info(at(lanes));
    std::vector<T*> matrices(at(lanes), problem.matrix(k)), rights(at(lanes), problem.right(k));
    kernels.interleave(n, n, simd::BatchPart::all, matrices.data(), problem.ld, a.data(), n);
    kernels.interleave(n, sides, simd::BatchPart::all, rights.data(), problem.ldb, a.data() + n * n * lanes, n);
    kernels.batch_lu(n, sides, a.data(), scratch.data(), order.data(), info.data(), {});
    std::fill(matrices.begin() + 1, matrices.end(), nullptr);
    kernels.separate(n, n, simd::BatchPart::all, a.data(), n, matrices.data(), problem.ld);
    kernels.batch_order_rows(n, problem.matrix(k), problem.ld, order.data() + n * lanes, row.data(), copy.data());
    for (Index i = 0; i < n; ++i) problem.order(k)[i] = order[at((2 * n + i) * lanes)];
    problem.info[at(k)] = info[0];
    if (info[0] != 0) return;
    kernels.batch_lu_solve(n, sides, a.data(), order.data(), x.data());
    std::fill(rights.begin() + 1, rights.end(), nullptr);
    kernels.separate(n, sides, simd::BatchPart::all, x.data(), n, rights.data(), problem.ldb);
}

/// Null pointers where factors are discarded.
template <class T>
void factor_small(const simd::Kernels<T>& kernels, Problem<T>& problem, bool keeps, Index cols, T* factors = nullptr,
                  Index ldlu = 0) {
    std::vector<T*> a, b, lu;
    std::vector<Index*> pivots;
    for (Index k = 0; k < problem.count; ++k) {
        a.push_back(problem.matrix(k));
        lu.push_back(factors == nullptr ? problem.matrix(k) : factors + k * ldlu * problem.n);
        b.push_back(problem.right(k));
        pivots.push_back(problem.order(k));
    }
    kernels.small_lu({.n = problem.n,
                      .count = problem.count,
                      .a = a.data(),
                      .lda = problem.ld,
                      .lu = keeps ? lu.data() : nullptr,
                      .ldlu = factors == nullptr ? problem.ld : ldlu,
                      .pivots = keeps ? pivots.data() : nullptr,
                      .info = problem.info.data(),
                      .cols = cols,
                      .b = b.data(),
                      .ldb = problem.ldb,
                      .next = a.data(),
                      .next_count = problem.count / 2});
}

/// Elements that differ; two NaN do not.
template <class T>
Index differences(const std::vector<T>& x, const std::vector<T>& y) {
    Index count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) count += !same_number(x[i], y[i]);
    return count;
}

}  // namespace

TEMPLATE_TEST_CASE("small matrices have the LU of interleaved ones, bit for bit", "[batch]", float, double) {
    using T = TestType;
    const simd::Kernels<T>* const kernels = small_kernels<T>();
    if (kernels == nullptr) SKIP("needs AVX-512");
    Index singular = 0;
    for (Index n = 1; n <= kernels->small_order; ++n) {
        for (const Index count : {Index{1}, 2 + n % 6, Index{9}}) {
            INFO("n = " << n << ", " << count << " matrices");
            Problem<T> expected(n, count, n % 17);
            fill(expected);
            Problem<T> kept = expected, factored = expected, discarded = expected;
            for (Index k = 0; k < count; ++k) factor_interleaved(*kernels, expected, k);
            factor_small(*kernels, kept, true, sides);
            CHECK(kept.info == expected.info);
            CHECK(kept.pivots == expected.pivots);
            CHECK(differences(kept.a, expected.a) == 0);
            CHECK(differences(kept.b, expected.b) == 0);

            const Problem<T> before = discarded;
            factor_small(*kernels, factored, true, 0);
            CHECK(differences(factored.a, expected.a) == 0);
            CHECK(differences(factored.b, before.b) == 0);
            factor_small(*kernels, discarded, false, sides);
            CHECK(discarded.info == expected.info);
            CHECK(differences(discarded.a, before.a) == 0);
            CHECK(differences(discarded.b, expected.b) == 0);
            // factors in memory of their own
            Problem<T> apart = before;
            std::vector<T> factors(at(count * n * (n + 2)), Problem<T>::gap);
            factor_small(*kernels, apart, true, sides, factors.data(), n + 2);
            CHECK(differences(apart.a, before.a) == 0);
            Index wrong = 0;
            for (Index k = 0; k < count; ++k) {
                for (Index j = 0; j < n; ++j) {
                    const T* const own = factors.data() + (k * n + j) * (n + 2);
                    const T* const right = expected.matrix(k) + j * expected.ld;
                    for (Index i = 0; i < n; ++i)
                        wrong += !(own[i] == right[i] || (own[i] != own[i] && right[i] != right[i]));
                    wrong += own[n] != Problem<T>::gap || own[n + 1] != Problem<T>::gap;
                }
            }
            CHECK(wrong == 0);
            singular += std::count_if(expected.info.begin(), expected.info.end(), [](Index i) { return i != 0; });
        }
    }
    CHECK(singular > 0);
}

TEMPLATE_TEST_CASE("instruction sets without a kernel for small matrices say so", "[batch]", float, double) {
    for (const char* name : {"generic", "avx2"}) {
        const simd::Kernels<TestType>* const kernels = simd::find_kernels<TestType>(name);
        if (kernels == nullptr) continue;
        CHECK(kernels->small_order == 0);
        CHECK(kernels->small_lu == nullptr);
        CHECK(kernels->small_cholesky == nullptr);
    }
}
