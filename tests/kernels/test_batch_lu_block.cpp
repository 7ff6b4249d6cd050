// Batched LU as the threads of a GPU do it, one by one on the host, against LAPACKE.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/lu_block.hpp"
#include "kernels/cuda/batch/lu_small.hpp"
#include "kernels/cuda/batch/lu_tiles.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/batch_block_cases.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace device = basalt::cuda_detail::batch;

namespace {

/// Random matrices with right-hand sides, and LAPACKE's factors, solutions and inverses.
template <class T>
struct LuSystems {
    BatchMemory<T> a, b, factors, x, inverse;
    BatchMemory<Index> pivots;
    std::vector<int> info;

    LuSystems(Index n, Index count, Index cols, Index singular, bool pivoting)
        : a{count, n, n, 2}, b{count, n, cols, 3}, factors(a), x(b), inverse(a), pivots{count, n, 1} {
        fill_random(a);
        if (!pivoting) fill_dominant(a);
        for (Index k = 0; k < count; ++k) {
            for (Index i = 0; i < n; ++i) a[k](i, (i * 3 + k) % n) += static_cast<T>(pivoting ? 3 : 0);
            for (Index i = 0; i < n && k == 0 && singular > 0; ++i) a[k](i, singular - 1) = T{};
            fill_sides(b[k], k);
        }
        factors.values = inverse.values = a.values;
        x.values = b.values;
        for (Index k = 0; k < count; ++k) {
            std::vector<lapack_int> ipiv;
            info.push_back(static_cast<int>(pivoting ? oracle_getrf(factors[k], ipiv) : plain_factors(factors[k])));
            ipiv.resize(static_cast<std::size_t>(n));
            for (Index i = 0; i < n; ++i) {
                if (!pivoting) ipiv[static_cast<std::size_t>(i)] = static_cast<lapack_int>(i + 1);
                pivots[k](i, 0) = ipiv[static_cast<std::size_t>(i)];
            }
            inverse.values = factors.values;
            if (info.back() == 0) oracle_getrs(factors[k], ipiv, x[k]);
        }
        for (Index k = 0; k < count; ++k) {
            std::vector<lapack_int> ipiv;
            for (Index i = 0; i < n; ++i) ipiv.push_back(static_cast<lapack_int>(pivots[k](i, 0)));
            oracle_getri(inverse[k], ipiv);
        }
    }

