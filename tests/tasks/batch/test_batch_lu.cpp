// Batched LU against LAPACK, matrix by matrix.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/tasks/batch/factor_cases.hpp"
#include "tests/tasks/batch/lu_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Multipliers of partial pivoting, and the same pivots as LAPACK as long as no two candidates are nearly equal.
template <class T>
void check_factors(LuBatch<T>& before, LuBatch<T>& after) {
    double worst = 0, multiplier = 0;
    for (Index k = 0; k < before.a.count; ++k) {
        worst = std::max(worst, factor_residual(before.a[k], after.a[k], after.pivots[k]));
        for (Index j = 0; j < before.a.rows; ++j) {
            for (Index i = j + 1; i < before.a.rows; ++i) {
                multiplier = std::max(multiplier, std::abs(static_cast<double>(after.a[k](i, j))));
            }
        }
    }
    CHECK(worst <= residual_bound);
    CHECK(multiplier <= 1 + 4 * eps<T>());
    CHECK(after.all_good());
    CHECK(gaps_untouched(after.a));
    CHECK(gaps_untouched(after.b));
}

template <class T>
void check_solutions(LuBatch<T>& before, BatchMemory<T>& x) {
    double worst = 0;
    for (Index k = 0; k < before.a.count; ++k) {
        worst = std::max(worst, solve_residual(before.a[k], x[k], before.b[k]));
    }
    CHECK(worst <= residual_bound);
    CHECK(gaps_untouched(x));
}

template <class T>
void check_lu_calls(Runtime& runtime, LuBatch<T>& problem) {
    LuBatch<T> calls = problem, kept = problem, discarded = problem;
    batch_lu_factor<T>(runtime, calls.a.strided(), calls.pivots.strided(), calls.info);
    check_factors(problem, calls);
    batch_lu_solve<T>(runtime, BatchView<const T>(calls.a.strided()), BatchView<const Index>(calls.pivots.strided()),
                      calls.b.strided());
    check_solutions(problem, calls.b);

    batch_lu_factor_solve<T>(runtime, kept.a.strided(), kept.pivots.strided(), kept.b.strided(), kept.info);
    check_factors(problem, kept);
    check_solutions(problem, kept.b);
    batch_lu_factor_solve<T>(runtime, BatchView<const T>(discarded.a.strided()), discarded.b.strided(), discarded.info);
    CHECK(discarded.all_good());
    CHECK(discarded.a.values == problem.a.values);
    check_solutions(problem, discarded.b);
}

template <class T>
void check_unpivoted_calls(Runtime& runtime, const LuBatch<T>& problem) {
    LuBatch<T> before = problem;
    fill_dominant(before.a);
    LuBatch<T> after = before;
    batch_lu_factor<T>(runtime, after.a.strided(), after.info);
    double worst = 0;
    for (Index k = 0; k < before.a.count; ++k) {
        worst = std::max(worst, factor_residual(before.a[k], after.a[k], View<Index>()));
    }
    CHECK(worst <= residual_bound);
    CHECK(after.all_good());
    CHECK(gaps_untouched(after.a));
    batch_lu_solve<T>(runtime, BatchView<const T>(after.a.strided()), after.b.strided());
    check_solutions(before, after.b);
}

/// Against the inverses that LAPACK computes; A is well conditioned.
template <class T>
void check_inverses(Runtime& runtime, const LuBatch<T>& problem) {
    LuBatch<T> before = problem;
    fill_dominant(before.a);
    for (Index k = 0; k < before.a.count; ++k) {  // pivots that are not on the diagonal
        const View<T> a = before.a[k];
        for (Index j = 0; j < a.cols(); ++j) std::swap(a(0, j), a(a.rows() / 2, j));
    }
    LuBatch<T> after = before;
    batch_lu_factor<T>(runtime, after.a.strided(), after.pivots.strided(), after.info);
    after.forget();
    batch_lu_invert<T>(runtime, after.a.strided(), BatchView<const Index>(after.pivots.strided()), after.info);
    CHECK(after.all_good());
    double worst = 0;
    std::vector<lapack_int> ipiv;
    for (Index k = 0; k < before.a.count; ++k) {
        oracle_getrf(before.a[k], ipiv);
        oracle_getri(before.a[k], ipiv);
        worst = std::max(worst, relative_difference(after.a[k], before.a[k]));
    }
    CHECK(worst <= batch_tolerance<T>(before.a.rows));
    CHECK(gaps_untouched(after.a));
}

}  // namespace

