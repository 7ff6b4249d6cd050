// Batched Cholesky as the threads of a GPU do it, one by one on the host, against LAPACKE.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/small.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "tests/kernels/batch_systems.hpp"
#include "tests/kernels/emulated_block.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace device = basalt::cuda_detail::batch;

namespace {

/// One warp, its last matrix missing if it has several.
template <int most, int sides, class T>
void check_small(int n, int cols, Triangle triangle, int bad, Call call, bool backwards) {
    using Shape = device::SmallShape<T, most>;
    const int count = Shape::in_warp > 1 ? Shape::in_warp - 1 : 1;
    Systems<T> s(n, count, cols, triangle, 0, bad);
    std::vector<T> a = call == Call::solve ? s.l : s.a, b = s.b;
    std::vector<int> info(static_cast<std::size_t>(count), -1);
    std::vector<device::SmallBoth<T, Shape>> memory(Shape::in_warp);
    for (auto& one : memory) {
        std::fill(std::begin(one.columns), std::end(one.columns), unread<T>);
        std::fill(std::begin(one.l), std::end(one.l), unread<T>);
    }
    EmulatedBlock(1, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const int k = thread.lane / Shape::own_lanes;
        const bool there = k < count;
        const auto own = there ? s.operand(a, k) : device::Operand<T>{nullptr, 0, 0, 0};
        const auto right = s.right(b, there ? k : 0);
        auto& mine = memory[static_cast<std::size_t>(k)];
        const auto output = call == Call::both ? device::FactorOutput::keep : device::FactorOutput::discard;
        int failed = 0;
        if (call == Call::solve) {
            const device::Operand<const T> factor{own.a, own.down, own.across, own.n};
            device::load_solve_small<Shape, sides>(thread, static_cast<device::SmallFactor<T, Shape>&>(mine), factor,
                                                   right);
        } else {
            failed = device::factor_solve_small<Shape, sides>(thread, mine, own, output, right);
        }
        if (there && thread.lane % Shape::own_lanes == 0) info[static_cast<std::size_t>(k)] = failed;
    });
    INFO("order " << n << " in " << most << ", " << cols << " right-hand sides, call " << static_cast<int>(call));
    check_results(s, call, a, b, info);
}

template <device::Residence residence, int width, int sides, class T>
void check_panels(int n, int cols, Triangle triangle, int bad, Call call, bool backwards) {
    Systems<T> s(n, 1, cols, triangle, 0, bad);
    std::vector<T> a = call == Call::solve ? s.l : s.a, b = s.b;
    std::vector<int> info{-1};
    const int order = device::padded_order(n, width);
    const std::size_t bytes = device::PanelMemory<T, width>::bytes(order, sides, residence);
    std::vector<device::Chunk<T>> raw(bytes / 16);
    for (auto& chunk : raw) std::fill(std::begin(chunk.value), std::end(chunk.value), unread<T>);
    EmulatedBlock(device::panel_threads(n, width) / device::lanes, backwards)
        .run([&](const EmulatedBlock::Thread& thread) {
            const device::PanelMemory<T, width> memory(raw.data(), order, sides);
            const auto own = s.operand(a, 0);
            const auto right = s.right(b, 0);
            const auto output = call == Call::both ? device::FactorOutput::keep : device::FactorOutput::discard;
            int failed = 0;
            if (call == Call::factor) {
                failed = device::factor_panels<residence>(thread, memory, own, device::FactorOutput::keep);
            } else if (call == Call::solve) {
                const device::Operand<const T> factor{own.a, own.down, own.across, own.n};
                device::load_solve_panels<residence, width, sides>(thread, memory, factor, right);
            } else {
                failed = device::factor_solve_panels<width, sides>(thread, memory, own, output, right);
            }
            if (thread.warp == 0 && thread.lane == 0) info[0] = failed;
        });
    INFO("order " << n << ", width " << width << ", " << cols << " right-hand sides, call " << static_cast<int>(call));
    check_results(s, call, a, b, info);
}

