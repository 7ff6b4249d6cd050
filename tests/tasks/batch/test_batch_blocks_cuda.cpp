// Batches whose slices real GPUs and cores share: factors and solutions, wherever the slices ran.
#include <algorithm>
#include <string>
#include <vector>

#include "basalt/basalt.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/real_gpus.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/kernels/cases/batch_factors.hpp"
#include "tests/kernels/cases/batches.hpp"
#include "tests/tasks/batch/block_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Config machine(const std::string& policy) {
    Config config;
    config.policy = policy;
    return config;
}

constexpr Index count = 1000, slices = 12;

}  // namespace

TEMPLATE_TEST_CASE("Cholesky of slices on GPUs and cores", "[batch]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    for (const char* policy : {"gpu", "heft"}) {
        CAPTURE(policy);
        Runtime runtime(machine(policy));
        check_cholesky_of_slices(runtime, BatchCase<TestType>(40, 2, count, Triangle::lower), slices);
    }
}

TEMPLATE_TEST_CASE("LU and QR of slices on GPUs and cores", "[batch]", float, double) {
    if (gpus_here() == 0) SKIP(no_gpu);
    const Watchdog watchdog;
    for (const char* policy : {"gpu", "heft"}) {
        CAPTURE(policy);
        Runtime runtime(machine(policy));
        const FactorCase<TestType> p(24, 24, 3, count, true), tall(30, 11, 2, count, false);
        std::vector<TestType> a = p.a, b = p.b, t = tall.a, x = tall.b;
        std::vector<TestType> a2 = p.a, b2 = p.b, q = tall.a, tau(11 * count), r;
        std::vector<Index> pivots(24 * count), pivots2(24 * count), info(count, -7), info2(count, -7), full(count, -7);
        {
            const BatchBlocks<TestType> batch(runtime, p.view_a(a.data()), slices);
            const BatchBlocks<TestType> sides(runtime, p.view_b(b.data()), slices);
            const BatchBlocks<Index> order(runtime, p.view_numbers(pivots.data()), slices);
            const BatchBlocks<TestType> talls(runtime, tall.view_a(t.data()), slices);
            const BatchBlocks<TestType> squares(runtime, tall.view_b(x.data()), slices);
            const auto failed = Array<Index>::wrap(runtime, info.data(), count);
            const auto deficient = Array<Index>::wrap(runtime, full.data(), count);
            const BatchBlocks<TestType> batch2(runtime, p.view_a(a2.data()), slices);
            const BatchBlocks<TestType> sides2(runtime, p.view_b(b2.data()), slices);
            const BatchBlocks<Index> order2(runtime, p.view_numbers(pivots2.data()), slices);
            const BatchBlocks<TestType> qs(runtime, tall.view_a(q.data()), slices);
            const BatchBlocks<TestType> scales(runtime, tall.view_numbers(tau.data()), slices);
            const auto failed2 = Array<Index>::wrap(runtime, info2.data(), count);
            batch_lu_factor_solve(runtime, batch2, order2, sides2, failed2);
            batch_qr_factor(runtime, qs, scales);
            qs.host_view();
            r = q;
            batch_qr_form(runtime, qs, scales);
            batch_lu_factor(runtime, batch, order, failed);
            batch_lu_solve(runtime, batch, order, sides);
            batch_least_squares(runtime, talls, squares, deficient);
            runtime.wait();
        }
        CHECK(info == p.info);
        CHECK(full == tall.info);
        CHECK(info2 == p.info);
        CHECK(p.worst_solution(b) <= 4 * p.tolerance());
        CHECK(p.worst_solution(b2) <= 4 * p.tolerance());
        CHECK(tall.worst_orthogonality(q) <= 4 * tall.tolerance());
        CHECK(tall.worst_product(q, r) <= 4 * tall.tolerance());
        CHECK(tall.worst_solution(x) <= 4 * tall.tolerance());
    }
}
