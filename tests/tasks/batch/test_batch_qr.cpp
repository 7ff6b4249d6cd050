// Batched QR against LAPACK, matrix by matrix.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Config qr_cores(int workers = 2) {
    Config config;
    config.workers = workers;
    config.gpus = 0;
    return config;
}

template <class T>
struct QrBatch {
    BatchMemory<T> a, tau, b;
    std::vector<Index> info;

    QrBatch(Index count, Index m, Index n, Index nrhs, Index gap = 0, Index space = 0, Index offset = 0)
        : a{count, m, n, gap, space, offset},
          tau{count, std::min(m, n), 1, gap, space, offset},
          b{count, std::max(m, n), nrhs, gap, space, offset},
          info(static_cast<std::size_t>(count), 77) {
        fill_random(a);
        for (Index k = 0; k < count; ++k) fill_sides(b[k], k);
    }
};

/// Well conditioned, so that results are close to LAPACK's; reflectors are far from trivial.
template <class T>
void fill_well_conditioned(BatchMemory<T>& batch) {
    fill_random(batch);
    const Index steps = std::min(batch.rows, batch.cols);
    for (Index k = 0; k < batch.count; ++k) {
        for (Index i = 0; i < steps; ++i) {
            batch[k](i, i) += static_cast<T>(2 * std::sqrt(static_cast<double>(std::max(batch.rows, batch.cols))));
        }
    }
}

/// Factors, Q and solutions next to LAPACK's: reflectors are determined by the matrix.
template <class T>
void check_qr_calls(Runtime& runtime, QrBatch<T> problem) {
    const Index m = problem.a.rows, n = problem.a.cols, steps = std::min(m, n);
    fill_well_conditioned(problem.a);
    QrBatch<T> expected = problem, expected_x = problem, factors = problem, x = problem;
    batch_qr_factor<T>(runtime, factors.a.strided(), factors.tau.strided());
    QrBatch<T> q = factors;
    if (m >= n) batch_qr_form<T>(runtime, q.a.strided(), BatchView<const T>(q.tau.strided()));
    batch_least_squares<T>(runtime, x.a.strided(), x.b.strided(), x.info);
    double worst = 0;
    for (Index k = 0; k < problem.a.count; ++k) {
        oracle_geqrf(expected.a[k], expected.tau[k].data());
        worst = std::max({worst, relative_difference(factors.a[k], expected.a[k]),
                          relative_difference(factors.tau[k], expected.tau[k])});
        if (m >= n) {
            oracle_orgqr(expected.a[k], steps, expected.tau[k].data());
            worst = std::max(worst, relative_difference(q.a[k], expected.a[k]));
        }
        REQUIRE(oracle_gels(expected_x.a[k], expected_x.b[k]) == 0);
        worst =
            std::max({worst, relative_difference(x.a[k], expected_x.a[k]),
                      relative_difference(x.b[k].block(0, 0, n, x.b.cols), expected_x.b[k].block(0, 0, n, x.b.cols))});
    }
    INFO(m << " x " << n << ", " << problem.a.count << " matrices");
    CHECK(worst <= batch_tolerance<T>(std::max(m, n)));
    CHECK(gaps_untouched(factors.a));
    CHECK(gaps_untouched(factors.tau));
    CHECK(gaps_untouched(q.a));
    CHECK(gaps_untouched(x.b));
    CHECK(x.info == std::vector<Index>(x.info.size(), 0));
}

}  // namespace

TEMPLATE_TEST_CASE("batched QR of every order", "[batch]", float, double) {
    Runtime runtime(qr_cores());
    std::vector<Index> orders{160, 200, 256};
    for (Index n = 1; n <= 128; ++n) orders.push_back(n);
    for (const Index n : orders) {
        // full lanes, a part of them, and matrices one by one
        const Index count = n <= 64 ? 21 : n <= 128 ? 9 : 3;
        check_qr_calls(runtime, QrBatch<TestType>(count, n, n, 1 + n % 6, n % 3, n % 5, n % 4));
    }
}