TEMPLATE_TEST_CASE("batched LU of every order", "[batch]", float, double) {
    Runtime runtime(lu_cores());
    std::vector<Index> orders{160, 200, 256};
    for (Index n = 1; n <= 128; ++n) orders.push_back(n);
    for (const Index n : orders) {
        INFO("n = " << n);
        // full lanes, a part of them, and matrices one by one
        const Index count = n <= 64 ? 21 : n <= 128 ? 9 : 3;
        LuBatch<TestType> problem(count, n, 1 + n % 6, n % 3, n % 5, n % 4);
        check_lu_calls(runtime, problem);
        check_unpivoted_calls(runtime, problem);
        if (n <= 64 || n % 32 == 0) check_inverses(runtime, problem);
    }
}

TEMPLATE_TEST_CASE("batched LU of larger orders in full lanes, and of one more than is interleaved", "[batch]", float,
                   double) {
    Runtime runtime(lu_cores(1));
    const Index lanes = simd::kernels<TestType>().lanes;
    for (const Index n : {65, 98, 160, 161}) {
        INFO("n = " << n);
        LuBatch<TestType> problem(lanes + 1, n, 2, n % 3, n % 5, n % 4);
        check_lu_calls(runtime, problem);
        check_unpivoted_calls(runtime, problem);
    }
}

