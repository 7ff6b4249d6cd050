// Batches whose slices GPUs and cores work on: the same factors and solutions as without a runtime's help, where the
// slices ran, and what is refused.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "basalt/basalt.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/kernels/cases/batch_factors.hpp"
#include "tests/kernels/cases/batches.hpp"
#include "tests/tasks/batch/block_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

struct Machine {
    int gpus;
    std::string policy;
};

std::unique_ptr<Runtime> runtime_of(const Machine& machine, bool trace = false) {
    Config config;
    config.workers = 2;
    config.bind = false;
    config.gpus = 0;
    config.emulation.gpus = machine.gpus;
    config.policy = machine.policy;
    config.trace = trace;
    return std::make_unique<Runtime>(config);
}

/// Rows of the trace in which tasks of that name ran.
std::set<std::string> rows_of(const Trace& trace, const std::string& name) {
    std::set<std::string> rows;
    for (const TraceEvent& event : trace.events) {
        if (name == event.name) rows.insert(trace.rows[static_cast<std::size_t>(event.row)].name);
    }
    return rows;
}

}  // namespace

TEMPLATE_TEST_CASE("Cholesky of slices on cores and GPUs", "[batch][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Machine& machine : {Machine{0, "gpu"}, Machine{1, "gpu"}, Machine{2, "gpu"}, Machine{2, "heft"}}) {
        for (const Index slices : {1, 3, 7}) {
            CAPTURE(machine.gpus, machine.policy, slices);
            const auto runtime = runtime_of(machine);
            check_cholesky_of_slices(*runtime, BatchCase<TestType>(17, 2, 7, Triangle::lower), slices);
        }
    }
}

TEMPLATE_TEST_CASE("LU of slices on cores and GPUs", "[batch][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Machine& machine : {Machine{0, "gpu"}, Machine{2, "gpu"}, Machine{2, "heft"}}) {
        CAPTURE(machine.gpus, machine.policy);
        const auto runtime = runtime_of(machine);
        const FactorCase<TestType> p(20, 20, 3, 10, true);
        std::vector<TestType> a = p.a, b = p.b, a2 = p.a, b2 = p.b;
        std::vector<Index> pivots(200), pivots2(200), info(10, -7), info2(10, -7);
        {
            const BatchBlocks<TestType> batch(*runtime, p.view_a(a.data()), 4),
                batch2(*runtime, p.view_a(a2.data()), 4);
            const BatchBlocks<TestType> sides(*runtime, p.view_b(b.data()), 4),
                sides2(*runtime, p.view_b(b2.data()), 4);
            const BatchBlocks<Index> order(*runtime, p.view_numbers(pivots.data()), 4);
            const BatchBlocks<Index> order2(*runtime, p.view_numbers(pivots2.data()), 4);
            const auto failed = Array<Index>::wrap(*runtime, info.data(), 10);
            const auto failed2 = Array<Index>::wrap(*runtime, info2.data(), 10);
            batch_lu_factor(*runtime, batch, order, failed);
            batch_lu_solve(*runtime, batch, order, sides);
            batch_lu_factor_solve(*runtime, batch2, order2, sides2, failed2);
            runtime->wait();
        }
        CHECK(info == p.info);
        CHECK(info2 == p.info);
        CHECK(p.worst_solution(b) <= p.tolerance());
        CHECK(p.worst_solution(b2) <= p.tolerance());
        std::vector<TestType> expected = p.a;
        std::vector<Index> expected_pivots(200), expected_info(10);
        batch_lu_factor(*runtime, p.view_a(expected.data()), p.view_numbers(expected_pivots.data()), expected_info);
        CHECK(pivots == expected_pivots);
        CHECK(pivots2 == expected_pivots);
    }
}

TEMPLATE_TEST_CASE("QR of slices on cores and GPUs", "[batch][sanitize]", float, double) {
    const Watchdog watchdog;
    for (const Machine& machine : {Machine{0, "gpu"}, Machine{2, "gpu"}}) {
        CAPTURE(machine.gpus);
        const auto runtime = runtime_of(machine);
        const FactorCase<TestType> p(21, 9, 2, 8, false);
        std::vector<TestType> a = p.a, q, x = p.b, a2 = p.a, tau(72);
        std::vector<Index> info(8, -7);
        {
            const BatchBlocks<TestType> batch(*runtime, p.view_a(a.data()), 3),
                batch2(*runtime, p.view_a(a2.data()), 3);
            const BatchBlocks<TestType> scales(*runtime, p.view_numbers(tau.data()), 3);
            const BatchBlocks<TestType> sides(*runtime, p.view_b(x.data()), 3);
            const auto failed = Array<Index>::wrap(*runtime, info.data(), 8);
            batch_qr_factor(*runtime, batch, scales);
            batch_least_squares(*runtime, batch2, sides, failed);
            batch.host_view();
            q = a;  // the factors
            batch_qr_form(*runtime, batch, scales);
            runtime->wait();
        }
        CHECK(info == p.info);
        CHECK(p.worst_orthogonality(a) <= p.tolerance());
        CHECK(p.worst_product(a, q) <= p.tolerance());
        CHECK(p.worst_solution(x) <= p.tolerance());
    }
}

