// Batched Cholesky with matrices in the registers of lanes, as the threads of a GPU do it, one by one on the host,
// against LAPACKE.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/cholesky_lanes.hpp"
#include "tests/kernels/batch_systems.hpp"
#include "tests/kernels/emulated_block.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// One warp, its last matrix missing if it has several; with one right-hand side. Orders are as those of Systems.
template <int most, int own_lanes, class T>
void check_lanes(int n, Triangle triangle, int bad, Call call, int apart) {
    using Shape = device::TriangleShape<T, most, own_lanes>;
    const int count = Shape::in_warp > 1 ? Shape::in_warp - 1 : 1;
    Systems<T> s(n, count, 1, triangle, 0, bad, apart);
    std::vector<T> a = call == Call::solve ? s.l : s.a, b = s.b;
    std::vector<int> info(static_cast<std::size_t>(count), -1);
    std::vector<device::TriangleBoth<T, Shape>> memory(Shape::in_warp);
    for (auto& one : memory) {
        std::fill(std::begin(one.columns), std::end(one.columns), unread<T>);
        std::fill(std::begin(one.l), std::end(one.l), unread<T>);
    }
    std::vector<device::TriangleRows<T, Shape>> turned(Shape::in_warp);
    for (auto& one : turned) std::fill(std::begin(one.rows), std::end(one.rows), unread<T>);
    EmulatedBlock(1, false).run([&](const EmulatedBlock::Thread& thread) {
        const int k = thread.lane / Shape::own_lanes;
        const bool there = k < count;
        const auto own = there ? s.operand(a, k) : device::Operand<T>{nullptr, 0, 0, 0};
        T* const right = there ? s.right(b, k).b : nullptr;
        auto& mine = memory[static_cast<std::size_t>(k)];
        const auto output = call == Call::both ? device::FactorOutput::keep : device::FactorOutput::discard;
        int failed = 0;
        if (call == Call::factor) {
            failed = device::factor_in_lanes<Shape>(thread, static_cast<device::TriangleColumns<T, Shape>&>(mine), own);
        } else if (call == Call::solve) {
            const device::Operand<const T> factor{own.a, own.down, own.across, own.n};
            device::solve_in_lanes<Shape>(thread, turned[static_cast<std::size_t>(k)], factor, right);
        } else {
            failed = device::factor_solve_in_lanes<Shape>(thread, mine, own, output, right);
        }
        if (there && thread.lane % Shape::own_lanes == 0) info[static_cast<std::size_t>(k)] = failed;
    });
    INFO("order " << n << ", less " << apart << " each, in " << most << " by " << own_lanes << " lanes, call "
                  << static_cast<int>(call));
    check_results(s, call, a, b, info);
}

template <int most, class T>
void check_orders_in_lanes(int least) {
    constexpr int to_factor = device::lanes_to_factor(most), to_solve = device::lanes_to_solve<T>(most);
    for (int n = least; n <= most; n += n < most && n + 3 > most ? most - n : 3) {
        const Triangle triangle = n % 2 == 0 ? Triangle::lower : Triangle::upper;
        const int apart = n % 3;
        check_lanes<most, to_solve, T>(n, triangle, 0, Call::solve, apart);
        for (const Call call : {Call::factor, Call::both, Call::both_discarding}) {
            check_lanes<most, to_factor, T>(n, triangle, 0, call, apart);
            check_lanes<most, to_factor, T>(n, triangle, (n + 1) / 2, call, 2 - apart);
            if (n == most) check_lanes<most, to_factor, T>(n, Triangle::lower, n, call, 0);
        }
    }
}

}  // namespace

TEMPLATE_TEST_CASE("lanes with several rows each factor and solve matrices", "[kernels]", float, double) {
    check_orders_in_lanes<4, TestType>(1);
    check_orders_in_lanes<8, TestType>(5);
    check_orders_in_lanes<12, TestType>(9);
    check_orders_in_lanes<16, TestType>(9);
    check_orders_in_lanes<20, TestType>(17);
    check_orders_in_lanes<24, TestType>(17);
    check_orders_in_lanes<28, TestType>(25);
    check_orders_in_lanes<32, TestType>(25);
    check_orders_in_lanes<36, TestType>(33);
    check_orders_in_lanes<40, TestType>(35);
    check_orders_in_lanes<48, TestType>(43);
    check_orders_in_lanes<64, TestType>(59);
    if constexpr (sizeof(TestType) == 4) {
        check_orders_in_lanes<80, TestType>(75);
        check_orders_in_lanes<84, TestType>(81);
        check_orders_in_lanes<96, TestType>(91);
    }
}

TEMPLATE_TEST_CASE("pivots of any size have their roots", "[kernels]", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    using Shape = device::TriangleShape<T, 8, 8>;
    const T pivots[] = {Limits::denorm_min(), Limits::min() / 4, Limits::min(), T{1}, T{2},
                        Limits::max() / 3,    Limits::max()};
    for (const T pivot : pivots) {
        T a[4] = {pivot, pivot / 2, 0, 1};
        int failed = -1;
        std::vector<device::TriangleColumns<T, Shape>> memory(Shape::in_warp);
        EmulatedBlock(1, false).run([&](const EmulatedBlock::Thread& thread) {
            const int k = thread.lane / Shape::own_lanes;
            const device::Operand<T> own{a, 1, 2, k == 0 && pivot <= T{2} ? 2 : k == 0 ? 1 : 0};
            const int result = device::factor_in_lanes<Shape>(thread, memory[static_cast<std::size_t>(k)], own);
            if (thread.lane == 0) failed = result;
        });
        INFO(pivot);
        CHECK(failed == 0);
        CHECK(std::abs(a[0] - std::sqrt(pivot)) <= 4 * Limits::epsilon() * std::sqrt(pivot));
    }
}