TEMPLATE_TEST_CASE("QR of a small matrix of any size of numbers", "[batch]", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    Runtime runtime(qr_cores());
    for (const T size : {Limits::denorm_min() * 65536, Limits::min() * 8, T{1}, Limits::max() / 1024}) {
        for (const Index m : {1, 2, 5, 8}) {
            QrBatch<T> problem(1, m, 5, 1), expected = problem;
            for (Index j = 0; j < 5; ++j) {
                for (Index i = 0; i < m; ++i) problem.a[0](i, j) *= size;
            }
            if (m == 5) std::fill_n(&problem.a[0](0, 2), m, T{});
            expected.a = problem.a;
            batch_qr_factor<T>(runtime, problem.a.strided(), problem.tau.strided());
            oracle_geqrf(expected.a[0], expected.tau[0].data());
            // vectors below the diagonal do not have the size of the matrix
            const T unit = std::max(16 * Limits::epsilon(), 16 * Limits::denorm_min() / size);
            INFO("size " << size << ", rows " << m);
            for (Index j = 0; j < 5; ++j) {
                for (Index i = 0; i < m; ++i) {
                    const T scale = i <= j ? size : T{1};
                    CHECK(std::abs(problem.a[0](i, j) - expected.a[0](i, j)) <= 8 * unit * scale);
                }
            }
            CHECK(relative_difference(problem.tau[0], expected.tau[0]) <= 8 * static_cast<double>(unit));
        }
    }
}

TEMPLATE_TEST_CASE("a NaN spreads in the QR of a small matrix", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    for (const Index row : {0, 1, 2}) {
        QrBatch<T> problem(1, 3, 3, 1);
        for (Index i = 0; i < 3; ++i) problem.a[0](i, 0) = i == 0 ? T{1} : T{};
        problem.a[0](row, 0) = std::numeric_limits<T>::quiet_NaN();
        batch_qr_factor<T>(runtime, problem.a.strided(), problem.tau.strided());
        for (Index j = 0; j < 3; ++j) CHECK(std::isnan(problem.a[0](0, j)) == (row > 0 || j == 0));
    }
}

TEMPLATE_TEST_CASE("batched QR of tall and wide matrices", "[batch][sanitize]", float, double) {
    Runtime runtime(qr_cores());
    for (const Index m : {1, 2, 5, 8, 19, 40, 100}) {
        for (const Index n : {1, 3, 4, 7, 16, 30}) {
            for (const Index count : {1, 19}) check_qr_calls(runtime, QrBatch<TestType>(count, m, n, 3, 1, 2, 1));
        }
    }
    check_qr_calls(runtime, QrBatch<TestType>(9, 512, 20, 2));
    check_qr_calls(runtime, QrBatch<TestType>(9, 20, 512, 2));
    check_qr_calls(runtime, QrBatch<TestType>(2, 512, 300, 1));
}

TEMPLATE_TEST_CASE("batched QR of any number of matrices and workers", "[batch][sanitize]", float, double) {
    for (const int workers : {1, 3}) {
        Runtime runtime(qr_cores(workers));
        for (const Index count : {0, 1, 2, 5, 8, 31, 700}) {
            check_qr_calls(runtime, QrBatch<TestType>(count, 12, 9, 1));
            check_qr_calls(runtime, QrBatch<TestType>(count, 3, 3, 0));
        }
    }
}

