// Calls for batches in a GPU's memory: what they check, and their results on an emulated device, whose memory is the
// host's. tests/kernels has the kernels themselves.
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "basalt/basalt.hpp"
#include "kernels/on_stream/kernel.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/cases/batch_factors.hpp"
#include "tests/kernels/cases/batches.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

const detail::StreamContext emulated_context = [] {
    detail::StreamContext context;
    context.emulated = true;
    return context;
}();
const Stream emulated_stream(&emulated_context);

template <class F>
std::string refusal(const F& f) {
    try {
        f();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEMPLATE_TEST_CASE("batches are factored and solved on a stream", "[batch]", float, double) {
    for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
        const BatchCase<TestType> p(40, 2, 5, triangle);
        std::vector<TestType> a = p.a, b = p.b;
        std::vector<Index> info(5, -7);
        batch_cholesky_factor<TestType>(emulated_stream, triangle, p.view_a(a.data()), info.data());
        CHECK(info == p.info);
        CHECK(p.near(a, p.l));
        batch_cholesky_solve<TestType>(emulated_stream, triangle, p.view_a(a.data()), p.view_b(b.data()));
        CHECK(p.near(b, p.x));
        a = p.a, b = p.b;
        batch_cholesky_factor_solve<TestType>(emulated_stream, triangle, p.view_a(a.data()), p.view_b(b.data()),
                                              info.data(), BatchFactor::discard);
        CHECK(p.near(a, p.a));
        CHECK(p.near(b, p.x));
    }
}

TEST_CASE("lists of addresses on a stream are not read by the checks", "[batch]") {
    std::vector<float> memory(8, 4.0F);
    std::vector<float*> list{memory.data(), memory.data() + 4};
    std::vector<Index> info(2, -7);
    const auto a = BatchView<float>::pointers(list, 1, 1, 1);
    batch_cholesky_factor<float>(emulated_stream, Triangle::lower, a, info.data());
    CHECK(info == std::vector<Index>{0, 0});
    CHECK(memory[0] == 2.0F);
    CHECK(memory[4] == 2.0F);
    // addresses that a host cannot follow: only the shape is refused
    const auto far = BatchView<float>::pointers({reinterpret_cast<float* const*>(8), 2}, 2, 3, 2);
    CHECK(refusal([&] {
              batch_cholesky_factor<float>(emulated_stream, Triangle::lower, far, info.data());
          }).find("2 x 3") != std::string::npos);
}

TEST_CASE("what GPUs do not take is refused with the call and the operand", "[batch]") {
    std::vector<double> memory(300 * 300);
    std::vector<Index> info(2);
    const auto square = [&](Index n, Index ld) { return BatchView<double>::strided(memory.data(), 1, n, n, ld, 0); };
    const auto factor = [&](const BatchView<double>& a, Index* to) {
        return refusal([&] { batch_cholesky_factor<double>(emulated_stream, Triangle::lower, a, to); });
    };
    CHECK(factor(square(257, 257), info.data()).find("order 256 at most") != std::string::npos);
    CHECK(factor(square(4, 3), info.data()).find("leading dimension 3") != std::string::npos);
    CHECK(factor(square(4, largest_gpu_batch_ld + 1), info.data()) ==
          "batch_cholesky_factor: A has the leading dimension 2147483648; allowed on GPUs is at most 2147483647");
    CHECK(factor(square(4, 4), nullptr) == "batch_cholesky_factor: info is missing (null)");
    const std::vector<View<double>> views(1, View<double>::column_major(memory.data(), 2, 2, 2));
    CHECK(factor(BatchView<double>::matrices(views), info.data()).find("matrices() with the most rows and columns") !=
          std::string::npos);
    const auto solve = [&](const BatchView<double>& b) {
        return refusal([&] { batch_cholesky_solve<double>(emulated_stream, Triangle::lower, square(4, 4), b); });
    };
    CHECK(solve(BatchView<double>::strided(memory.data(), 1, 5, 1, 5, 0)).find("5 rows") != std::string::npos);
    CHECK(solve(BatchView<double>::strided(memory.data(), 2, 4, 1, 4, 4)).find("2 matrices") != std::string::npos);
}

TEST_CASE("a build without CUDA says so", "[batch]") {
    if (on_stream::gpu_kernels_built) SKIP("this build has CUDA");
    double one = 1;
    Index info = 0;
    const BorrowedStream stream(nullptr);
    CHECK_THROWS_AS(
        batch_cholesky_factor<double>(stream, Triangle::lower, BatchView<double>::strided(&one, 1, 1, 1, 1, 1), &info),
        DeviceError);
}

TEMPLATE_TEST_CASE("batches have LU and QR on a stream", "[batch]", float, double) {
    using T = TestType;
    const FactorCase<T> p(40, 40, 2, 5, true);
    std::vector<T> a = p.a, b = p.b, inverse = p.a;
    std::vector<Index> info(5, -7), pivots(40 * 5);
    const auto order = p.view_numbers(pivots.data());
    batch_lu_factor<T>(emulated_stream, p.view_a(a.data()), order, info.data());
    CHECK(info == p.info);
    batch_lu_solve<T>(emulated_stream, BatchView<const T>(p.view_a(a.data())), BatchView<const Index>(order),
                      p.view_b(b.data()));
    CHECK(p.worst_solution(b) <= 4 * p.tolerance());
    batch_lu_invert<T>(emulated_stream, BatchView<const T>(p.view_a(a.data())), BatchView<const Index>(order),
                       p.view_a(inverse.data()), info.data());
    CHECK(info == p.info);
    a = p.a, b = p.b;
    batch_lu_factor_solve<T>(emulated_stream, p.view_a(a.data()), order, p.view_b(b.data()), info.data());
    CHECK(p.worst_solution(b) <= 4 * p.tolerance());

    const FactorCase<T> tall(30, 20, 2, 5, false);
    std::vector<T> q = tall.a, c = tall.a, x = tall.b, tau(20 * 5);
    batch_qr_factor<T>(emulated_stream, tall.view_a(q.data()), tall.view_numbers(tau.data()));
    const std::vector<T> factors = q;
    batch_qr_form<T>(emulated_stream, tall.view_a(q.data()), BatchView<const T>(tall.view_numbers(tau.data())));
    CHECK(tall.worst_orthogonality(q) <= tall.tolerance());
    CHECK(tall.worst_product(q, factors) <= 4 * tall.tolerance());
    batch_least_squares<T>(emulated_stream, tall.view_a(c.data()), tall.view_b(x.data()), info.data());
    CHECK(info == tall.info);
    CHECK(tall.worst_solution(x) <= 4 * tall.tolerance());
}

TEST_CASE("what belongs to matrices of different shapes may have one shape", "[batch]") {
    constexpr Index bound = 5;
    const std::vector<std::pair<Index, Index>> shapes{{5, 3}, {2, 4}, {3, 3}, {6, 2}};  // the last one is too large
    std::vector<double> memory, again;
    for (Index k = 0; k < 4 * 25; ++k) memory.push_back(scattered(k, 3, 1) + (k % 6 == 0 ? 4 : 0));
    again = memory;
    const auto list = [&](std::vector<double>& values) {
        std::vector<View<double>> views;
        for (const auto& [m, n] : shapes)
            views.push_back(View<double>::column_major(values.data() + views.size() * 25, m, n, m));
        return views;
    };
    const std::vector<View<double>> a = list(memory), copy = list(again);
    std::vector<double> tau(4 * bound, -7), b(4 * bound, -7), x(4 * bound);
    std::vector<Index> info(4), alone(1);
    const auto of_bound = [&](std::vector<double>& values) {
        return BatchView<double>::strided(values.data(), 4, bound, 1, bound, bound);
    };
    for (Index k = 0; k < 4; ++k) {
        for (Index i = 0; i < shapes[static_cast<std::size_t>(k)].first && k < 3; ++i)
            b[static_cast<std::size_t>(k * bound + i)] = 1.0 + static_cast<double>(i);
    }
    x = b;
    const auto given = BatchView<double>::matrices(a, bound, bound);
    batch_least_squares<double>(emulated_stream, given, of_bound(b), info.data());
    CHECK(info == std::vector<Index>{0, 0, 0, -1});
    for (std::size_t k = 0; k < 3; ++k) {
        const Index larger = std::max(a[k].rows(), a[k].cols());
        const View<double> right = View<double>::column_major(x.data() + k * bound, larger, 1, larger);
        batch_least_squares<double>(emulated_stream, BatchView<double>::matrices({&copy[k], 1}, bound, bound),
                                    BatchView<double>::matrices({&right, 1}, bound, 1), alone.data());
    }
    CHECK(b == x);  // also behind what the matrices use
    CHECK(memory == again);
    batch_qr_factor<double>(emulated_stream, given, of_bound(tau));
    CHECK(tau[3] == -7);
    CHECK(tau[bound + 2] == -7);
    batch_qr_form<double>(emulated_stream, given, BatchView<const double>(of_bound(tau)));
    double sum = 0;
    for (Index i = 0; i < 5; ++i) sum += a[0](i, 0) * a[0](i, 0);
    CHECK(std::abs(sum - 1) < 1e-14);
    CHECK(a[3](0, 0) == copy[3](0, 0));
}

TEST_CASE("LU and QR that GPUs do not take are refused with the call and the operand", "[batch]") {
    std::vector<double> memory(600 * 600);
    std::vector<Index> info(2), pivots(600);
    const auto matrix = [&](Index m, Index n) { return BatchView<double>::strided(memory.data(), 1, m, n, m, 0); };
    const auto order = [&](Index n) { return BatchView<Index>::strided(pivots.data(), 1, n, 1, n, 0); };
    CHECK(refusal([&] {
              batch_lu_factor<double>(emulated_stream, matrix(513, 513), order(513), info.data());
          }).find("512 rows and columns at most") != std::string::npos);
    CHECK(refusal([&] { batch_lu_factor<double>(emulated_stream, matrix(4, 3), info.data()); }).find("square") !=
          std::string::npos);
    CHECK(refusal([&] {
              batch_lu_factor<double>(emulated_stream, matrix(4, 4), order(3), info.data());
          }).find("pivots has 1 matrices of 3 x 1") != std::string::npos);
    CHECK(refusal([&] { batch_lu_factor<double>(emulated_stream, matrix(4, 4), nullptr); }) ==
          "batch_lu_factor: info is missing (null)");
    CHECK(refusal([&] {
              batch_least_squares<double>(emulated_stream, matrix(3, 4), matrix(3, 1), info.data());
          }).find("B has 1 matrices of 3 x 1; allowed are as many as A has, 1 of 4 x 1") != std::string::npos);
    const std::vector<View<double>> list{View<double>::column_major(memory.data(), 3, 3, 3)};
    CHECK(refusal([&] {
              batch_lu_factor<double>(emulated_stream, BatchView<double>::matrices(list), info.data());
          }).find("lists matrices without bounds") != std::string::npos);
    CHECK(refusal([&] {
              batch_lu_factor<double>(emulated_stream, BatchView<double>::matrices(list, 513, 513), info.data());
          }).find("512 rows and columns at most") != std::string::npos);
    CHECK(refusal([&] {
              batch_lu_factor<double>(emulated_stream, BatchView<double>::matrices(list, 3, 4), info.data());
          }).find("square") != std::string::npos);
}
