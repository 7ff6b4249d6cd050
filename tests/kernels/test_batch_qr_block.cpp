// Batched QR as the threads of a GPU do it, one by one on the host, against LAPACKE.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/cuda/batch/qr_wide.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/batch_block_cases.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/tasks/batch/factor_cases.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace device = basalt::cuda_detail::batch;

namespace {

/// Matrices with right-hand sides, and LAPACKE's factors, Q and least squares; of wide ones the LQ factors.
template <class T>
struct QrSystems {
    BatchMemory<T> a, b, factors, q, x, tau;
    std::vector<int> info;

    QrSystems(Index m, Index n, Index count, Index cols, Index deficient)
        : a{count, m, n, 2}, b{count, std::max(m, n), cols, 3}, factors(a), q(a), x(b), tau{count, std::min(m, n), 1} {
        fill_random(a);
        for (Index k = 0; k < count; ++k) {
            for (Index i = 0; i < std::min(m, n); ++i) a[k](i, i) += static_cast<T>(6);
            for (Index i = 0; i < m && m >= n && k == 0 && deficient > 0; ++i) a[k](i, deficient - 1) = T{};
            for (Index j = 0; j < n && m < n && k == 0 && deficient > 0; ++j) a[k](deficient - 1, j) = T{};
            fill_sides(b[k], k);
        }
        factors.values = q.values = a.values;
        x.values = b.values;
        for (Index k = 0; k < count; ++k) {
            info.push_back(deficient > 0 && k == 0 ? static_cast<int>(deficient) : 0);
            oracle_geqrf(factors[k], tau[k].data());
            BatchMemory<T> copy = a;
            if (info.back() == 0) oracle_gels(copy[k], x[k]);
        }
        q.values = factors.values;
        for (Index k = 0; k < count && m >= n; ++k) oracle_orgqr(q[k], n, tau[k].data());
    }
};

/// The LQ factors of wide matrices.
template <class T>
BatchMemory<T> lq_factors(const BatchMemory<T>& a) {
    BatchMemory<T> factors = a;
    for (Index k = 0; k < a.count; ++k) {
        std::vector<T> tall(static_cast<std::size_t>(a.rows * a.cols)), tau(static_cast<std::size_t>(a.rows));
        const View<T> own = factors[k], transposed = View<T>::column_major(tall.data(), a.cols, a.rows, a.cols);
        for (Index i = 0; i < a.rows; ++i) {
            for (Index j = 0; j < a.cols; ++j) transposed(j, i) = own(i, j);
        }
        oracle_geqrf(transposed, tau.data());
        for (Index i = 0; i < a.rows; ++i) {
            for (Index j = 0; j < a.cols; ++j) own(i, j) = transposed(j, i);
        }
    }
    return factors;
}

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
        if (call == QrCall::least_squares && m >= n) {
            failed =
                device::qr_factor_small<Shape>(thread, mine, own, static_cast<T*>(nullptr), right_of(b, there ? k : 0));
        }
        if (call == QrCall::least_squares && m < n) {
            failed = device::wide_least_squares_small<Shape>(thread, mine, own, right_of(b, there ? k : 0));
        }
        if (there && thread.lane % Shape::own_lanes == 0) info[static_cast<std::size_t>(k)] = failed;
    });
    INFO(m << " x " << n << " in " << most << ", call " << static_cast<int>(call));
    const std::vector<int> good(static_cast<std::size_t>(count), 0);
    if (m < n && call == QrCall::least_squares) s.factors = lq_factors(s.a);
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
        if (m > 1) check_qr_small<most, T>(m - (m + 2) / 3, m, 2, 0, QrCall::least_squares, m % 2 == 0);
        if (m > 1) check_qr_small<most, T>(m - 1, m, most + 1, m - 1, QrCall::least_squares, true);
    }
}

template <int width, int parts, class T>
void check_qr_block(int m, int n, int deficient, QrCall call, bool backwards) {
    QrSystems<T> s(m, n, 1, 2, deficient);
    BatchMemory<T> a = call == QrCall::form ? s.factors : s.a, b = s.b;
    BatchMemory<T> tau = call == QrCall::form ? s.tau : BatchMemory<T>{1, std::min(m, n), 1};
    const bool wide = m < n && call == QrCall::least_squares;
    const int rows = wide ? n : m;  // a thread each
    auto raw = unread_memory<T>(device::QrBlockMemory<T, width>::bytes(rows));
    std::vector<T> x(static_cast<std::size_t>(n + 64)), more(device::WideMemory<T>::bytes(m) / sizeof(T));
    std::vector<int> info{-1};
    const int warps = device::lu_block_threads(rows) / device::lanes;
    EmulatedBlock(warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
        const device::QrBlockMemory<T, width> memory(raw.data(), rows);
        const auto own = device::whole(a[0]);
        int failed = 0;
        if (call == QrCall::factor) {
            device::qr_factor_block<width, parts>(thread, memory, x.data(), own, tau.data(),
                                                  device::RightSides<T>{nullptr, 1, 0});
        } else if (call == QrCall::form) {
            device::qr_form_block<width, parts>(thread, memory, own, static_cast<const T*>(tau.data()), n);
        } else if (wide) {
            failed = device::wide_least_squares_block<width, parts>(
                thread, memory, device::WideMemory<T>(more.data(), m), own, right_of(b, 0));
        } else {
            failed = device::qr_factor_block<width, parts>(thread, memory, x.data(), own, static_cast<T*>(nullptr),
                                                           right_of(b, 0));
        }
        if (thread.warp == 0 && thread.lane == 0) info[0] = failed;
    });
    INFO(m << " x " << n << ", width " << width << ", call " << static_cast<int>(call));
    if (wide) s.factors = lq_factors(s.a);
    check_near(a, call == QrCall::form ? s.q : s.factors, {0}, true);
    if (call == QrCall::factor) check_near(tau, s.tau, {0}, true);
    if (call == QrCall::least_squares) {
        CHECK(info == s.info);
        check_solutions(b, s);
    }
}

}  // namespace

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
    check_qr_block<8, 4, TestType>(20, 70, 0, QrCall::least_squares, true);
    check_qr_block<8, 4, TestType>(39, 40, 17, QrCall::least_squares, false);
    check_qr_block<8, 8, TestType>(40, 200, 0, QrCall::least_squares, false);
    check_qr_block<4, 16, TestType>(9, 270, 0, QrCall::least_squares, true);
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