TEMPLATE_TEST_CASE("batched QR of 10001 matrices", "[batch]", float, double) {
    Runtime runtime(qr_cores());
    for (const Index n : {4, 8, 21, 32}) check_qr_calls(runtime, QrBatch<TestType>(10'001, n, n, 1));
}

TEMPLATE_TEST_CASE("batched orgqr with fewer reflectors than columns", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    for (const Index count : {1, 40}) {
        for (const Index reflectors : {0, 1, 3, 4, 6, 9}) {
            QrBatch<T> problem(count, 13, 9, 1);
            fill_well_conditioned(problem.a);
            batch_qr_factor<T>(runtime, problem.a.strided(), problem.tau.strided());
            QrBatch<T> expected = problem;
            batch_qr_form<T>(runtime, problem.a.strided(),
                             BatchView<const T>::strided(problem.tau.data(), count, reflectors, 1, 9, 9));
            double worst = 0;
            for (Index k = 0; k < count; ++k) {
                oracle_orgqr(expected.a[k], reflectors, expected.tau[k].data());
                worst = std::max(worst, relative_difference(problem.a[k], expected.a[k]));
            }
            CHECK(worst <= batch_tolerance<T>(13));
        }
    }
}

TEMPLATE_TEST_CASE("numbers whose squares overflow or vanish have reflectors", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    const T huge = std::numeric_limits<T>::max() / 64, tiny = std::numeric_limits<T>::min() * 64;
    for (const T scale : {huge, tiny}) {
        QrBatch<T> plain(20, 10, 6, 1);
        fill_well_conditioned(plain.a);
        QrBatch<T> scaled = plain;
        const T power = std::exp2(std::floor(std::log2(scale / 8)));  // exact
        for (T& value : scaled.a.values) value *= power;
        batch_qr_factor<T>(runtime, plain.a.strided(), plain.tau.strided());
        batch_qr_factor<T>(runtime, scaled.a.strided(), scaled.tau.strided());
        double worst = 0;
        for (Index k = 0; k < 20; ++k) {
            for (Index j = 0; j < 6; ++j) {
                for (Index i = 0; i <= j; ++i) scaled.a[k](i, j) /= power;
            }
            worst = std::max({worst, relative_difference(scaled.a[k], plain.a[k]),
                              relative_difference(scaled.tau[k], plain.tau[k])});
        }
        CHECK(worst <= batch_tolerance<T>(10));
    }
}

TEMPLATE_TEST_CASE("batched least squares of zero matrices have INFO", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    for (const auto& [m, n] : {std::pair<Index, Index>{1, 3}, {3, 1}, {1, 1}, {4, 5}}) {
        for (const Index count : {1, 40}) {
            QrBatch<T> problem(count, m, n, 2);
            fill_well_conditioned(problem.a);
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) problem.a[0](i, j) = T{};
            }
            batch_least_squares<T>(runtime, problem.a.strided(), problem.b.strided(), problem.info);
            CHECK(problem.info[0] == 1);
            CHECK(std::count(problem.info.begin(), problem.info.end(), 0) == count - 1);
        }
    }
}

TEMPLATE_TEST_CASE("batched least squares of deficient matrices have INFO", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    for (const auto& [m, n] : {std::pair<Index, Index>{12, 7}, {7, 12}, {9, 9}}) {
        QrBatch<T> problem(37, m, n, 2);
        fill_well_conditioned(problem.a);
        std::vector<Index> planted(37, 0);
        for (Index k = 2; k < 37; k += 5) {  // a column, or a row, of zeros is left alone by all reflectors
            const Index line = k * 3 % std::min(m, n);
            for (Index i = 0; i < std::max(m, n); ++i) (m >= n ? problem.a[k](i, line) : problem.a[k](line, i)) = T{};
            planted[static_cast<std::size_t>(k)] = line + 1;
        }
        QrBatch<T> expected = problem;
        batch_least_squares<T>(runtime, problem.a.strided(), problem.b.strided(), problem.info);
        CHECK(problem.info == planted);
        double worst = 0;
        for (Index k = 0; k < 37; ++k) {
            if (planted[static_cast<std::size_t>(k)] != 0) continue;
            REQUIRE(oracle_gels(expected.a[k], expected.b[k]) == 0);
            worst =
                std::max(worst, relative_difference(problem.b[k].block(0, 0, n, 2), expected.b[k].block(0, 0, n, 2)));
        }
        CHECK(worst <= batch_tolerance<T>(12));
    }
}