    static Index plain_factors(View<T> a) {
        for (Index k = 0; k < a.rows(); ++k) {
            for (Index i = k + 1; i < a.rows(); ++i) {
                a(i, k) /= a(k, k);
                for (Index j = k + 1; j < a.cols(); ++j) a(i, j) -= a(i, k) * a(k, j);
            }
        }
        return 0;
    }
};

enum class LuCall { factor, unpivoted, solve, both, invert };

template <class T, class Shape>
std::vector<device::SmallRows<T, Shape>> unread_rows() {
    std::vector<device::SmallRows<T, Shape>> memory(Shape::in_warp);
    for (auto& one : memory) {
        std::fill_n(&one.rows[0][0], Shape::order * one.ld, std::numeric_limits<T>::quiet_NaN());
        std::fill_n(&one.sides[0][0], 8, std::numeric_limits<T>::quiet_NaN());
        std::fill_n(&one.reciprocals[0], 2, std::numeric_limits<T>::quiet_NaN());
    }
    return memory;
}

/// One warp, its last matrix missing if it has several.
template <int most, int sides, class T>
void check_lu_small(int n, int cols, int singular, LuCall call, bool backwards) {
    using Shape = device::SmallShape<T, most>;
    const int count = Shape::in_warp > 1 ? Shape::in_warp - 1 : 1;
    LuSystems<T> s(n, count, cols, singular, call != LuCall::unpivoted);
    const bool has_factors = call == LuCall::solve || call == LuCall::invert;
    BatchMemory<T> a = has_factors ? s.factors : s.a, b = s.b, inverse{count, n, n, 1};
    BatchMemory<Index> pivots = has_factors ? s.pivots : BatchMemory<Index>{count, n, 1};
    std::vector<int> info(static_cast<std::size_t>(count), -1);
    auto memory = unread_rows<T, Shape>();
    EmulatedBlock(1, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const int k = thread.lane / Shape::own_lanes;
        const bool there = k < count;
        const auto own = there ? device::whole(a[k]) : device::Whole<T>{nullptr, 1, 0, 0};
        const device::Whole<const T> factors{own.a, own.ld, own.rows, own.cols};
        auto& mine = memory[static_cast<std::size_t>(k)];
        Index* const ipiv = there ? pivots[k].data() : nullptr;
        const auto right = right_of(b, there ? k : 0);
        int failed = s.info[static_cast<std::size_t>(there ? k : 0)];
        if (call == LuCall::factor)
            failed = device::lu_factor_small<Shape, device::Pivoting::partial>(thread, mine, own, ipiv);
        if (call == LuCall::unpivoted)
            failed = device::lu_factor_small<Shape, device::Pivoting::none>(thread, mine, own, nullptr);
        if (call == LuCall::solve) device::lu_solve_small<Shape, sides>(thread, mine, factors, ipiv, right);
        if (call == LuCall::both) {
            failed = device::lu_factor_solve_small<Shape>(thread, mine, own, ipiv, right.b);
        }
        if (call == LuCall::invert) {
            const auto to = there ? device::whole(inverse[k]) : device::Whole<T>{nullptr, 1, 0, 0};
            failed = device::lu_invert_small<Shape, sides>(thread, mine, factors, ipiv, to);
        }
        if (there && thread.lane % Shape::own_lanes == 0) info[static_cast<std::size_t>(k)] = failed;
    });
    INFO("order " << n << " in " << most << ", " << cols << " right-hand sides, call " << static_cast<int>(call));
    CHECK(info == s.info);
    check_near(a, s.factors, s.info, call == LuCall::factor || call == LuCall::both);
    if (call != LuCall::unpivoted) CHECK(pivots.values == s.pivots.values);
    if (call == LuCall::solve || call == LuCall::both) check_near(b, s.x, s.info, call == LuCall::both);
    if (call == LuCall::invert) check_near(inverse, s.inverse, s.info, false);
}

template <int most, class T>
void check_lu_small_orders(int least) {
    for (int n = least; n <= most; ++n) {
        check_lu_small<most, 1, T>(n, 1, 0, LuCall::factor, false);
        check_lu_small<most, 1, T>(n, 1, 0, LuCall::unpivoted, true);
        check_lu_small<most, 1, T>(n, 1, 0, LuCall::both, true);
        check_lu_small<most, 1, T>(n, 1, (n + 1) / 2, LuCall::both, false);
        check_lu_small<most, 4, T>(n, 5, 0, LuCall::solve, true);
        check_lu_small<most, 4, T>(n, 1, n % 2 == 0 ? n : 0, LuCall::invert, false);
        check_lu_small<most, 1, T>(n, 1, n, LuCall::factor, true);
    }
}

