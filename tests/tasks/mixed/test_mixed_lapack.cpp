// dsgesv and dsposv, with the matrices and thresholds of LAPACK's tester (ddrvab and ddrvac): types of condition and
// scale, and the rules for their results.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/common/mentions.hpp"
#include "tests/tasks/mixed/mixed_cases.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr double threshold = 30;  // of the tester's input file

/// The tester's types of general matrices: diagonal, upper, lower, condition 2, a zero first, middle or last column,
/// condition sqrt(0.1 / eps), condition 0.1 / eps, scaled near underflow and near overflow.
constexpr int types = 11;

Dense<double> matrix_of_type(int type, Index n, bool symmetric) {
    constexpr double bad = 0.1 / 0x1p-53;
    Dense<double> a = conditioned(n, type == 8 ? std::sqrt(bad) : type == 9 ? bad : 2, 40 + type, symmetric);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            if ((type == 1 && i != j) || (type == 2 && i > j && !symmetric) || (type == 3 && i < j && !symmetric))
                a(i, j) = 0;
            const Index zero = type == 5 ? 0 : type == 6 ? n / 2 : n - 1;
            if (type >= 5 && type <= 7 && (j == zero || (symmetric && i == zero))) a(i, j) = 0;
            if (type == 10) a(i, j) = std::ldexp(a(i, j), -1000);
            if (type == 11) a(i, j) = std::ldexp(a(i, j), 1000);
        }
    }
    return a;
}

/// The tester's right-hand sides: A X for a random X.
Dense<double> right_hand_sides(const Dense<double>& a, Index count, unsigned seed, Index gap = 0) {
    const Dense<double> x = random_dense<double>(a.n, count, seed);
    Dense<double> b(a.m, count, gap);
    for (Index c = 0; c < count; ++c) {
        for (Index i = 0; i < a.m; ++i) {
            b(i, c) = 0;
            for (Index j = 0; j < a.n; ++j) b(i, c) += a(i, j) * x(j, c);
        }
    }
    return b;
}

Config machine_with(int gpus) { return gpus == 0 ? two_workers() : GpuMachine{.gpus = gpus}.config(); }

MixedOptions options_for(int gpus) { return {.mode = gpus == 0 ? FactorMode::automatic : FactorMode::gpu}; }

void check_by_the_testers_rule(const MixedResult& result, const Dense<double>& a, const Dense<double>& x,
                               const Dense<double>& b) {
    const double ratio = residual_ratio(a, x, b);
    INFO("ITER " << result.iterations << ", ratio " << ratio);
    // for a few elements the rounding errors of a residual in double, which the tester and the solver measure, count
    // too
    if (result.iterations >= 0 && a.n > 0) CHECK(ratio < std::max(4.0, std::sqrt(static_cast<double>(a.n))));
    if (result.iterations < 0) CHECK(ratio < threshold);
}

void check_dsgesv(int gpus) {
    Runtime runtime(machine_with(gpus));
    for (const Index n : {0, 1, 2, 3, 5, 10, 50, 130}) {
        for (int type = 1; type <= types; ++type) {
            if (n == 0 && type > 1) continue;
            for (const Index nrhs : {1, 2, 15}) {
                INFO("n = " << n << ", type " << type << ", " << nrhs << " right-hand sides");
                const Dense<double> a = matrix_of_type(type, n, false), b = right_hand_sides(a, nrhs, 60, 2);
                Dense<double> after(n, n, 3), x(n, nrhs, 1);
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) after(i, j) = a(i, j);
                }
                std::vector<Index> pivots(static_cast<std::size_t>(n));
                const MixedResult result = dsgesv(runtime, n, nrhs, after.values.data(), after.ld, pivots.data(),
                                                  b.values.data(), b.ld, x.values.data(), x.ld, options_for(gpus));
                const bool singular = type >= 5 && type <= 7;
                CHECK((result.info > 0) == singular);
                CHECK(after.gap_untouched());
                CHECK(x.gap_untouched());
                if (singular) {
                    CHECK(result.iterations < 0);
                    CHECK(result.info == (type == 5 ? 1 : type == 6 ? n / 2 + 1 : n));
                    continue;
                }
                check_by_the_testers_rule(result, a, x, b);
                if (!result.fell_back()) {
                    for (Index j = 0; j < n; ++j) {
                        for (Index i = 0; i < n; ++i) REQUIRE(after(i, j) == a(i, j));
                    }
                } else {
                    CHECK(factor_ratio(a, after, pivots) < 30);
                }
            }
        }
    }
}