TEST_CASE("slices run on all GPUs, large matrices on cores", "[batch]") {
    const Watchdog watchdog;
    const auto runtime = runtime_of({2, "gpu"}, true);
    const auto run = [&](Index n) {
        std::vector<double> memory(static_cast<std::size_t>(4 * n * n));
        for (Index k = 0; k < 4; ++k) {
            for (Index i = 0; i < n; ++i) memory[static_cast<std::size_t>(k * n * n + i * n + i)] = 4;
        }
        std::vector<Index> info(4);
        const BatchBlocks<double> batch(*runtime, BatchView<double>::strided(memory.data(), 4, n, n, n, n * n), 4);
        const auto failed = Array<Index>::wrap(*runtime, info.data(), 4);
        batch_cholesky_factor(*runtime, Triangle::lower, batch, failed);
        runtime->wait();
        CHECK(batch.host_view()[3](n - 1, n - 1) == 2);
        return rows_of(runtime->take_trace(), "batch dpotrf");
    };
    const std::set<std::string> small = run(largest_gpu_batch_order);
    CHECK(std::any_of(small.begin(), small.end(), [](const std::string& row) { return row.starts_with("gpu 0"); }));
    CHECK(std::any_of(small.begin(), small.end(), [](const std::string& row) { return row.starts_with("gpu 1"); }));
    const std::set<std::string> large = run(largest_gpu_batch_order + 1);
    CHECK(!large.empty());
    CHECK(std::none_of(large.begin(), large.end(), [](const std::string& row) { return row.starts_with("gpu"); }));
}

TEST_CASE("LU runs on GPUs up to its largest order, least squares with few rows on cores", "[batch]") {
    const Watchdog watchdog;
    const auto runtime = runtime_of({1, "gpu"}, true);
    const auto rows = [&](Index m, Index n, const std::string& name, const auto& call) {
        std::vector<float> memory(static_cast<std::size_t>(2 * m * n));
        for (Index k = 0; k < 2; ++k) {
            for (Index i = 0; i < std::min(m, n); ++i) memory[static_cast<std::size_t>(k * m * n + i * m + i)] = 1;
        }
        const BatchBlocks<float> batch(*runtime, BatchView<float>::strided(memory.data(), 2, m, n, m, m * n), 2);
        call(batch);
        runtime->wait();
        return rows_of(runtime->take_trace(), name);
    };
    const auto factor = [&](const BatchBlocks<float>& a) {
        const Index n = a.view().shape().rows();
        std::vector<Index> pivots(static_cast<std::size_t>(2 * n));
        const BatchBlocks<Index> order(*runtime, BatchView<Index>::strided(pivots.data(), 2, n, 1, n, n), 2);
        batch_lu_factor(*runtime, a, order, Array<Index>(*runtime, 2));
        order.host_view();
        CHECK(pivots[0] == 1);
    };
    const auto solve = [&](const BatchBlocks<float>& a) {
        std::vector<float> b(16);
        const BatchBlocks<float> sides(*runtime, BatchView<float>::strided(b.data(), 2, 8, 1, 8, 8), 2);
        batch_least_squares(*runtime, a, sides, Array<Index>(*runtime, 2));
        sides.host_view();
    };
    CHECK(rows(largest_gpu_lu_order, largest_gpu_lu_order, "batch sgetrf", factor).begin()->starts_with("gpu"));
    CHECK(rows(largest_gpu_lu_order + 1, largest_gpu_lu_order + 1, "batch sgetrf", factor)
              .begin()
              ->starts_with("worker"));
    CHECK(rows(8, 5, "batch sgels", solve).begin()->starts_with("gpu"));
    CHECK(rows(5, 8, "batch sgels", solve).begin()->starts_with("worker"));
}

TEST_CASE("upper triangles, and calls one after the other with one INFO, whatever heft has learnt", "[batch]") {
    const Watchdog watchdog;
    for (const Machine& machine : {Machine{2, "gpu"}, Machine{2, "heft"}}) {
        CAPTURE(machine.policy);
        const auto runtime = runtime_of(machine);
        const BatchCase<double> p(12, 1, 20, Triangle::upper);
        std::vector<double> a = p.a;
        const BatchBlocks<double> batch(*runtime, p.view_a(a.data()), 5);
        const Array<Index> info(*runtime, 20);
        for (int turn = 0; turn < 4; ++turn) {
            batch.host_overwrite();
            a = p.a;
            batch_cholesky_factor(*runtime, Triangle::upper, batch, info);
            std::vector<double> lower(20);
            const BatchBlocks<double> small(*runtime, BatchView<double>::strided(lower.data(), 20, 1, 1, 1, 1), 4);
            batch_cholesky_factor(*runtime, Triangle::upper, small, info);  // zeros: all fail
            runtime->wait();
            CHECK(p.near(a, p.l));
            CHECK(info.host_view()[7] == 1);
        }
    }
}