template <device::Residence residence, int width, class T>
void check_lu_block(int n, int singular, LuCall call, bool backwards) {
    LuSystems<T> s(n, 1, 3, singular, call != LuCall::unpivoted);
    const bool has_factors = call == LuCall::solve || call == LuCall::invert;
    BatchMemory<T> a = has_factors ? s.factors : s.a, b = s.b, inverse{1, n, n, 1};
    BatchMemory<Index> pivots = has_factors ? s.pivots : BatchMemory<Index>{1, n, 1};
    std::vector<int> info{-1};
    auto raw = unread_memory<T>(
        std::max(device::LuBlockMemory<T, width>::bytes(n, residence), device::LuSolveMemory<T, 2>::bytes(n)));
    EmulatedBlock(device::lu_block_threads(n) / device::lanes, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const auto own = device::whole(a[0]);
        const device::Whole<const T> factors{own.a, own.ld, own.rows, own.cols};
        const device::LuBlockMemory<T, width> memory(raw.data(), n, residence);
        const device::LuSolveMemory<T, 2> solving(raw.data(), n);
        int failed = s.info[0];
        if (call == LuCall::factor) {
            failed = device::lu_factor_block<residence>(thread, memory, own, pivots.data());
        } else if (call == LuCall::unpivoted) {
            failed = device::lu_factor_block<residence>(thread, memory, own, static_cast<Index*>(nullptr));
        } else if (call == LuCall::solve) {
            device::lu_solve_block(thread, solving, factors, pivots.data(), right_of(b, 0));
        } else {
            failed = device::lu_invert_block(thread, solving, factors, pivots.data(), device::whole(inverse[0]));
        }
        if (thread.warp == 0 && thread.lane == 0) info[0] = failed;
    });
    INFO("order " << n << ", width " << width << ", call " << static_cast<int>(call));
    CHECK(info == s.info);
    check_near(a, s.factors, s.info, true);
    if (call != LuCall::unpivoted) CHECK(pivots.values == s.pivots.values);
    if (call == LuCall::solve) check_near(b, s.x, s.info, false);
    if (call == LuCall::invert) check_near(inverse, s.inverse, s.info, false);
}

template <int width, class T>
void check_lu_block_orders() {
    for (const int n : {33, 40, 64, 65, 97}) {
        check_lu_block<device::Residence::shared, width, T>(n, 0, LuCall::factor, n % 2 == 0);
        check_lu_block<device::Residence::global, width, T>(n, n % 2 == 0 ? n - 2 : 0, LuCall::factor, n % 2 == 1);
        check_lu_block<device::Residence::shared, width, T>(n, 0, LuCall::unpivoted, true);
    }
}

/// The factors and pivots of one matrix by tiles; returns INFO. `pivots` is empty without pivoting.
template <class T>
int factor_by_tiles(View<T> a, std::vector<Index>& pivots, bool backwards) {
    const int n = static_cast<int>(a.rows());
    auto raw = unread_memory<T>(device::LuTileMemory<T>::bytes(n));
    int info = -1;
    EmulatedBlock(device::lu_block_threads(n) / device::lanes, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const device::LuTileMatrix<T> own{a.data(), n, static_cast<int>(a.col_stride())};
        const int failed = device::lu_factor_tiles(thread, device::LuTileMemory<T>(raw.data(), n), own,
                                                   pivots.empty() ? nullptr : pivots.data());
        if (thread.warp == 0 && thread.lane == 0) info = failed;
    });
    return info;
}

template <class T>
void check_lu_tiles(int n, int singular, LuCall call, bool backwards) {
    const int parts = backwards ? 1 : 2;
    LuSystems<T> s(n, 1, 35, singular, call != LuCall::unpivoted);
    INFO("order " << n << ", call " << static_cast<int>(call) << (singular > 0 ? ", singular" : ""));
    if (call == LuCall::solve) {
        for (int part = 0; part < parts; ++part) {
            auto raw = unread_memory<T>(device::SolveTilesMemory<T>::bytes(n));
            EmulatedBlock(device::lu_block_threads(n) / device::lanes, backwards)
                .run([&](const EmulatedBlock::Thread& thread) {
                    const auto own = device::whole(s.factors[0]);
                    device::lu_solve_tiles(thread, device::SolveTilesMemory<T>(raw.data()),
                                           device::Whole<const T>{own.a, own.ld, own.rows, own.cols}, s.pivots.data(),
                                           right_of(s.b, 0), {part, parts});
                });
        }
        return check_near(s.b, s.x, s.info, false);
    }
    std::vector<Index> pivots(static_cast<std::size_t>(call == LuCall::unpivoted ? 0 : n), -7);
    CHECK(factor_by_tiles(s.a[0], pivots, backwards) == s.info[0]);
    check_near(s.a, s.factors, s.info, true);
    if (call != LuCall::unpivoted) CHECK(pivots == s.pivots.values);
}

