// What a block of the GPU's solve does, thread by thread on the host, against plain loops.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cuda/triangle/solve_strip.hpp"
#include "kernels/reference/trsm.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/kernels/host_columns.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

constexpr Index gap = 6;  // even, for pairs

/// Multipliers that leave the inverse of modest size, and NaN where nothing may be read.
template <class T>
struct Problem {
    Problem(int n, int cols)
        : l(1, n, n, 1, gap),
          inverses(1, n, solved_rows, 2, 2 * gap),
          w(1, n, cols, 3, gap),
          u(1, n, cols, 4, gap),
          expected(w) {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        std::fill(inverses.values.begin(), inverses.values.end(), nan);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) l.column(0)(i, j) = i > j ? l.column(0)(i, j) / 8 : nan;
        }
        for (Index top = 0; top < n; top += solved_rows) {
            const Index order = std::min<Index>(solved_rows, n - top);
            const View<T> x = inverses.column(0).block(top, 0, order, order);
            for (Index i = 0; i < order; ++i) {
                for (Index j = 0; j < order; ++j) x(i, j) = i == j ? T{1} : T{0};
            }
            reference::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, l.column(0).block(top, top, order, order),
                               x);
        }
        for (Index i = 0; i < n; ++i) {
            for (Index c = 0; c < cols; ++c) {
                double sum = static_cast<double>(w.column(0)(i, c));
                for (Index k = 0; k < i; ++k) {
                    sum -= static_cast<double>(l.column(0)(i, k)) * static_cast<double>(expected.column(0)(k, c));
                }
                expected.column(0)(i, c) = static_cast<T>(sum);
            }
        }
    }

    cuda_detail::Strip<T> strip() {
        const View<T> lv = l.column(0), xv = inverses.column(0), wv = w.column(0), uv = u.column(0);
        return {lv.data(),
                lv.row_stride(),
                xv.data(),
                xv.row_stride(),
                wv.data(),
                wv.row_stride(),
                uv.data(),
                uv.row_stride(),
                static_cast<int>(lv.rows()),
                static_cast<int>(wv.cols())};
    }

    static constexpr int solved_rows = cuda_detail::solved_rows;
    HostColumns<T> l, inverses, w, u, expected;
};

template <class Method, class Shape, bool wide, class T>
void run(const cuda_detail::Strip<T>& strip, bool backwards) {
    cuda_detail::StripMemory<T> shared;
    for (auto* memory : {shared.diagonal, shared.right, shared.solved}) {
        std::fill_n(memory, std::size(shared.right), std::numeric_limits<T>::quiet_NaN());
    }
    EmulatedBlock(cuda_detail::warps_for(strip.rows), backwards).run([&](const EmulatedBlock::Thread& thread) {
        cuda_detail::solve_strip<Method, Shape, wide>(thread, shared, strip);
    });
}

template <class Method, class Shape, bool wide, class T>
void check(int n, int cols, bool backwards) {
    Problem<T> problem(n, cols);
    HostColumns<T> outcome = problem.u;
    for (Index i = 0; i < n; ++i) {
        for (Index c = 0; c < cols; ++c) outcome.column(0)(i, c) = problem.expected.column(0)(i, c);
    }
    INFO(n << " rows, " << cols << " columns, " << (wide ? "pairs" : "elements") << (backwards ? ", backwards" : ""));
    const std::vector<T> right = problem.w.values;
    run<Method, Shape, wide>(problem.strip(), backwards);
    REQUIRE(distance(problem.u.values, outcome.values) <= 16 * tolerance<T>(n));
    REQUIRE(problem.w.values == right);

    auto in_place = problem.strip();
    in_place.u = problem.w.column(0).data();
    run<Method, Shape, wide>(in_place, backwards);
    bool same = true;
    for (Index i = 0; i < n; ++i) {
        for (Index c = 0; c < cols; ++c) same = same && problem.w.column(0)(i, c) == problem.u.column(0)(i, c);
    }
    REQUIRE(same);
}

template <class Method, class Shape, class T>
void check_strips() {
    constexpr int all = Shape::cols, some = Shape::cols * 9 / 16, odd = Shape::cols * 13 / 32;
    INFO("strips of " << all << " columns, " << Shape::ahead << " operands ahead");
    for (const int n : {1, 16, 17, 31, 32, 33, 80, 130}) {
        check<Method, Shape, true, T>(n, n % 2 == 0 ? all : some / 2 * 2, n % 3 == 0);
        check<Method, Shape, false, T>(n, n % 2 == 0 ? all : odd, n % 3 != 0);
    }
    check<Method, Shape, true, T>(250, all, false);  // two units a warp
}

template <class Method, class T>
void check_shapes() {
    check_strips<Method, cuda_detail::StripShape<4, 2>, T>();
    check_strips<Method, cuda_detail::StripShape<4, 4>, T>();
    check_strips<Method, cuda_detail::StripShape<4, 8>, T>();
    check_strips<Method, cuda_detail::StripShape<1, 4>, T>();
    check_strips<Method, cuda_detail::StripShape<1, 8>, T>();
}

}  // namespace

TEMPLATE_TEST_CASE("a block of threads solves a strip with the inverses of diagonal blocks", "[kernels]", float,
                   double) {
    check_shapes<cuda_detail::ByInverse, TestType>();
}

TEMPLATE_TEST_CASE("a block of threads solves a strip by substitution", "[kernels]", float, double) {
    check_shapes<cuda_detail::BySubstitution, TestType>();
}
