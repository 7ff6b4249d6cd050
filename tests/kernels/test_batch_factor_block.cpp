// Batched LU and QR as the threads of a GPU do them, one by one on the host, against LAPACKE.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/lu_block.hpp"
#include "kernels/cuda/batch/lu_small.hpp"
#include "kernels/cuda/batch/qr_block.hpp"
#include "kernels/cuda/batch/qr_small.hpp"
#include "tests/common/catch.hpp"
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

template <class T>
device::RightSides<T> right_of(BatchMemory<T>& b, Index k) {
    return {b[k].data(), b.ld(), b.cols};
}

/// Compares what belongs to matrix k, and the memory around all of them.
template <class T>
void check_near(BatchMemory<T>& values, BatchMemory<T>& expected, const std::vector<int>& info, bool also_failed) {
    double worst = 0;
    for (Index k = 0; k < values.count; ++k) {
        if (info[static_cast<std::size_t>(k)] != 0 && !also_failed) continue;
        worst = std::max(worst, relative_difference(values[k], expected[k]));
    }
    CHECK(worst <= 20 * batch_tolerance<T>(values.rows));
    CHECK(gaps_untouched(values));
}

enum class LuCall { factor, unpivoted, solve, both, invert };

template <class T, class Shape>
std::vector<device::SmallRows<T, Shape>> unread_rows() {
    std::vector<device::SmallRows<T, Shape>> memory(Shape::in_warp);
    for (auto& one : memory) {
        std::fill_n(&one.rows[0][0], 2 * Shape::order, std::numeric_limits<T>::quiet_NaN());
        std::fill_n(&one.sides[0][0], 8, std::numeric_limits<T>::quiet_NaN());
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
        if (call == LuCall::factor) failed = device::lu_factor_small<Shape>(thread, mine, own, true, ipiv);
        if (call == LuCall::unpivoted) failed = device::lu_factor_small<Shape>(thread, mine, own, false, nullptr);
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

template <class T>
std::vector<device::Piece<T>> unread_memory(std::size_t bytes) {
    std::vector<device::Piece<T>> raw((bytes + 15) / 16);
    for (auto& piece : raw)
        std::fill(std::begin(piece.value), std::end(piece.value), std::numeric_limits<T>::quiet_NaN());
    return raw;
}

template <bool resident, int width, class T>
void check_lu_block(int n, int singular, LuCall call, bool backwards) {
    LuSystems<T> s(n, 1, 3, singular, call != LuCall::unpivoted);
    const bool has_factors = call == LuCall::solve || call == LuCall::invert;
    BatchMemory<T> a = has_factors ? s.factors : s.a, b = s.b, inverse{1, n, n, 1};
    BatchMemory<Index> pivots = has_factors ? s.pivots : BatchMemory<Index>{1, n, 1};
    std::vector<int> info{-1};
    auto raw = unread_memory<T>(
        std::max(device::LuBlockMemory<T, width>::bytes(n, resident), device::LuSolveMemory<T, 2>::bytes(n)));
    EmulatedBlock(device::lu_block_threads(n) / device::lanes, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const auto own = device::whole(a[0]);
        const device::Whole<const T> factors{own.a, own.ld, own.rows, own.cols};
        const device::LuBlockMemory<T, width> memory(raw.data(), n, resident);
        const device::LuSolveMemory<T, 2> solving(raw.data(), n);
        int failed = s.info[0];
        if (call == LuCall::factor) {
            failed = device::lu_factor_block<resident>(thread, memory, own, pivots.data());
        } else if (call == LuCall::unpivoted) {
            failed = device::lu_factor_block<resident>(thread, memory, own, static_cast<Index*>(nullptr));
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
        check_lu_block<true, width, T>(n, 0, LuCall::factor, n % 2 == 0);
        check_lu_block<false, width, T>(n, n % 2 == 0 ? n - 2 : 0, LuCall::factor, n % 2 == 1);
        check_lu_block<true, width, T>(n, 0, LuCall::unpivoted, true);
    }
}

// ---- QR -------------------------------------------------------------------------------------------------

/// Matrices with right-hand sides, and LAPACKE's factors, Q and least squares.
template <class T>
struct QrSystems {
    BatchMemory<T> a, b, factors, q, x, tau;
    std::vector<int> info;

    QrSystems(Index m, Index n, Index count, Index cols, Index deficient)
        : a{count, m, n, 2}, b{count, m, cols, 3}, factors(a), q(a), x(b), tau{count, std::min(m, n), 1} {
        fill_random(a);
        for (Index k = 0; k < count; ++k) {
            for (Index i = 0; i < std::min(m, n); ++i) a[k](i, i) += static_cast<T>(6);
            for (Index i = 0; i < m && k == 0 && deficient > 0; ++i) a[k](i, deficient - 1) = T{};
            fill_sides(b[k], k);
        }
        factors.values = q.values = a.values;
        x.values = b.values;
        for (Index k = 0; k < count; ++k) {
            info.push_back(deficient > 0 && k == 0 ? static_cast<int>(deficient) : 0);
            oracle_geqrf(factors[k], tau[k].data());
            BatchMemory<T> copy = a;
            if (m < n) continue;
            if (info.back() == 0) oracle_gels(copy[k], x[k]);
        }
        q.values = factors.values;
        for (Index k = 0; k < count && m >= n; ++k) oracle_orgqr(q[k], n, tau[k].data());
    }
};

enum class QrCall { factor, form, least_squares };

/// Solutions: the first n rows.
template <class T>
void check_solutions(BatchMemory<T>& b, QrSystems<T>& s) {
    for (Index k = 0; k < b.count; ++k) {
        if (s.info[static_cast<std::size_t>(k)] != 0) continue;
        CHECK(relative_difference(b[k].block(0, 0, s.a.cols, b.cols), s.x[k].block(0, 0, s.a.cols, b.cols)) <=
              20 * batch_tolerance<T>(b.rows));
    }
}

template <int most, class T>
void check_qr_small(int m, int n, int cols, int deficient, QrCall call, bool backwards) {
    using Shape = device::SmallShape<T, most>;
    const int count = Shape::in_warp > 1 ? Shape::in_warp - 1 : 1;
    QrSystems<T> s(m, n, count, cols, deficient);
    BatchMemory<T> a = call == QrCall::form ? s.factors : s.a, b = s.b;
    BatchMemory<T> tau = call == QrCall::form ? s.tau : BatchMemory<T>{count, std::min(m, n), 1};
    std::vector<int> info(static_cast<std::size_t>(count), -1);
    std::vector<device::SmallVectors<T, Shape>> memory(Shape::in_warp);
    EmulatedBlock(1, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const int k = thread.lane / Shape::own_lanes;
        const bool there = k < count;
        const auto own = there ? device::whole(a[k]) : device::Whole<T>{nullptr, 1, 0, 0};
        auto& mine = memory[static_cast<std::size_t>(k)];
        T* const scales = there ? tau[k].data() : nullptr;
        int failed = 0;
        const device::RightSides<T> none{nullptr, 1, 0};
        if (call == QrCall::factor) device::qr_factor_small<Shape>(thread, mine, own, scales, none);
        if (call == QrCall::form) device::qr_form_small<Shape>(thread, mine, own, scales, there ? n : 0);
        if (call == QrCall::least_squares) {
            failed =
                device::qr_factor_small<Shape>(thread, mine, own, static_cast<T*>(nullptr), right_of(b, there ? k : 0));
        }
        if (there && thread.lane % Shape::own_lanes == 0) info[static_cast<std::size_t>(k)] = failed;
    });
    INFO(m << " x " << n << " in " << most << ", call " << static_cast<int>(call));
    const std::vector<int> good(static_cast<std::size_t>(count), 0);
    check_near(a, call == QrCall::form ? s.q : s.factors, good, true);
    if (call == QrCall::factor) check_near(tau, s.tau, good, true);
    if (call == QrCall::least_squares) {
        CHECK(info == s.info);
        check_solutions(b, s);
    }
}

template <int most, class T>
void check_qr_small_orders(int least) {
    for (int m = least; m <= most; ++m) {
        check_qr_small<most, T>(m, m, 1, 0, QrCall::factor, m % 2 == 0);
        check_qr_small<most, T>(m, (m + 1) / 2, 1, 0, QrCall::factor, m % 2 == 1);
        check_qr_small<most, T>((m + 1) / 2, m, 1, 0, QrCall::factor, false);
        check_qr_small<most, T>(m, m - m / 3, 1, 0, QrCall::form, true);
        check_qr_small<most, T>(m, m - m / 3, 2, 0, QrCall::least_squares, false);
        check_qr_small<most, T>(m, m, most + 1, m, QrCall::least_squares, true);
    }
}

template <int width, int parts, class T>
void check_qr_block(int m, int n, int deficient, QrCall call, bool backwards) {
    QrSystems<T> s(m, n, 1, 2, deficient);
    BatchMemory<T> a = call == QrCall::form ? s.factors : s.a, b = s.b;
    BatchMemory<T> tau = call == QrCall::form ? s.tau : BatchMemory<T>{1, std::min(m, n), 1};
    const std::size_t own_bytes = device::QrBlockMemory<T, width>::bytes(m);
    auto raw = unread_memory<T>(own_bytes);
    std::vector<T> x(static_cast<std::size_t>(n + 64));
    std::vector<int> info{-1};
    EmulatedBlock(device::lu_block_threads(m) / device::lanes, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const device::QrBlockMemory<T, width> memory(raw.data(), m);
        const auto own = device::whole(a[0]);
        int failed = 0;
        if (call == QrCall::factor) {
            device::qr_factor_block<width, parts>(thread, memory, x.data(), own, tau.data(),
                                                  device::RightSides<T>{nullptr, 1, 0});
        } else if (call == QrCall::form) {
            device::qr_form_block<width, parts>(thread, memory, own, static_cast<const T*>(tau.data()), n);
        } else {
            failed = device::qr_factor_block<width, parts>(thread, memory, x.data(), own, static_cast<T*>(nullptr),
                                                           right_of(b, 0));
        }
        if (thread.warp == 0 && thread.lane == 0) info[0] = failed;
    });
    INFO(m << " x " << n << ", width " << width << ", call " << static_cast<int>(call));
    check_near(a, call == QrCall::form ? s.q : s.factors, {0}, true);
    if (call == QrCall::factor) check_near(tau, s.tau, {0}, true);
    if (call == QrCall::least_squares) {
        CHECK(info == s.info);
        check_solutions(b, s);
    }
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
        check_lu_block<false, 16, TestType>(n, 0, LuCall::solve, n % 2 == 0);
        check_lu_block<false, 16, TestType>(n, n == 64 ? 20 : 0, LuCall::invert, n % 2 == 1);
    }
    check_lu_block<false, 16, TestType>(300, 0, LuCall::factor, false);
}