/// Elimination as LAPACK's getf2 does it: NaN on the diagonal is the pivot, elsewhere it is not.
template <class T>
int plain_elimination(View<T> a, std::vector<Index>& pivots) {
    int info = 0;
    for (Index k = 0; k < a.rows(); ++k) {
        Index chosen = k;
        for (Index i = k + 1; i < a.rows(); ++i) {
            if (std::abs(a(i, k)) > std::abs(a(chosen, k))) chosen = i;
        }
        pivots.push_back(chosen + 1);
        for (Index j = 0; j < a.cols() && chosen != k; ++j) std::swap(a(k, j), a(chosen, j));
        if (info == 0 && a(k, k) == T{0}) info = static_cast<int>(k + 1);
        for (Index i = k + 1; i < a.rows(); ++i) {
            if (std::abs(a(k, k)) < std::numeric_limits<T>::min()) {
                if (a(k, k) != T{0}) a(i, k) /= a(k, k);
            } else {
                a(i, k) *= T{1} / a(k, k);
            }
            for (Index j = k + 1; j < a.cols(); ++j) a(i, j) -= a(i, k) * a(k, j);
        }
    }
    return info;
}

/// Whether two numbers are NaN, the same infinity, or near.
template <class T>
bool alike(T x, T y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y || std::abs(x - y) <= T(1e-3) * (1 + std::abs(y));
}

}  // namespace

TEMPLATE_TEST_CASE("lanes with a row each have the LU of several small matrices", "[kernels]", float, double) {
    check_lu_small_orders<4, TestType>(1);
    check_lu_small_orders<8, TestType>(5);
    check_lu_small_orders<16, TestType>(9);
    check_lu_small_orders<24, TestType>(17);
    check_lu_small_orders<32, TestType>(25);
}

TEMPLATE_TEST_CASE("a block of threads has the LU of a matrix by panels", "[kernels]", float, double) {
    check_lu_block_orders<8, TestType>();
    check_lu_block_orders<16, TestType>();
    check_lu_block_orders<32, TestType>();
    for (const int n : {33, 64, 100}) {
        check_lu_block<device::Residence::global, 16, TestType>(n, 0, LuCall::solve, n % 2 == 0);
        check_lu_block<device::Residence::global, 16, TestType>(n, n == 64 ? 20 : 0, LuCall::invert, n % 2 == 1);
    }
    check_lu_block<device::Residence::global, 16, TestType>(300, 0, LuCall::factor, false);
}

TEMPLATE_TEST_CASE("a block of as many threads as rows has the LU by panels that the order is no multiple of",
                   "[kernels]", float, double) {
    for (const LuCall call : {LuCall::factor, LuCall::unpivoted}) {
        check_lu_block<device::Residence::shared, 24, TestType>(64, 0, call, false);
        check_lu_block<device::Residence::global, 24, TestType>(64, 0, call, true);
        check_lu_block<device::Residence::shared, 20, TestType>(96, 0, call, true);
        check_lu_block<device::Residence::global, 13, TestType>(96, 0, call, false);
    }
    check_lu_block<device::Residence::shared, 24, TestType>(64, 63, LuCall::factor, true);
    check_lu_block<device::Residence::global, 7, TestType>(32, 32, LuCall::factor, false);
}

TEMPLATE_TEST_CASE("a block of threads has the LU of a matrix by tiles", "[kernels]", float, double) {
    for (const int n : {33, 40, 64, 65, 97, 131}) {
        check_lu_tiles<TestType>(n, 0, LuCall::factor, n % 2 == 0);
        check_lu_tiles<TestType>(n, n % 3 == 0 ? n - 2 : n / 2, LuCall::factor, n % 2 == 1);
        check_lu_tiles<TestType>(n, 0, LuCall::unpivoted, n % 2 == 1);
        check_lu_tiles<TestType>(n, 0, LuCall::solve, n % 2 == 0);
    }
    check_lu_tiles<TestType>(300, 0, LuCall::factor, false);
    check_lu_tiles<TestType>(257, 0, LuCall::solve, true);
}

