// Batched LU of singular matrices, of NaN and tiny pivots, and of operands that are refused.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "tests/common/mentions.hpp"
#include "tests/tasks/batch/factor_cases.hpp"
#include "tests/tasks/batch/lu_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

TEMPLATE_TEST_CASE("batched LU of singular matrices has LAPACK's INFO", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    for (const Index n : {1, 2, 3, 5, 8, 17, 32, 67, 128}) {
        const Index count = 37;
        LuBatch<T> problem(count, n, 2);
        std::vector<Index> planted(static_cast<std::size_t>(count), 0);
        for (Index k = 2; k < count; k += 5) {  // a column of zeros stays one
            const Index column = k * 3 % n;
            for (Index i = 0; i < n; ++i) problem.a[k](i, column) = T{};
            planted[static_cast<std::size_t>(k)] = column + 1;
        }
        LuBatch<T> both = problem, factored = problem, discarded = problem;
        INFO("n = " << n);
        batch_lu_factor_solve<T>(runtime, both.a.strided(), both.pivots.strided(), both.b.strided(), both.info);
        CHECK(both.info == planted);
        batch_lu_factor<T>(runtime, factored.a.strided(), factored.pivots.strided(), factored.info);
        CHECK(factored.info == planted);
        batch_lu_factor_solve<T>(runtime, BatchView<const T>(discarded.a.strided()), discarded.b.strided(),
                                 discarded.info);
        CHECK(discarded.info == planted);
        double worst = 0;
        for (Index k = 0; k < count; ++k) {
            worst = std::max(worst, factor_residual(problem.a[k], factored.a[k], factored.pivots[k]));
            if (planted[static_cast<std::size_t>(k)] != 0) {
                CHECK(relative_difference(both.b[k], problem.b[k]) == 0);  // untouched
                CHECK(relative_difference(discarded.b[k], problem.b[k]) == 0);
            } else {
                worst = std::max(worst, solve_residual(problem.a[k], both.b[k], problem.b[k]));
                worst = std::max(worst, solve_residual(problem.a[k], discarded.b[k], problem.b[k]));
            }
        }
        CHECK(worst <= residual_bound);
        // the inverse of singular factors is left out, and they stay
        LuBatch<T> inverse = factored;
        inverse.forget();
        batch_lu_invert<T>(runtime, inverse.a.strided(), BatchView<const Index>(inverse.pivots.strided()),
                           inverse.info);
        CHECK(inverse.info == planted);
        for (Index k = 2; k < count; k += 5) CHECK(relative_difference(inverse.a[k], factored.a[k]) == 0);
    }
}

TEMPLATE_TEST_CASE("without pivoting a zero pivot is INFO", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    for (const Index count : {2, 40}) {
        LuBatch<T> problem(count, 14, 1);
        fill_dominant(problem.a);
        std::vector<Index> planted(static_cast<std::size_t>(count), 0);
        planted[1] = 6;
        for (Index j = 0; j < 14; ++j) problem.a[1](5, j) = problem.a[1](j, 5) = T{};
        batch_lu_factor<T>(runtime, problem.a.strided(), problem.info);
        CHECK(problem.info == planted);
    }
}

TEMPLATE_TEST_CASE("NaN and infinity stay in their matrix of a batched LU", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    for (const Index n : {3, 8, 24, 40}) {
        LuBatch<T> clean(33, n, 1), marked = clean;
        for (Index k = 4; k < 33; k += 7) {
            marked.a[k](k % n, k * 5 % n) =
                k % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
        }
        batch_lu_factor_solve<T>(runtime, clean.a.strided(), clean.pivots.strided(), clean.b.strided(), clean.info);
        batch_lu_factor_solve<T>(runtime, marked.a.strided(), marked.pivots.strided(), marked.b.strided(), marked.info);
        for (Index k = 0; k < 33; ++k) {
            INFO("n = " << n << ", matrix " << k);
            if (k % 7 == 4) {
                bool spoilt = false;
                for (Index i = 0; i < n; ++i) spoilt = spoilt || !std::isfinite(marked.b[k](i, 0));
                CHECK((spoilt || k % 2 == 1));  // an infinite pivot may have finite solutions
                continue;
            }
            CHECK(relative_difference(marked.a[k], clean.a[k]) == 0);
            CHECK(relative_difference(marked.b[k], clean.b[k]) == 0);
            CHECK(marked.info[static_cast<std::size_t>(k)] == 0);
        }
    }
}

TEMPLATE_TEST_CASE("tiny pivots have no reciprocal and are divided by", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    for (const Index count : {1, 16}) {
        LuBatch<T> problem(count, 6, 1);
        const T tiny = std::numeric_limits<T>::denorm_min() * 64;
        for (Index k = 0; k < count; ++k) {
            for (Index i = 0; i < 6; ++i) problem.a[k](i, 0) = tiny * static_cast<T>(i == 3 ? 8 : i % 4);
        }
        batch_lu_factor<T>(runtime, problem.a.strided(), problem.pivots.strided(), problem.info);
        const std::vector<T> expected{T{0}, T{0}, T{1} / 8, T{1} / 8, T{2} / 8};
        for (Index k = 0; k < count; ++k) {
            CHECK(problem.a[k](0, 0) == tiny * 8);
            std::vector<T> multipliers;  // in the order of later pivots
            for (Index i = 1; i < 6; ++i) multipliers.push_back(problem.a[k](i, 0));
            std::sort(multipliers.begin(), multipliers.end());
            CHECK(multipliers == expected);
        }
    }
}

TEST_CASE("wrong operands of a batched LU are refused with the reason", "[batch]") {
    Runtime runtime(lu_cores());
    LuBatch<double> p(4, 3, 1);
    const auto refusal = [&](const auto& call) { return error_of<UsageError>(call); };
    BatchMemory<Index> few{3, 3, 1}, low{4, 2, 1};
    CHECK(mentions(refusal([&] { batch_lu_factor<double>(runtime, p.a.strided(), few.strided(), p.info); }),
                   "pivots has 3 matrices"));
    CHECK(mentions(refusal([&] { batch_lu_factor<double>(runtime, p.a.strided(), low.strided(), p.info); }),
                   "2 x 1; allowed is, for this matrix of A, 3 x 1"));
    std::vector<Index> short_info(3);
    CHECK(mentions(refusal([&] { batch_lu_factor<double>(runtime, p.a.strided(), short_info); }), "info has 3"));
    BatchMemory<double> wide{4, 3, 4};
    CHECK(mentions(refusal([&] { batch_lu_factor<double>(runtime, wide.strided(), p.info); }), "square"));
}