TEMPLATE_TEST_CASE("batched LU of any number of matrices, right-hand sides and workers", "[batch][sanitize]", float,
                   double) {
    for (const int workers : {1, 3}) {
        Runtime runtime(lu_cores(workers));
        for (const Index count : {0, 1, 2, 5, 8, 31, 700}) {
            for (const Index n : {0, 1, 7, 16, 33}) {
                for (const Index nrhs : {0, 1, 9}) {
                    INFO(count << " matrices, n = " << n << ", nrhs = " << nrhs << ", " << workers << " workers");
                    LuBatch<TestType> problem(count, n, nrhs);
                    check_lu_calls(runtime, problem);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("batched LU of 10001 matrices", "[batch]", float, double) {
    Runtime runtime(lu_cores());
    for (const Index n : {4, 8, 21, 32}) {
        LuBatch<TestType> problem(10'001, n, 1);
        check_lu_calls(runtime, problem);
    }
}

TEMPLATE_TEST_CASE("batched LU has LAPACK's pivots", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    // integers: differences between candidates are exact, and there are equal ones
    for (const Index n : {1, 2, 3, 5, 8, 13, 24}) {
        for (const Index count : {1, 40}) {
            LuBatch<T> problem(count, n, 1);
            for (Index k = 0; k < count; ++k) {
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        // upper triangular with rows mixed: elimination keeps small integers
                        const Index row = (i * 5 + k) % n == 0 ? i : (i + k) % n;
                        problem.a[k](i, j) = j < row % 3 ? T{} : static_cast<T>(std::round(scattered(i, j, k) * 2));
                    }
                }
            }
            LuBatch<T> first = problem;
            batch_lu_factor<T>(runtime, first.a.strided(), first.pivots.strided(), first.info);
            std::vector<lapack_int> ipiv;
            for (Index k = 0; k < count; ++k) {
                INFO("n = " << n << ", matrix " << k);
                // the pivot of the first column is the first of the largest elements
                oracle_getrf(problem.a[k], ipiv);
                CHECK(first.pivots[k](0, 0) == ipiv[0]);
            }
        }
    }
}

TEMPLATE_TEST_CASE("lists of addresses and of matrices of different orders have LU", "[batch][sanitize]", float,
                   double) {
    using T = TestType;
    Runtime runtime(lu_cores());
    const Index count = 200;
    LuBatch<T> problem(count, 20, 2, 1), before = problem;
    const std::vector<T*> a = problem.a.addresses(), b = problem.b.addresses();
    const std::vector<Index*> pivots = problem.pivots.addresses();
    batch_lu_factor_solve<T>(runtime, BatchView<T>::pointers(a, 20, 20, 21),
                             BatchView<Index>::pointers(pivots, 20, 1, 21), BatchView<T>::pointers(b, 20, 2, 21),
                             problem.info);
    check_factors(before, problem);
    check_solutions(before, problem.b);

    std::vector<LuBatch<T>> several;
    for (Index k = 0; k < count; ++k) several.emplace_back(1, k == 50 ? 150 : k * 7 % 25, 1 + k % 3, k % 2);
    std::vector<LuBatch<T>> inputs = several;
    std::vector<View<T>> as, bs;
    std::vector<View<Index>> orders;
    for (LuBatch<T>& one : several) {
        as.push_back(one.a[0]);
        bs.push_back(one.b[0]);
        orders.push_back(one.pivots[0]);
    }
    std::vector<Index> info(static_cast<std::size_t>(count), 77);
    batch_lu_factor_solve<T>(runtime, BatchView<T>::matrices(as), BatchView<Index>::matrices(orders),
                             BatchView<T>::matrices(bs), info);
    for (std::size_t k = 0; k < several.size(); ++k) {
        several[k].info[0] = info[k];
        check_factors(inputs[k], several[k]);
        check_solutions(inputs[k], several[k].b);
    }
}

TEST_CASE("slices of a batch and its pivots are data of a graph", "[batch][sanitize]") {
    const Index count = 3000, n = 12;
    LuBatch<double> problem(count, n, 1), before = problem, inverse = problem;
    Runtime runtime(lu_cores(3));
    Array<Index> info(runtime, count, "info");
    {
        const Batch<double> a(runtime, problem.a.strided(), "A"), b(runtime, problem.b.strided(), "B");
        const Batch<Index> pivots(runtime, problem.pivots.strided(), "pivots");
        batch_lu_factor<double>(runtime, a, pivots, info);
        batch_lu_solve<double>(runtime, a, pivots, b);
        for (Index first = 0; first < count; first += 100) {  // cuts that are not those of the library
            const auto from = a.slice(first, first + 100);
            runtime.submit({.name = "keep"}, read(from), [view = from.view(), first, &inverse] {
                for (Index k = 0; k < view.count(); ++k) {
                    for (Index j = 0; j < n; ++j) {
                        for (Index i = 0; i < n; ++i) inverse.a[first + k](i, j) = view[k](i, j);
                    }
                }
            });
        }
        batch_lu_invert<double>(runtime, a, pivots, info);
        runtime.wait();
    }
    LuBatch<double> factors = problem;
    factors.a = inverse.a;
    for (Index k = 0; k < count; ++k) factors.info[static_cast<std::size_t>(k)] = info.host_view()[k];
    check_factors(before, factors);
    check_solutions(before, problem.b);
    double worst = 0;  // A times its inverse
    LuBatch<double> unit = before;
    unit.b = BatchMemory<double>{count, n, n};
    std::fill(unit.b.values.begin(), unit.b.values.end(), 0.0);
    for (Index k = 0; k < count; ++k) {
        for (Index i = 0; i < n; ++i) unit.b[k](i, i) = 1;
        worst = std::max(worst, solve_residual(before.a[k], problem.a[k], unit.b[k]));
    }
    CHECK(worst <= 10 * residual_bound);

    LuBatch<double> fused = before, plain = before;
    fill_dominant(plain.a);
    const LuBatch<double> dominant = plain;
    {
        const Batch<double> a(runtime, fused.a.strided()), b(runtime, fused.b.strided());
        const Batch<Index> pivots(runtime, fused.pivots.strided());
        batch_lu_factor_solve<double>(runtime, a, b, info);
        const Batch<double> c(runtime, plain.a.strided()), d(runtime, plain.b.strided());
        batch_lu_factor<double>(runtime, c, info);
        batch_lu_solve<double>(runtime, c, d);
        runtime.wait();
        CHECK(fused.a.values == before.a.values);
        check_solutions(before, fused.b);
        LuBatch<double> input = dominant;
        check_solutions(input, plain.b);
        fused.b = before.b;
        batch_lu_factor_solve<double>(runtime, a, pivots, b, info);
        runtime.wait();
    }
    for (Index k = 0; k < count; ++k) fused.info[static_cast<std::size_t>(k)] = info.host_view()[k];
    check_factors(before, fused);
    check_solutions(before, fused.b);
}

TEMPLATE_TEST_CASE("all instruction sets give a batched LU", "[batch]", float, double) {
    using T = TestType;
    using Order = typename simd::Kernels<T>::Order;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        const simd::Kernels<T>* k = simd::find_kernels<T>(name);
        if (k == nullptr) continue;
        for (Index n = 1; n <= 65; ++n) {
            INFO(name << ", n = " << n);
            LuBatch<T> problem(k->lanes, n, 5, n % 3), before = problem;
            std::vector<T> a(static_cast<std::size_t>(n * (n + 5) * k->lanes)),
                x(static_cast<std::size_t>(5 * n * k->lanes)),
                scratch(static_cast<std::size_t>(k->batch_scratch * n * k->lanes));
            std::vector<Order> order(static_cast<std::size_t>(3 * n * k->lanes));
            const std::vector<T*> as = problem.a.addresses(), bs = problem.b.addresses();
            const auto load = [&] {
                k->interleave(n, n, simd::BatchPart::all, as.data(), problem.a.ld(), a.data(), n);
                k->interleave(n, 5, simd::BatchPart::all, bs.data(), problem.b.ld(), a.data() + n * n * k->lanes, n);
            };
            load();
            k->batch_lu(n, 5, a.data(), scratch.data(), order.data(), problem.info.data(), {});
            LuBatch<T> factored = problem;
            const std::vector<T*> factors = factored.a.addresses();
            k->separate(n, n, simd::BatchPart::all, a.data(), n, factors.data(), factored.a.ld());
            std::vector<Order> row(static_cast<std::size_t>(n));
            std::vector<T> copy(static_cast<std::size_t>(n));
            for (Index l = 0; l < k->lanes; ++l) {
                const Order* const own = order.data() + l;
                k->batch_order_rows(n, factors[static_cast<std::size_t>(l)], factored.a.ld(), own + n * k->lanes,
                                    row.data(), copy.data());
                for (Index i = 0; i < n; ++i) factored.pivots[l](i, 0) = own[(2 * n + i) * k->lanes];
            }
            check_factors(before, factored);
            k->batch_lu_solve(n, 5, a.data(), order.data(), x.data());
            LuBatch<T> solved = problem;
            const std::vector<T*> xs = solved.b.addresses();
            k->separate(n, 5, simd::BatchPart::all, x.data(), n, xs.data(), solved.b.ld());
            CHECK(problem.all_good());
            check_solutions(before, solved.b);

            fill_dominant(problem.a);
            LuBatch<T> dominant = problem;
            load();
            k->batch_lu_unpivoted(n, 5, a.data(), scratch.data(), problem.info.data(), {});
            k->batch_lu_solve(n, 5, a.data(), nullptr, x.data());
            k->separate(n, 5, simd::BatchPart::all, x.data(), n, xs.data(), solved.b.ld());
            CHECK(problem.all_good());
            check_solutions(dominant, solved.b);
        }
    }
}

TEMPLATE_TEST_CASE("matrices that begin between aligned elements are interleaved and come back", "[batch]", float,
                   double) {
    using T = TestType;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        const simd::Kernels<T>* k = simd::find_kernels<T>(name);
        if (k == nullptr) continue;
        const auto lanes = static_cast<std::size_t>(k->lanes);
        for (const Index n : {16, 23, 32}) {
            const auto size = static_cast<std::size_t>(n * n);
            for (std::size_t begin = 0; begin <= 16; ++begin) {
                INFO(name << ", n = " << n << ", " << begin << " elements behind the first");
                std::vector<T> values(begin + lanes * size + 1);
                for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
                std::vector<T> back(values.size(), T{-1}), interleaved(lanes * size);
                std::vector<const T*> from(lanes);
                std::vector<T*> to(lanes);
                for (std::size_t l = 0; l < lanes; ++l) {
                    from[l] = values.data() + begin + l * size;
                    to[l] = l == 1 ? nullptr : back.data() + begin + l * size;
                }
                k->interleave(n, n, simd::BatchPart::all, from.data(), n, interleaved.data(), n);
                k->separate(n, n, simd::BatchPart::all, interleaved.data(), n, to.data(), n);
                bool right = true;
                for (std::size_t i = 0; i < size * lanes; ++i) {
                    right = right && interleaved[i % size * lanes + i / size] == values[begin + i];
                    right = right && back[begin + i] == (i / size == 1 ? T{-1} : values[begin + i]);
                }
                for (std::size_t i = 0; i < begin; ++i) right = right && back[i] == T{-1};
                CHECK(right);
                CHECK(back.back() == T{-1});
            }
        }
    }
}