TEMPLATE_TEST_CASE("a block of as many threads as rows has the LU by panels that the order is no multiple of",
                   "[kernels]", float, double) {
    for (const LuCall call : {LuCall::factor, LuCall::unpivoted}) {
        check_lu_block<true, 24, TestType>(64, 0, call, false);
        check_lu_block<false, 24, TestType>(64, 0, call, true);
        check_lu_block<true, 20, TestType>(96, 0, call, true);
        check_lu_block<false, 13, TestType>(96, 0, call, false);
    }
    check_lu_block<true, 24, TestType>(64, 63, LuCall::factor, true);
    check_lu_block<false, 7, TestType>(32, 32, LuCall::factor, false);
}

TEMPLATE_TEST_CASE("lanes with a column each have the QR of several small matrices", "[kernels]", float, double) {
    check_qr_small_orders<4, TestType>(1);
    check_qr_small_orders<8, TestType>(5);
    check_qr_small_orders<16, TestType>(9);
    check_qr_small_orders<24, TestType>(17);
    check_qr_small_orders<32, TestType>(25);
}

TEMPLATE_TEST_CASE("a block of threads has the QR of a matrix by panels", "[kernels]", float, double) {
    for (const QrCall call : {QrCall::factor, QrCall::form, QrCall::least_squares}) {
        check_qr_block<8, 4, TestType>(40, 40, 0, call, false);
        check_qr_block<8, 4, TestType>(100, 33, 0, call, true);
        check_qr_block<16, 4, TestType>(65, 50, 0, call, false);
        check_qr_block<16, 8, TestType>(200, 19, 0, call, true);
        check_qr_block<8, 8, TestType>(150, 21, 0, call, false);
        check_qr_block<4, 16, TestType>(270, 9, 0, call, false);
    }
    check_qr_block<8, 4, TestType>(20, 70, 0, QrCall::factor, true);
    check_qr_block<8, 4, TestType>(70, 40, 17, QrCall::least_squares, true);
}