void check_dsposv(int gpus) {
    Runtime runtime(machine_with(gpus));
    for (const Index n : {0, 1, 2, 3, 5, 10, 50, 130}) {
        for (const int type : {1, 4, 5, 6, 7, 8, 9, 10, 11}) {
            if (n == 0 && type > 1) continue;
            for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
                INFO("n = " << n << ", type " << type << (triangle == Triangle::lower ? ", lower" : ", upper"));
                const Dense<double> a = matrix_of_type(type, n, true), b = right_hand_sides(a, 2, 61);
                Dense<double> after(n, n, 3), x(n, 2, 1);
                const auto on_side = [&](Index i, Index j) { return triangle == Triangle::lower ? i >= j : i <= j; };
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        after(i, j) = on_side(i, j) ? a(i, j) : std::numeric_limits<double>::quiet_NaN();
                    }
                }
                const MixedResult result = dsposv(runtime, triangle, n, 2, after.values.data(), after.ld,
                                                  b.values.data(), b.ld, x.values.data(), x.ld, options_for(gpus));
                const bool singular = type >= 5 && type <= 7;
                CHECK((result.info > 0) == singular);
                CHECK(after.gap_untouched());
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        if (!on_side(i, j)) REQUIRE(std::isnan(after(i, j)));
                        if (on_side(i, j) && !result.fell_back()) REQUIRE(after(i, j) == a(i, j));
                    }
                }
                if (!singular) check_by_the_testers_rule(result, a, x, b);
            }
        }
    }
}

}  // namespace

TEST_CASE("dsgesv passes the rules of LAPACK's tester", "[mixed]") {
    check_dsgesv(0);
    check_dsgesv(1);
}

TEST_CASE("dsposv passes the rules of LAPACK's tester and keeps the other triangle", "[mixed]") {
    check_dsposv(0);
    check_dsposv(1);
}

TEST_CASE("dsgesv and dsposv refuse arguments as LAPACK does", "[mixed]") {
    Runtime runtime(two_workers());
    std::vector<double> a(16), b(4), x(4);
    const auto refusal = [](const auto& call) {
        try {
            call();
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const auto general = [&](Index n, Index nrhs, Index lda, Index ldb, Index ldx, double* matrix) {
        return refusal([&] { dsgesv(runtime, n, nrhs, matrix, lda, nullptr, b.data(), ldb, x.data(), ldx); });
    };
    CHECK(mentions(general(-1, 1, 1, 1, 1, a.data()), "dsgesv: n = -1"));
    CHECK(mentions(general(4, -1, 4, 4, 4, a.data()), "nrhs = -1"));
    CHECK(mentions(general(4, 1, 3, 4, 4, a.data()), "lda = 3"));
    CHECK(mentions(general(4, 1, 4, 3, 4, a.data()), "ldb = 3"));
    CHECK(mentions(general(4, 1, 4, 4, 3, a.data()), "ldx = 3"));
    CHECK(mentions(general(4, 1, 4, 4, 4, nullptr), "array a is missing"));
    CHECK(mentions(refusal([&] { dsposv(runtime, Triangle::lower, 4, 1, a.data(), 3, b.data(), 4, x.data(), 4); }),
                   "dsposv: lda = 3"));
}