namespace {

/// factor(a, pivots) is to have LAPACK's pivots among equals, and its NaN and infinities.
template <class T, class Factor>
void check_unusual_pivots(Index n, const Factor& factor) {
    using Limits = std::numeric_limits<T>;
    struct Mark {
        Index row, column;
        T value;
    };
    for (Mark mark : {Mark{0, 0, T{1}}, Mark{0, 0, Limits::quiet_NaN()}, Mark{41, 3, Limits::quiet_NaN()},
                      Mark{5, 50, Limits::infinity()}, Mark{20, 20, -Limits::infinity()},
                      Mark{69, 69, Limits::quiet_NaN()}, Mark{7, 2, Limits::denorm_min() * 8}}) {
        mark.row %= n;
        mark.column %= n;
        BatchMemory<T> a{1, n, n, 3};
        unsigned state = 5;
        for (Index j = 0; j < n; ++j) {  // few values, so that many magnitudes are equal
            for (Index i = 0; i < n; ++i) {
                a[0](i, j) = static_cast<T>(static_cast<int>((state = state * 69069U + 1U) >> 30) - 1);
            }
        }
        const bool tiny = mark.value > 0 && mark.value < Limits::min();
        for (Index i = 0; i < n && tiny; ++i) a[0](i, mark.column) = Limits::denorm_min() * static_cast<T>(i % 7);
        a[0](mark.row, mark.column) = mark.value;
        BatchMemory<T> expected = a;
        std::vector<Index> pivots(static_cast<std::size_t>(n)), expected_pivots;
        INFO("order " << n << ", element (" << mark.row << ", " << mark.column << ") is " << mark.value);
        CHECK(factor(a[0], pivots) == plain_elimination(expected[0], expected_pivots));
        // a growing error decides between magnitudes that are equal without it
        const std::ptrdiff_t sure = 6;
        CHECK(std::equal(pivots.begin(), pivots.begin() + sure, expected_pivots.begin()));
        if (pivots != expected_pivots) continue;
        bool same = true;
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) same = same && alike(a[0](i, j), expected[0](i, j));
        }
        CHECK(same);
    }
}

/// One warp, with copies of the matrix as its others.
template <int most, class T>
int factor_small(View<T> a, std::vector<Index>& pivots) {
    using Shape = device::SmallShape<T, most>;
    BatchMemory<T> copies{Shape::in_warp, a.rows(), a.cols(), 1};
    BatchMemory<Index> places{Shape::in_warp, a.rows(), 1};
    const auto copy = [](View<const T> from, View<T> to) {
        for (Index j = 0; j < from.cols(); ++j) {
            for (Index i = 0; i < from.rows(); ++i) to(i, j) = from(i, j);
        }
    };
    for (Index k = 0; k < Shape::in_warp; ++k) copy(a, copies[k]);
    auto memory = unread_rows<T, Shape>();
    int info = 0;
    EmulatedBlock(1, false).run([&](const EmulatedBlock::Thread& thread) {
        const int k = thread.lane / Shape::own_lanes;
        info = device::lu_factor_small<Shape, device::Pivoting::partial>(thread, memory[static_cast<std::size_t>(k)],
                                                                         device::whole(copies[k]), places[k].data());
    });
    copy(copies[Shape::in_warp - 1], a);
    pivots.assign(places[Shape::in_warp - 1].data(), places[Shape::in_warp - 1].data() + a.rows());
    return info;
}

}  // namespace

TEMPLATE_TEST_CASE("LU has LAPACK's pivots among equals, and its NaN and infinities", "[kernels]", float, double) {
    using T = TestType;
    check_unusual_pivots<T>(70, [](View<T> a, std::vector<Index>& pivots) { return factor_by_tiles(a, pivots, true); });
    check_unusual_pivots<T>(8, factor_small<8, T>);
    check_unusual_pivots<T>(13, factor_small<16, T>);
    check_unusual_pivots<T>(29, factor_small<32, T>);
}