TEMPLATE_TEST_CASE("NaN and infinity stay in their matrix of a batched QR", "[batch]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    for (const Index n : {3, 8, 24}) {
        QrBatch<T> clean(33, n + 2, n, 1), marked = clean;
        for (Index k = 4; k < 33; k += 7) {
            marked.a[k](k % n, k * 5 % n) =
                k % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
        }
        batch_least_squares<T>(runtime, clean.a.strided(), clean.b.strided(), clean.info);
        batch_least_squares<T>(runtime, marked.a.strided(), marked.b.strided(), marked.info);
        for (Index k = 0; k < 33; ++k) {
            INFO("n = " << n << ", matrix " << k);
            if (k % 7 == 4) {
                bool spoilt = false;
                for (Index i = 0; i < n; ++i) spoilt = spoilt || !std::isfinite(marked.b[k](i, 0));
                CHECK(spoilt);
                continue;
            }
            // squares of columns may be summed with scaling where a neighbour has a NaN
            CHECK(relative_difference(marked.b[k].block(0, 0, n, 1), clean.b[k].block(0, 0, n, 1)) <=
                  1000 * batch_tolerance<T>(n));
        }
    }
}

TEMPLATE_TEST_CASE("matrices of different shapes have QR", "[batch][sanitize]", float, double) {
    using T = TestType;
    Runtime runtime(qr_cores());
    std::vector<QrBatch<T>> several;
    for (Index k = 0; k < 150; ++k) several.emplace_back(1, 3 + k * 7 % 25, 1 + k * 5 % 9, 1 + k % 2, k % 2);
    for (QrBatch<T>& one : several) fill_well_conditioned(one.a);
    std::vector<QrBatch<T>> inputs = several;
    std::vector<View<T>> as, bs;
    for (QrBatch<T>& one : several) {
        as.push_back(one.a[0]);
        bs.push_back(one.b[0]);
    }
    std::vector<Index> info(several.size(), 77);
    batch_least_squares<T>(runtime, BatchView<T>::matrices(as), BatchView<T>::matrices(bs), info);
    double worst = 0;
    for (std::size_t k = 0; k < several.size(); ++k) {
        CHECK(info[k] == 0);
        QrBatch<T>& input = inputs[k];
        REQUIRE(oracle_gels(input.a[0], input.b[0]) == 0);
        worst = std::max(worst, relative_difference(several[k].b[0].block(0, 0, input.a.cols, input.b.cols),
                                                    input.b[0].block(0, 0, input.a.cols, input.b.cols)));
    }
    CHECK(worst <= batch_tolerance<T>(28));

    QrBatch<T> listed(40, 9, 5, 1), plain = listed;
    const std::vector<T*> a = listed.a.addresses(), tau = listed.tau.addresses();
    batch_qr_factor<T>(runtime, BatchView<T>::pointers(a, 9, 5, 9), BatchView<T>::pointers(tau, 5, 1, 5));
    batch_qr_factor<T>(runtime, plain.a.strided(), plain.tau.strided());
    CHECK(listed.a.values == plain.a.values);
    CHECK(listed.tau.values == plain.tau.values);
}

TEST_CASE("batched QR as tasks of a graph", "[batch][sanitize]") {
    QrBatch<double> problem(2000, 10, 6, 1);
    fill_well_conditioned(problem.a);
    QrBatch<double> calls = problem, least = problem, expected = problem;
    Runtime runtime(qr_cores(3));
    Array<Index> info(runtime, 2000, "info");
    {
        const Batch<double> a(runtime, calls.a.strided(), "A"), tau(runtime, calls.tau.strided(), "tau");
        batch_qr_factor<double>(runtime, a, tau);
        batch_qr_form<double>(runtime, a, tau);
        const Batch<double> c(runtime, least.a.strided(), "C"), b(runtime, least.b.strided(), "B");
        batch_least_squares<double>(runtime, c, b, info);
        runtime.wait();
    }
    QrBatch<double> by_views = problem;
    batch_qr_factor<double>(runtime, expected.a.strided(), expected.tau.strided());
    batch_qr_form<double>(runtime, expected.a.strided(), BatchView<const double>(expected.tau.strided()));
    batch_least_squares<double>(runtime, by_views.a.strided(), by_views.b.strided(), by_views.info);
    CHECK(batch_difference(calls.a.values, expected.a.values) <= batch_tolerance<double>(10));
    CHECK(batch_difference(calls.tau.values, expected.tau.values) <= batch_tolerance<double>(10));
    CHECK(batch_difference(least.b.values, by_views.b.values) <= batch_tolerance<double>(10));
    for (Index k = 0; k < 2000; ++k) REQUIRE(info.host_view()[k] == 0);
}