/// INFO of the only system.
template <device::Registers registers>
int factor_by_tiles(const Systems<double>& s, std::vector<double>& a, bool backwards) {
    int info = -1;
    std::vector<device::Chunk<double>> raw(device::CholeskyTileMemory::bytes() / 16 + 1);
    for (auto& chunk : raw) std::fill(std::begin(chunk.value), std::end(chunk.value), unread<double>);
    EmulatedBlock(device::panel_threads(s.n, device::lanes) / device::lanes, backwards)
        .run([&](const EmulatedBlock::Thread& thread) {
            const device::CholeskyTileMemory memory{reinterpret_cast<double*>(raw.data())};
            const int failed =
                device::cholesky_factor_tiles<registers>(thread, memory, device::CountedOperand(s.operand(a, 0)));
            if (thread.number == 0) info = failed;
        });
    return info;
}

template <device::Registers registers>
void check_factor_by_tiles(int n, Triangle triangle, int bad, bool backwards) {
    const Systems<double> s(n, 1, 1, triangle, 0, bad);
    std::vector<double> a = s.a;
    const std::vector<int> info{factor_by_tiles<registers>(s, a, backwards)};
    INFO("order " << n << ", pivot " << bad << " fails");
    check_results(s, Call::factor, a, s.b, info);
}

template <class T>
void check_solve_by_tiles(int n, int cols, int parts, Triangle triangle, bool backwards) {
    Systems<T> s(n, 1, cols, triangle, 0, 0);
    std::vector<T> a = s.l, b = s.b;
    const std::size_t bytes = device::SolveTilesMemory<T>::bytes(n);
    std::vector<device::Chunk<T>> raw(bytes / 16 + 1);
    for (int part = 0; part < parts; ++part) {
        for (auto& chunk : raw) std::fill(std::begin(chunk.value), std::end(chunk.value), unread<T>);
        EmulatedBlock(device::panel_threads(n, device::lanes) / device::lanes, backwards)
            .run([&](const EmulatedBlock::Thread& thread) {
                const auto own = s.operand(a, 0);
                device::cholesky_solve_tiles(thread, device::SolveTilesMemory<T>(raw.data()),
                                             device::Operand<const T>{own.a, own.down, own.across, own.n},
                                             s.right(b, 0), {part, parts});
            });
    }
    INFO("order " << n << ", " << cols << " right-hand sides");
    check_results(s, Call::solve, a, b, s.info);
}

constexpr Call calls[] = {Call::factor, Call::solve, Call::both, Call::both_discarding};

template <int most, class T>
void check_small_orders(int least) {
    for (int n = least; n <= most; ++n) {
        for (const Call call : {Call::solve, Call::both, Call::both_discarding}) {
            check_small<most, 4, T>(n, 5, n % 2 == 0 ? Triangle::lower : Triangle::upper, 0, call, true);
            if (call != Call::solve) check_small<most, 4, T>(n, 2, Triangle::lower, (n + 1) / 2, call, false);
        }
    }
}

