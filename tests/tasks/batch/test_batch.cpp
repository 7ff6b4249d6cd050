// Batched Cholesky against LAPACK, matrix by matrix.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/batch/batch_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Config batch_cores(int workers = 2) {
    Config config;
    config.workers = workers;
    config.gpus = 0;
    return config;
}

constexpr Triangle triangles[] = {Triangle::lower, Triangle::upper};

template <class T>
struct Problem {
    BatchMemory<T> a, b;

    Problem(Triangle triangle, Index count, Index n, Index nrhs, Index gap = 0, Index space = 0, Index offset = 0)
        : a{count, n, n, gap, space, offset}, b{count, n, nrhs, gap, space, offset} {
        for (Index k = 0; k < count; ++k) {
            fill_spd(triangle, a[k], k);
            fill_sides(b[k], k);
        }
    }
    /// Becomes LAPACK's factors and solutions.
    void solve_by_oracle(Triangle triangle) {
        for (Index k = 0; k < a.count; ++k) {
            REQUIRE(oracle_potrf(triangle, a[k]) == 0);
            oracle_potrs(triangle, a[k], b[k]);
        }
    }
};

template <class T>
void check_all_calls(Runtime& runtime, Triangle triangle, const Problem<T>& problem) {
    const Index n = problem.a.rows, count = problem.a.count;
    const double tolerance = batch_tolerance<T>(n);
    Problem<T> expected = problem, two_calls = problem, kept = problem, discarded = problem;
    expected.solve_by_oracle(triangle);
    std::vector<Index> info(static_cast<std::size_t>(count), 77);
    const std::vector<Index> zeros(info.size(), 0);

    batch_cholesky_factor<T>(runtime, triangle, two_calls.a.strided(), info);
    CHECK(info == zeros);
    CHECK(batch_difference(two_calls.a.values, expected.a.values) <= tolerance);
    batch_cholesky_solve<T>(runtime, triangle, two_calls.a.strided(), two_calls.b.strided());
    CHECK(batch_difference(two_calls.b.values, expected.b.values) <= tolerance);

    info.assign(info.size(), 77);
    batch_cholesky_factor_solve<T>(runtime, triangle, kept.a.strided(), kept.b.strided(), info);
    CHECK(info == zeros);
    CHECK(batch_difference(kept.a.values, expected.a.values) <= tolerance);
    CHECK(batch_difference(kept.b.values, expected.b.values) <= tolerance);

    info.assign(info.size(), 77);
    batch_cholesky_factor_solve<T>(runtime, triangle, discarded.a.strided(), discarded.b.strided(), info,
                                   BatchFactor::discard);
    CHECK(info == zeros);
    CHECK(discarded.a.values == problem.a.values);
    CHECK(batch_difference(discarded.b.values, expected.b.values) <= tolerance);
}

/// Whether the call throws a UsageError whose text contains all parts.
template <class Call>
bool refuses(const Call& call, std::initializer_list<const char*> parts) {
    const std::string text = error_of<UsageError>(call);
    INFO(text);
    bool all = true;
    for (const char* part : parts) all = all && mentions(text, part);
    CHECK(all);
    return all;
}

}  // namespace

TEMPLATE_TEST_CASE("batches of every order have LAPACK's factors and solutions", "[batch]", float, double) {
    Runtime runtime(batch_cores());
    std::vector<Index> orders{0, 160, 200, 256, 300};
    for (Index n = 1; n <= 128; ++n) orders.push_back(n);
    for (const Index n : orders) {
        for (const Triangle triangle : triangles) {
            INFO("n = " << n << ", " << uplo(triangle));
            check_all_calls(runtime, triangle, Problem<TestType>(triangle, 19, n, 1 + n % 6, n % 3, n % 5, n % 4));
        }
    }
}