TEMPLATE_TEST_CASE("columns whose squares leave the range have reflectors on a GPU", "[kernels]", float, double) {
    using T = TestType;
    using Shape = device::SmallShape<T, 8>;
    for (const T scale : {std::numeric_limits<T>::max() / 256, std::numeric_limits<T>::min() * 64}) {
        const T power = std::exp2(std::floor(std::log2(scale)));  // exact
        for (const bool block : {false, true}) {
            QrSystems<T> s(block ? 40 : 8, 6, 1, 1, 0);
            BatchMemory<T> a = s.a, tau = s.tau;
            for (Index j = 0; j < 6; ++j) {
                for (Index i = 0; i < a.rows; ++i) a[0](i, j) *= power;
            }
            auto raw = unread_memory<T>(device::QrBlockMemory<T, 8>::bytes(40));
            std::vector<device::SmallVectors<T, Shape>> memory(Shape::in_warp);
            EmulatedBlock(block ? 2 : 1, false).run([&](const EmulatedBlock::Thread& thread) {
                const int k = thread.lane / Shape::own_lanes;
                const auto own = block || k == 0 ? device::whole(a[0]) : device::Whole<T>{nullptr, 1, 0, 0};
                const device::RightSides<T> none{nullptr, 1, 0};
                if (block) {
                    device::qr_reflect_block<8, 4>(thread, device::QrBlockMemory<T, 8>(raw.data(), 40), own, tau.data(),
                                                   none);
                } else {
                    device::qr_factor_small<Shape>(thread, memory[static_cast<std::size_t>(k)], own, tau.data(), none);
                }
            });
            for (Index j = 0; j < 6; ++j) {
                for (Index i = 0; i <= j; ++i) a[0](i, j) /= power;
            }
            check_near(a, s.factors, {0}, true);
            check_near(tau, s.tau, {0}, true);
        }
    }
}