template <int width, class T>
void check_panel_orders() {
    for (const int n : {33, 40, 64, 65, 97}) {
        for (const Call call : calls) {
            check_panels<device::Residence::shared, width, 1, T>(n, 1, Triangle::lower, 0, call, n % 2 == 0);
            check_panels<device::Residence::shared, width, 4, T>(n, 3, Triangle::upper, 0, call, n % 2 == 1);
            if (call != Call::solve)
                check_panels<device::Residence::shared, width, 1, T>(n, 1, Triangle::lower, n - 1, call, false);
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("lanes with a row each factor and solve for several right-hand sides", "[kernels]", float, double) {
    check_small_orders<4, TestType>(1);
    check_small_orders<8, TestType>(5);
    check_small_orders<16, TestType>(9);
    check_small_orders<24, TestType>(17);
    check_small_orders<32, TestType>(25);
}

TEMPLATE_TEST_CASE("a block of threads factors and solves a matrix by panels", "[kernels]", float, double) {
    check_panel_orders<8, TestType>();
    check_panel_orders<16, TestType>();
    check_panel_orders<32, TestType>();
}

TEMPLATE_TEST_CASE("a block of threads factors and solves what its shared memory does not hold", "[kernels]", float,
                   double) {
    for (const Call call : {Call::factor, Call::solve}) {
        check_panels<device::Residence::global, 16, 4, TestType>(70, 2, Triangle::lower, 0, call, false);
        check_panels<device::Residence::global, 16, 1, TestType>(128, 1, Triangle::upper, 0, call, true);
        check_panels<device::Residence::global, 8, 4, TestType>(70, 5, Triangle::upper, 0, call, false);
        check_panels<device::Residence::global, 8, 1, TestType>(131, 1, Triangle::lower, 0, call, true);
    }
    check_panels<device::Residence::global, 16, 1, TestType>(70, 1, Triangle::lower, 40, Call::factor, false);
}

TEST_CASE("a block of threads factors doubles by tiles", "[kernels]") {
    for (const int n : {33, 47, 64, 65, 97, 129, 160, 256}) {
        check_factor_by_tiles<device::Registers::few>(n, Triangle::lower, 0, n % 2 == 0);
        check_factor_by_tiles<device::Registers::many>(n, Triangle::upper, 0, n % 2 == 1);
    }
    for (const int bad : {1, 9, 32, 33, 64, 70}) {
        check_factor_by_tiles<device::Registers::few>(70, Triangle::lower, bad, bad % 2 == 0);
        check_factor_by_tiles<device::Registers::many>(70, Triangle::upper, bad, bad % 2 == 1);
    }
}

TEST_CASE("rows below an ill-conditioned tile are as accurate as by substitution", "[kernels]") {
    constexpr int n = 72;
    std::vector<double> a(static_cast<std::size_t>(n) * n), raw(device::CholeskyTileMemory::bytes() / sizeof(double));
    const auto element = [](int i, int j) { return std::exp(-(i - j) * (i - j) / 200.0) + (i == j ? 3e-13 : 0.0); };
    for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) a[static_cast<std::size_t>(i + j * n)] = element(i, j);
    }
    int info = -1;
    EmulatedBlock(3, false).run([&](const EmulatedBlock::Thread& thread) {
        const device::CountedOperand own(device::Operand<double>{a.data(), 1, n, n});
        const int failed =
            device::cholesky_factor_tiles<device::Registers::few>(thread, device::CholeskyTileMemory{raw.data()}, own);
        if (thread.warp == 0 && thread.lane == 0) info = failed;
    });
    REQUIRE(info == 0);
    double error = 0;
    for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) {
            double rest = element(i, j);
            for (int k = 0; k <= j; ++k)
                rest -= a[static_cast<std::size_t>(i + k * n)] * a[static_cast<std::size_t>(j + k * n)];
            error = std::max(error, std::abs(rest));
        }
    }
    CHECK(error <= 16 * std::numeric_limits<double>::epsilon());
}

TEMPLATE_TEST_CASE("a block of threads solves for a tile of right-hand sides at once", "[kernels]", float, double) {
    for (const int n : {33, 40, 64, 96, 131}) {
        check_solve_by_tiles<TestType>(n, 2, 2, Triangle::lower, n % 2 == 0);
        check_solve_by_tiles<TestType>(n, 50, 1, Triangle::upper, n % 2 == 1);
        check_solve_by_tiles<TestType>(n, 19, 2, Triangle::upper, n % 2 == 0);
    }
}

TEMPLATE_TEST_CASE("pivots of any size have their roots with a row to a lane", "[kernels]", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    using Shape = device::SmallShape<T, 4>;
    for (const T pivot : {Limits::denorm_min(), Limits::min() / 4, Limits::min(), T{2}, Limits::max() / 3,
                          Limits::max(), Limits::infinity()}) {
        T a = pivot;
        int failed = -1;
        std::vector<device::SmallColumns<T, Shape>> memory(Shape::in_warp);
        EmulatedBlock(1, false).run([&](const EmulatedBlock::Thread& thread) {
            const int k = thread.lane / Shape::own_lanes;
            T row[Shape::order];
            const device::Operand<T> own{&a, 1, 1, k == 0 ? 1 : 0};
            const int result = device::factor_small<Shape>(thread, memory[static_cast<std::size_t>(k)], own,
                                                           device::FactorOutput::keep, row);
            if (thread.lane == 0) failed = result;
        });
        INFO(pivot);
        CHECK(failed == 0);
        if (pivot <= Limits::max()) CHECK(std::abs(a - std::sqrt(pivot)) <= 4 * Limits::epsilon() * std::sqrt(pivot));
    }
}

TEST_CASE("an infinite last pivot of tiles does not fail, and neither does the padding", "[kernels]") {
    constexpr int n = 70;
    Systems<double> s(n, 1, 1, Triangle::lower, 0, 0);
    std::vector<double> a = s.a;
    *s.operand(a, 0).at(n - 1, n - 1) = std::numeric_limits<double>::infinity();
    CHECK(factor_by_tiles<device::Registers::few>(s, a, false) == 0);
}