TEMPLATE_TEST_CASE("batches of any number of matrices, right-hand sides and workers", "[batch][sanitize]", float,
                   double) {
    for (const int workers : {1, 2, 3}) {
        Runtime runtime(batch_cores(workers));
        for (const Index count : {0, 1, 2, 3, 5, 8, 31, 1000}) {
            for (const Index n : {1, 7, 16, 33}) {
                for (const Index nrhs : {0, 1, 9}) {
                    INFO(count << " matrices, n = " << n << ", nrhs = " << nrhs << ", " << workers << " workers");
                    check_all_calls(runtime, Triangle::lower, Problem<TestType>(Triangle::lower, count, n, nrhs));
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("batches of 10001 matrices", "[batch]", float, double) {
    Runtime runtime(batch_cores());
    for (const Index n : {4, 8, 21, 32}) {
        for (const Triangle triangle : triangles) {
            check_all_calls(runtime, triangle, Problem<TestType>(triangle, 10'001, n, 1));
        }
    }
}

TEMPLATE_TEST_CASE("lists of addresses and of matrices of different orders", "[batch][sanitize]", float, double) {
    using T = TestType;
    Runtime runtime(batch_cores());
    const Index count = 200;
    Problem<T> problem(Triangle::upper, count, 20, 2, 1), expected = problem;
    expected.solve_by_oracle(Triangle::upper);
    std::vector<Index> info(static_cast<std::size_t>(count), 77);
    const std::vector<Index> zeros(info.size(), 0);
    const std::vector<T*> a = problem.a.addresses(), b = problem.b.addresses();
    batch_cholesky_factor_solve<T>(runtime, Triangle::upper, BatchView<T>::pointers(a, 20, 20, 21),
                                   BatchView<T>::pointers(b, 20, 2, 21), info);
    CHECK(info == zeros);
    CHECK(batch_difference(problem.a.values, expected.a.values) <= batch_tolerance<T>(20));
    CHECK(batch_difference(problem.b.values, expected.b.values) <= batch_tolerance<T>(20));

    // orders 0 to 24 and one above the limit of interleaving, one to three right-hand sides
    std::vector<Problem<T>> several;
    for (Index k = 0; k < count; ++k) {
        several.emplace_back(Triangle::lower, 1, k == 50 ? 270 : k * 7 % 25, 1 + k % 3, k % 2);
    }
    std::vector<Problem<T>> results = several;
    std::vector<View<T>> as, bs;
    for (Index k = 0; k < count; ++k) {
        as.push_back(several[static_cast<std::size_t>(k)].a[0]);
        bs.push_back(several[static_cast<std::size_t>(k)].b[0]);
        results[static_cast<std::size_t>(k)].solve_by_oracle(Triangle::lower);
    }
    info.assign(info.size(), 77);
    batch_cholesky_factor_solve<T>(runtime, Triangle::lower, BatchView<T>::matrices(as), BatchView<T>::matrices(bs),
                                   info);
    CHECK(info == zeros);
    for (std::size_t k = 0; k < several.size(); ++k) {
        const double tolerance = batch_tolerance<T>(several[k].a.rows);
        CHECK(batch_difference(several[k].a.values, results[k].a.values) <= tolerance);
        CHECK(batch_difference(several[k].b.values, results[k].b.values) <= tolerance);
    }
}

TEMPLATE_TEST_CASE("a failed matrix has LAPACK's INFO and does not harm its neighbours", "[batch]", float, double) {
    using T = TestType;
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    Runtime runtime(batch_cores());
    for (const Index n : {1, 2, 3, 5, 8, 17, 32, 67, 128, 270}) {
        for (const Triangle triangle : triangles) {
            const Index count = 37;
            const Problem<T> whole(triangle, count, n, 2);
            Problem<T> problem = whole, expected = whole;
            expected.solve_by_oracle(triangle);
            std::vector<Index> planted(static_cast<std::size_t>(count), 0);
            const T bad[] = {T{0}, T{-3}, nan, -inf};
            for (Index k = 2; k < count; k += 5) {
                const Index row = k * 3 % n;
                problem.a[k](row, row) = bad[k % 4];
                planted[static_cast<std::size_t>(k)] = row + 1;
            }
            Problem<T> input = problem;
            std::vector<Index> info(planted.size(), 77);
            batch_cholesky_factor_solve<T>(runtime, triangle, problem.a.strided(), problem.b.strided(), info);
            INFO("n = " << n << ", " << uplo(triangle));
            CHECK(info == planted);
            Problem<T> factored = input, discarded = input;
            batch_cholesky_factor<T>(runtime, triangle, factored.a.strided(), info);
            CHECK(info == planted);
            batch_cholesky_factor_solve<T>(runtime, triangle, discarded.a.strided(), discarded.b.strided(), info,
                                           BatchFactor::discard);
            CHECK(info == planted);
            double worst = 0;
            bool same = true;
            // where factors that need no interleaving have other roundings
            const bool differ = triangle == Triangle::lower && n <= simd::kernels<T>().small_order;
            for (Index k = 0; k < count; ++k) {
                const bool failed = planted[static_cast<std::size_t>(k)] != 0;
                if (failed) {  // B untouched, A unspecified
                    std::copy_n(whole.b.values.begin() + k * 2 * n, 2 * n, expected.b.values.begin() + k * 2 * n);
                }
                for (Index j = 0; !failed && j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        for (const T x : {problem.a[k](i, j), factored.a[k](i, j)}) {
                            const double error = std::abs(static_cast<double>(x - expected.a[k](i, j)));
                            if (!(error <= worst)) worst = error;  // NaN stays
                        }
                        const bool outside = triangle == Triangle::lower ? i < j : i > j;
                        same = same && (!outside || factored.a[k](i, j) == input.a[k](i, j));
                        same = same && (differ || problem.a[k](i, j) == factored.a[k](i, j));
                    }
                }
            }
            CHECK(worst <= batch_tolerance<T>(n) * static_cast<double>(n));
            CHECK(same);
            CHECK(batch_difference(problem.b.values, expected.b.values) <= batch_tolerance<T>(n));
            CHECK(batch_difference(discarded.b.values, expected.b.values) <= batch_tolerance<T>(n));
            CHECK((differ || problem.b.values == discarded.b.values));
            for (Index k = 2; k < count; k += 5) {
                CHECK(std::equal(whole.b.values.begin() + k * 2 * n, whole.b.values.begin() + (k + 1) * 2 * n,
                                 discarded.b.values.begin() + k * 2 * n));
                CHECK(std::equal(whole.b.values.begin() + k * 2 * n, whole.b.values.begin() + (k + 1) * 2 * n,
                                 problem.b.values.begin() + k * 2 * n));
            }
        }
    }
}

TEMPLATE_TEST_CASE("the other triangle keeps its NaN, which reaches no factor", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(batch_cores());
    for (const Index n : {3, 8, 24, 40, 65, 260}) {
        for (const Triangle triangle : triangles) {
            Problem<T> clean(triangle, 20, n, 1), marked = clean;
            const auto other = [&](Index i, Index j) { return triangle == Triangle::lower ? i < j : i > j; };
            for (Index k = 0; k < 20; ++k) {
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        if (other(i, j)) marked.a[k](i, j) = std::numeric_limits<T>::quiet_NaN();
                    }
                }
            }
            std::vector<Index> info(20);
            batch_cholesky_factor_solve<T>(runtime, triangle, clean.a.strided(), clean.b.strided(), info);
            batch_cholesky_factor_solve<T>(runtime, triangle, marked.a.strided(), marked.b.strided(), info);
            CHECK(info == std::vector<Index>(20, 0));
            CHECK(clean.b.values == marked.b.values);
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < n; ++i) {
                    REQUIRE((other(i, j) ? std::isnan(marked.a[7](i, j)) : marked.a[7](i, j) == clean.a[7](i, j)));
                }
            }
        }
    }
}

TEST_CASE("slices of a batch are data of a graph", "[batch][sanitize]") {
    const Index count = 5000, n = 12;
    Problem<double> problem(Triangle::lower, count, n, 1), expected = problem;
    expected.solve_by_oracle(Triangle::lower);
    const std::vector<double> sides = problem.b.values;
    problem.b.values.assign(problem.b.values.size(), 0.0);
    Runtime runtime(batch_cores(3));
    Array<Index> info(runtime, count, "info");
    std::vector<Index> counted(50, 0);
    {
        const Batch<double> a(runtime, problem.a.strided(), "A"), b(runtime, problem.b.strided(), "B");
        // tasks on slices before and after, whose cuts are not those of the library
        for (Index first = 0; first < count; first += 100) {
            const auto slice = b.slice(first, first + 100);
            runtime.submit({.name = "fill"}, write(slice), [view = slice.view(), first, &sides] {
                for (Index k = 0; k < view.count(); ++k) {
                    for (Index i = 0; i < n; ++i) {
                        view[k](i, 0) = sides[static_cast<std::size_t>((first + k) * n + i)];
                    }
                }
            });
        }
        batch_cholesky_factor<double>(runtime, Triangle::lower, a, info);
        batch_cholesky_solve<double>(runtime, Triangle::lower, a, b);
        for (Index first = 0; first < count; first += 100) {
            Index& zeros = counted[static_cast<std::size_t>(first / 100)];
            runtime.submit({.name = "count"}, read(info.rows(first, first + 100)), read(b.slice(first, first + 100)),
                           [&zeros](View<const Index> info) {
                               for (Index k = 0; k < info.size(); ++k) zeros += info[k] == 0 ? 1 : 0;
                           });
        }
        CHECK(a.host_view().count() == count);
        runtime.wait();
    }
    CHECK(counted == std::vector<Index>(50, 100));
    CHECK(batch_difference(problem.a.values, expected.a.values) <= batch_tolerance<double>(n));
    CHECK(batch_difference(problem.b.values, expected.b.values) <= batch_tolerance<double>(n));
}

TEST_CASE("a fused call of a graph that discards the factor only reads A", "[batch][sanitize]") {
    const Index count = 700, n = 20;
    Problem<float> problem(Triangle::upper, count, n, 3), expected = problem;
    expected.solve_by_oracle(Triangle::upper);
    const std::vector<float> before = problem.a.values;
    Runtime runtime(batch_cores());
    Array<Index> info(runtime, count);
    const Batch<float> a(runtime, problem.a.strided()), b(runtime, problem.b.strided());
    batch_cholesky_factor_solve<float>(runtime, Triangle::upper, a, b, info, BatchFactor::discard);
    runtime.wait();
    CHECK(problem.a.values == before);
    CHECK(batch_difference(problem.b.values, expected.b.values) <= batch_tolerance<float>(n));
    for (Index k = 0; k < count; ++k) REQUIRE(info.host_view()[k] == 0);
}

TEST_CASE("a batch that a failed task should have written has no contents", "[batch]") {
    Runtime runtime(batch_cores());
    BatchMemory<double> memory{10, 3, 3};
    const Batch<double> a(runtime, memory.strided(), "A");
    runtime.submit({.name = "fail"}, write(a.slice(2, 4)), [] { throw std::runtime_error("planted"); });
    CHECK_THROWS_AS(runtime.wait(), TaskError);
    CHECK_THROWS_AS(a.host_view(), DataError);
}

TEMPLATE_TEST_CASE("all instruction sets give the same batches", "[batch]", float, double) {
    using T = TestType;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        const simd::Kernels<T>* k = simd::find_kernels<T>(name);
        if (k == nullptr) continue;
        for (Index n = 1; n <= 40; ++n) {
            for (const Triangle triangle : triangles) {
                INFO(name << ", n = " << n << ", " << uplo(triangle));
                Problem<T> problem(triangle, k->lanes, n, 5, n % 2), expected = problem;
                expected.solve_by_oracle(triangle);
                const Index apart = n + n / 2 % 2;
                std::vector<T> a(static_cast<std::size_t>(n * apart * k->lanes)),
                    b(static_cast<std::size_t>(5 * n * k->lanes)), reciprocals(static_cast<std::size_t>(n * k->lanes));
                std::vector<Index> info(static_cast<std::size_t>(k->lanes), 77);
                const std::vector<T*> as = problem.a.addresses(), bs = problem.b.addresses();
                const bool lower = triangle == Triangle::lower;
                const simd::BatchPart part = lower ? simd::BatchPart::lower : simd::BatchPart::upper;
                const Index rs = lower ? k->lanes : apart * k->lanes, cs = lower ? apart * k->lanes : k->lanes;
                k->interleave(n, n, part, as.data(), problem.a.ld(), a.data(), apart);
                k->interleave(n, 5, simd::BatchPart::all, bs.data(), problem.b.ld(), b.data(), n);
                k->batch_cholesky(n, a.data(), rs, cs, reciprocals.data(), info.data(), {});
                k->batch_solve(n, 5, a.data(), rs, cs, reciprocals.data(), b.data());
                k->separate(n, n, part, a.data(), apart, as.data(), problem.a.ld());
                k->separate(n, 5, simd::BatchPart::all, b.data(), n, bs.data(), problem.b.ld());
                CHECK(info == std::vector<Index>(info.size(), 0));
                CHECK(batch_difference(problem.a.values, expected.a.values) <= batch_tolerance<T>(n));
                CHECK(batch_difference(problem.b.values, expected.b.values) <= batch_tolerance<T>(n));
            }
        }
    }
}

TEST_CASE("wrong batches are refused with the reason", "[batch]") {
    Runtime runtime(batch_cores());
    std::vector<double> memory(1000);
    std::vector<Index> info(4);
    const auto factor = [&](const BatchView<double>& a) {
        batch_cholesky_factor<double>(runtime, Triangle::lower, a, info);
    };
    const auto strided = [&](Index count, Index rows, Index cols, Index ld, Index stride) {
        return BatchView<double>::strided(memory.data(), count, rows, cols, ld, stride);
    };
    CHECK(refuses([&] { factor(strided(-1, 2, 2, 2, 4)); }, {"-1 matrices"}));
    CHECK(refuses([&] { factor(strided(4, -2, -2, 2, 4)); }, {"-2 x -2"}));
    CHECK(refuses([&] { factor(strided(4, 3, 3, 2, 9)); }, {"leading dimension 2; allowed is at least 3"}));
    CHECK(refuses([&] { factor(strided(4, 3, 3, 4, 10)); }, {"stride 10", "at least 11"}));
    CHECK(refuses([&] { factor(strided(4, 3, 2, 3, 9)); }, {"3 x 2", "square"}));
    CHECK(refuses([&] { factor(strided(3, 3, 3, 3, 9)); }, {"info has 4", "3"}));
    CHECK(refuses([&] { factor(BatchView<double>::strided(nullptr, 4, 3, 3, 3, 9)); }, {"missing"}));
    std::vector<double*> addresses{memory.data(), nullptr, memory.data() + 20, memory.data() + 40};
    CHECK(refuses([&] { factor(BatchView<double>::pointers(addresses, 3, 3, 3)); }, {"matrix 1", "missing"}));
    std::vector<View<double>> matrices(4, View<double>::column_major(memory.data(), 3, 3, 3));
    matrices[2] = View<double>::row_major(memory.data(), 3, 3, 5);
    CHECK(refuses([&] { factor(BatchView<double>::matrices(matrices)); }, {"matrix 2", "column-major"}));
    CHECK(refuses(
        [&] { batch_cholesky_solve<double>(runtime, Triangle::lower, strided(4, 3, 3, 3, 9), strided(3, 3, 1, 3, 3)); },
        {"B has 3 matrices", "4"}));
    CHECK(refuses(
        [&] { batch_cholesky_solve<double>(runtime, Triangle::lower, strided(4, 3, 3, 3, 9), strided(4, 2, 1, 3, 3)); },
        {"2 rows", "3"}));
    CHECK_THROWS_AS(Batch<double>(runtime, strided(4, 3, 3, 2, 9)), UsageError);
    const Batch<double> batch(runtime, strided(4, 3, 3, 3, 9));
    CHECK(refuses([&] { batch.slice(1, 5); }, {"slice(1, 5)", "4"}));
}
