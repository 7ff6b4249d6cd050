// What a block of the GPU does between the leaves of a panel, thread by thread on the host, against plain loops.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/panel/product.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/kernels/host_columns.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace basalt::cuda_detail;

namespace {

constexpr int warps = 8;
constexpr Index gap = 6;  // even, for pairs

template <class T>
std::vector<T> shared_memory(int size) {
    return std::vector<T>(static_cast<std::size_t>(size), std::numeric_limits<T>::quiet_NaN());
}

template <class T>
T* in_strips(std::vector<T>& u, Index row, Index col) {
    return u.data() + col / strip_cols * strip_size + row * shared_ld + col % strip_cols;
}

template <class T>
void check_solve(int order, int cols, bool backwards) {
    INFO("order " << order << ", " << cols << " columns" << (backwards ? ", backwards" : ""));
    const Index across = (order + unit_rows - 1) / unit_rows * unit_rows;
    HostColumns<T> l(1, order, across, 1, 2 * strip_cols + gap), a(1, order, cols, 2, l.shape.ld - cols);
    const View<T> lv = l.column(0), av = a.column(0);
    for (Index i = 0; i < order; ++i) {
        for (Index j = 0; j < across; ++j) lv(i, j) = j < i ? lv(i, j) / 8 : std::numeric_limits<T>::quiet_NaN();
    }
    std::vector<T> u = shared_memory<T>((cols + strip_cols - 1) / strip_cols * strip_size),
                   triangle = shared_memory<T>(triangle_size<T>(order));
    EmulatedBlock(warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
        solve_in_shared<EmulatedBlock::Thread, T>(thread, lv.data(), av.data(), static_cast<int>(l.shape.ld), order,
                                                  cols, u.data(), triangle.data());
    });
    std::vector<T> solved, expected;
    for (Index c = 0; c < (cols + strip_cols - 1) / strip_cols * strip_cols; ++c) {
        std::vector<double> x;
        for (Index i = 0; i < order; ++i) {
            double sum = c < cols ? static_cast<double>(av(i, c)) : 0;
            for (Index k = 0; k < i; ++k) sum -= static_cast<double>(lv(i, k)) * x[static_cast<std::size_t>(k)];
            x.push_back(sum);
            expected.push_back(static_cast<T>(sum));
            solved.push_back(*in_strips(u, i, c));
        }
    }
    REQUIRE(distance(solved, expected) <= 16 * tolerance<T>(order));
}

/// L and C side by side, as in a panel; the first columns of C go to the staging buffer, if any. multiply(thread, l,
/// ld, u, staging)
template <class T, class F>
void check_product(int rows, int order, int cols, int staged_cols, bool backwards, const F& multiply) {
    INFO(rows << " rows, order " << order << ", " << cols << " columns, " << staged_cols << " of them staged");
    HostColumns<T> a(1, rows, order + cols, 1, 4 + (4 - (order + cols) % 4) % 4);  // rows begin at 16 bytes
    const View<T> av = a.column(0);
    const HostColumns<T> before = a;
    std::vector<T> u = shared_memory<T>(2 * strip_size);
    const std::vector<T> values = random_values<T>(order * cols, 2);
    for (Index k = 0; k < order; ++k) {
        for (Index c = 0; c < 2 * strip_cols; ++c)
            *in_strips(u, k, c) = c < cols ? values[static_cast<std::size_t>(k * cols + c)] : T{0};
    }
    HostColumns<T> expected = before;
    const View<T> ev = expected.column(0);
    constexpr int stage_ld = 18;
    std::vector<T> stage = shared_memory<T>(rows * stage_ld), staged(stage.size());
    for (Index i = 0; i < rows; ++i) {
        for (Index c = 0; c < cols; ++c) {
            double sum = static_cast<double>(ev(i, order + c));
            for (Index k = 0; k < order; ++k)
                sum -=
                    static_cast<double>(ev(i, k)) * static_cast<double>(values[static_cast<std::size_t>(k * cols + c)]);
            if (c < staged_cols) {
                staged[static_cast<std::size_t>(i * stage_ld + c)] = static_cast<T>(sum);
            } else {
                ev(i, order + c) = static_cast<T>(sum);
            }
        }
    }
    const Staging<T> staging{staged_cols > 0 ? stage.data() : nullptr, stage_ld, staged_cols};
    EmulatedBlock(warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
        multiply(thread, av.data(), static_cast<int>(a.shape.ld), u.data(), staging);
    });
    REQUIRE(distance(a.values, expected.values) <= 16 * tolerance<T>(order));
    for (std::size_t i = 0; i < stage.size(); ++i) {
        if (static_cast<int>(i) % stage_ld >= std::min(staged_cols, cols)) stage[i] = staged[i] = T{0};
    }
    REQUIRE(distance(stage, staged) <= 16 * tolerance<T>(order));
}

template <int units, int tiles, class T>
void check_tiled_product(int rows, int order, int cols, int staged_cols, bool backwards) {
    check_product<T>(
        rows, order, cols, staged_cols, backwards,
        [&](const auto& thread, T* l, int ld, const T* u, const Staging<T>& staging) {
            if (staged_cols > 0) {
                subtract_product<units, tiles, true, false>(thread, l, ld, rows, order, order, cols, u, staging);
            } else {
                subtract_product<units, tiles, false, tiles == 8>(thread, l, ld, rows, order, order, cols, u, staging);
            }
        });
}

}  // namespace

TEMPLATE_TEST_CASE("a block of threads solves for columns in shared memory", "[kernels]", float, double) {
    for (const int order : {1, 2, 15, 16, 17, 32, 33, 64}) {
        for (const int cols : {1, 8, 13, 16, 32, 33, 64}) check_solve<TestType>(order, cols, (order + cols) % 2 == 0);
    }
    check_solve<TestType>(128, 8, false);
    check_solve<TestType>(100, 30, true);
}

TEMPLATE_TEST_CASE("a block of threads subtracts the product of rows with what lies in shared memory", "[kernels]",
                   float, double) {
    for (const int rows : {1, 16, 100, 530}) {
        for (const int cols : {1, 7, 16}) check_tiled_product<4, 2, TestType>(rows, 16, cols, 16, cols == 7);
        for (const int cols : {17, 31, 32}) check_tiled_product<2, 4, TestType>(rows, 32, cols, 16, cols == 31);
    }
    check_tiled_product<4, 2, TestType>(70, 32, 9, 16, false);
    for (const int cols : {3, 32, 45, 64}) {
        check_tiled_product<1, 8, TestType>(70, 64, cols, 0, cols == 32);
        check_tiled_product<1, 8, TestType>(200, 128, cols, 0, cols != 32);
        check_tiled_product<2, 8, TestType>(300, 64, cols, 0, cols != 32);
    }
}

TEMPLATE_TEST_CASE("a block of threads subtracts a product of few columns", "[kernels]", float, double) {
    using T = TestType;
    for (const int rows : {1, 100, 530}) {
        for (const int order : {2, 4, 8}) {
            for (int cols = 1; cols <= order; ++cols) {
                check_product<T>(rows, order, cols, 0, cols % 2 == 0,
                                 [&](const auto& thread, T* l, int ld, const T* u, const Staging<T>&) {
                                     subtract_narrow_product(thread, l, ld, rows, order, cols, u);
                                 });
            }
        }
    }
}