TEST_CASE("after a failed task a batch is overwritten or refused", "[batch]") {
    const Watchdog watchdog;
    const auto runtime = runtime_of({1, "gpu"});
    std::vector<double> memory(40, 1);
    const auto view = BatchView<double>::strided(memory.data(), 10, 2, 2, 2, 4);
    BatchBlocks<double> batch(*runtime, view, 2);
    std::vector<Index> pivots(20);
    const BatchBlocks<Index> order(*runtime, BatchView<Index>::strided(pivots.data(), 10, 2, 1, 2, 2), 2);
    runtime->submit({.place = Place::cpu()}, readwrite(batch.block(0)), readwrite(order.block(0)),
                    [](View<double>, View<Index>) { throw std::runtime_error("on purpose"); });
    CHECK_THROWS_AS(runtime->wait(), TaskError);
    CHECK_THROWS_AS(batch.host_view(), DataError);
    batch.host_overwrite()[0](0, 0) = 4;
    batch_lu_factor(*runtime, batch, order, Array<Index>(*runtime, 10));  // overwrites all pivots
    runtime->wait();
    CHECK(order.host_view()[0](1, 0) == 2);
    CHECK(batch.host_view()[0](0, 0) == 4);

    const BatchBlocks<double> moved = std::move(batch);
    CHECK(moved.slices() == 2);
    CHECK(batch.count() == 0);  // NOLINT(bugprone-use-after-move): what is said of moved-from batches
    CHECK(batch.slices() == 0);
}

TEST_CASE("tasks of the program's own use slices", "[batch]") {
    const Watchdog watchdog;
    const auto runtime = runtime_of({1, "gpu"});
    std::vector<double> memory(6 * 7, 1);
    const BatchBlocks<double> batch(*runtime, BatchView<double>::strided(memory.data(), 6, 2, 2, 3, 7), 4);
    CHECK(batch.slices() == 4);
    CHECK(batch.begin(0) == 0);
    CHECK(batch.begin(4) == 6);
    for (Index s = 0; s < batch.slices(); ++s) {
        const auto scale = [shape = batch.shape(s), s](View<double> elements) {
            const BatchView<double> matrices = shape.at(elements.data());
            for (Index k = 0; k < matrices.count(); ++k) matrices[k](1, 1) += static_cast<double>(s);
        };
        runtime->submit({.place = s % 2 == 0 ? Place::cpu() : Place::gpu(0)}, readwrite(batch.block(s)), scale,
                        cuda([](Stream, View<double>) {}));
    }
    const BatchView<double>& all = batch.host_view();
    for (Index k = 0; k < 6; ++k) CHECK(all[k](1, 1) == 1 + static_cast<double>(k < 4 ? k / 2 : k - 2));
    CHECK(std::count(memory.begin(), memory.end(), 1.0) == 6 * 7 - 4);  // what lies between is as it was
}

TEST_CASE("what cannot be cut into slices is refused", "[batch]") {
    const auto runtime = runtime_of({0, "gpu"});
    std::vector<double> memory(100, 1);
    std::vector<double*> list{memory.data()};
    const auto strided = [&](Index count) { return BatchView<double>::strided(memory.data(), count, 2, 2, 2, 4); };
    const auto refused = [&](const BatchView<double>& batch, Index slices) {
        return error_of<UsageError>([&] { const BatchBlocks<double> blocks(*runtime, batch, slices, "M"); });
    };
    CHECK(mentions(refused(BatchView<double>::pointers(list, 2, 2, 2), 1), "strided()"));
    CHECK(mentions(refused(BatchView<double>::strided(memory.data(), 3, 0, 0, 1, 0), 1), "at least one element"));
    CHECK(mentions(refused(strided(5), 6), "slices = 6; allowed is 1 <= slices <= 5"));
    CHECK(mentions(refused(strided(5), 0), "slices = 0"));
    CHECK(mentions(refused(BatchView<double>::strided(memory.data(), 3, 2, 2, 1, 4), 1), "leading dimension"));

    const BatchBlocks<double> none(*runtime, strided(0), 1);
    CHECK(none.slices() == 0);
    batch_cholesky_factor(*runtime, Triangle::lower, none, Array<Index>(*runtime, 0));

    const BatchBlocks<double> a(*runtime, strided(5), 2);
    std::vector<double> right(10);
    const BatchBlocks<double> b(*runtime, BatchView<double>::strided(right.data(), 5, 2, 1, 2, 2), 3);
    CHECK(mentions(error_of<UsageError>([&] { batch_cholesky_solve(*runtime, Triangle::lower, a, b); }),
                   "batch_cholesky_solve: B has 3 slices; allowed are those of A, 2"));
    CHECK(mentions(error_of<UsageError>([&] { batch_cholesky_solve(*runtime, Triangle::lower, a, a); }),
                   "elements of B; allowed are batches that do not overlap"));
    const Array<Index> info(*runtime, 4);
    CHECK(mentions(error_of<UsageError>([&] { batch_cholesky_factor(*runtime, Triangle::lower, a, info); }),
                   "info has 4 elements"));
}