TEMPLATE_TEST_CASE("all instruction sets give a batched QR", "[batch]", float, double) {
    using T = TestType;
    for (const char* name : {"generic", "avx2", "avx512"}) {
        const simd::Kernels<T>* k = simd::find_kernels<T>(name);
        if (k == nullptr) continue;
        for (Index n = 1; n <= 40; ++n) {
            INFO(name << ", n = " << n);
            const Index m = n + n % 4, size = k->lanes;
            QrBatch<T> problem(size, m, n, 1), expected = problem;
            std::vector<T> a(static_cast<std::size_t>(m * n * size)), tau(static_cast<std::size_t>(n * size)),
                q(static_cast<std::size_t>(m * n * size)),
                scratch(static_cast<std::size_t>(k->batch_scratch * m * size));
            const std::vector<T*> as = problem.a.addresses();
            k->interleave(m, n, simd::BatchPart::all, as.data(), problem.a.ld(), a.data(), m);
            k->batch_qr(m, n, a.data(), size, m * size, tau.data(), scratch.data(), {});
            for (Index l = 0; l < size; ++l) {
                for (Index i = 0; i < n; ++i) q[static_cast<std::size_t>(i * (m + 1) * size + l)] = T{1};
            }
            k->batch_reflect(m, n, a.data(), size, m * size, tau.data(), simd::BatchReflection::of_identity, n,
                             q.data(), m * size, scratch.data());
            double worst = 0;  // A = Q R
            for (Index l = 0; l < size; ++l) {
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < m; ++i) {
                        double sum = static_cast<double>(expected.a[l](i, j));
                        for (Index c = 0; c <= j; ++c) {
                            sum -= static_cast<double>(q[static_cast<std::size_t>((c * m + i) * size + l)]) *
                                   static_cast<double>(a[static_cast<std::size_t>((j * m + c) * size + l)]);
                        }
                        worst = std::max(worst, std::abs(sum));
                    }
                }
            }
            CHECK(worst <= batch_tolerance<T>(m));
        }
    }
}

TEST_CASE("wrong operands of a batched QR are refused with the reason", "[batch]") {
    Runtime runtime(qr_cores());
    QrBatch<double> p(4, 3, 5, 1);
    const auto refusal = [&](const auto& call) { return error_of<UsageError>(call); };
    BatchMemory<double> low{4, 2, 1};
    CHECK(mentions(refusal([&] { batch_qr_factor<double>(runtime, p.a.strided(), low.strided()); }),
                   "allowed is, for this matrix of A, 3 x 1"));
    CHECK(mentions(
        refusal([&] { batch_qr_form<double>(runtime, p.a.strided(), BatchView<const double>(p.tau.strided())); }),
        "3 x 5; allowed are no more columns than rows"));
    BatchMemory<double> short_b{4, 3, 1};
    CHECK(mentions(refusal([&] { batch_least_squares<double>(runtime, p.a.strided(), short_b.strided(), p.info); }),
                   "3 x 1; allowed is, for this matrix of A, 5 x 1"));
    std::vector<Index> short_info(3);
    CHECK(mentions(refusal([&] { batch_least_squares<double>(runtime, p.a.strided(), p.b.strided(), short_info); }),
                   "info has 3"));
}
