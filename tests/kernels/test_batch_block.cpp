// Batched Cholesky as the threads of a GPU do it, one by one on the host, against LAPACKE.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <lapacke.h>

#include "kernels/cuda/batch/cholesky_tiles.hpp"
#include "kernels/cuda/batch/panels.hpp"
#include "kernels/cuda/batch/small.hpp"
#include "kernels/cuda/batch/solve_tiles.hpp"
#include "tests/common/catch.hpp"
#include "tests/kernels/emulated_block.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace device = basalt::cuda_detail::batch;

namespace {

template <class T>
constexpr T unread = std::numeric_limits<T>::quiet_NaN();

/// Matrices of order n with their right-hand sides, with NaN where nothing may be read, and what LAPACKE makes of them.
/// The pivot `bad` (from 1) of matrix `bad_matrix` is NaN; 0: none.
template <class T>
struct Systems {
    Systems(int n, int count, int cols, Triangle triangle, int bad_matrix, int bad)
        : n(n), ld(n + 3), cols(cols), triangle(triangle) {
        auto noise = [state = 1U]() mutable { return static_cast<T>((state = state * 69069U + 1U) >> 20) / 4096; };
        a.assign(static_cast<std::size_t>(count) * size_a(), unread<T>);
        b.assign(static_cast<std::size_t>(count) * size_b(), unread<T>);
        for (int k = 0; k < count; ++k) {
            for (int j = 0; j < n; ++j) {
                for (int i = j; i < n; ++i) *element(a, k, i, j) = i == j ? static_cast<T>(n + 1 + k) : noise();
            }
            for (int c = 0; c < cols; ++c) {
                for (int i = 0; i < n; ++i) right(b, k).b[i + c * ld] = noise();
            }
        }
        if (bad > 0) *element(a, bad_matrix, bad - 1, bad - 1) = unread<T>;
        l = a, x = b;
        for (int k = 0; k < count; ++k) {
            const bool fails = bad > 0 && k == bad_matrix;
            info.push_back(fails ? bad : 0);
            if (!fails) oracle(k);
        }
    }

    std::size_t size_a() const { return static_cast<std::size_t>(ld) * static_cast<std::size_t>(n); }
    std::size_t size_b() const { return static_cast<std::size_t>(ld) * static_cast<std::size_t>(cols); }
    T* element(std::vector<T>& values, int k, int i, int j) const {
        T* const matrix = values.data() + static_cast<std::size_t>(k) * size_a();
        return triangle == Triangle::lower ? matrix + i + j * ld : matrix + j + i * ld;
    }
    device::Operand<T> operand(std::vector<T>& values, int k) const {
        return device::operand(triangle, View<T>::column_major(element(values, k, 0, 0), n, n, ld));
    }
    device::RightSides<T> right(std::vector<T>& values, int k) const {
        return {values.data() + static_cast<std::size_t>(k) * size_b(), ld, cols};
    }

    void oracle(int k) {
        const char uplo = triangle == Triangle::lower ? 'L' : 'U';
        T* const matrix = element(l, k, 0, 0);
        T* const sides = right(x, k).b;
        lapack_int failed = 0;
        if constexpr (sizeof(T) == 4) {
            failed = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, uplo, n, matrix, ld);
            LAPACKE_spotrs_work(LAPACK_COL_MAJOR, uplo, n, cols, matrix, ld, sides, ld);
        } else {
            failed = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, uplo, n, matrix, ld);
            LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, uplo, n, cols, matrix, ld, sides, ld);
        }
        REQUIRE(failed == 0);
    }

    int n, ld, cols;
    Triangle triangle;
    std::vector<T> a, b, l, x;
    std::vector<int> info;
};

/// Whether both hold NaN in the same places and are close elsewhere, in the matrices that did not fail.
template <class T>
bool close(const std::vector<T>& values, const std::vector<T>& expected, const std::vector<int>& info) {
    const std::size_t size = expected.size() / info.size();
    const T tolerance = 200 * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (info[i / size] > 0) continue;
        if (std::isnan(values[i]) != std::isnan(expected[i])) return false;
        if (std::abs(values[i] - expected[i]) > tolerance * std::max(T{1}, std::abs(expected[i]))) return false;
    }
    return true;
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](T a, T b) { return a == b || (std::isnan(a) && std::isnan(b)); });
}

enum class Call { factor, solve, both, both_discarding };

/// What the call must leave.
template <class T>
void check_results(const Systems<T>& s, Call call, const std::vector<T>& a, const std::vector<T>& b,
                   const std::vector<int>& info) {
    if (call != Call::solve) CHECK(info == s.info);
    if (call == Call::factor || call == Call::both) {
        CHECK(close(a, s.l, s.info));
    } else {
        CHECK(same_bits(a, call == Call::solve ? s.l : s.a));
    }
    if (call == Call::factor) {
        CHECK(same_bits(b, s.b));
    } else {
        CHECK(close(b, s.x, s.info));
    }
    if (call == Call::factor || call == Call::solve) return;
    for (std::size_t k = 0; k < s.info.size(); ++k) {  // B stays where a pivot fails
        if (s.info[k] == 0) continue;
        const auto from = static_cast<std::ptrdiff_t>(k * s.size_b()),
                   to = from + static_cast<std::ptrdiff_t>(s.size_b());
        CHECK(same_bits(std::vector<T>(b.begin() + from, b.begin() + to),
                        std::vector<T>(s.b.begin() + from, s.b.begin() + to)));
    }
}

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
        if (call == Call::factor) {
            T row[Shape::order];
            failed = device::factor_small<Shape>(thread, static_cast<device::SmallColumns<T, Shape>&>(mine), own,
                                                 device::FactorOutput::keep, row);
        } else if (call == Call::solve) {
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

void check_factor_by_tiles(int n, Triangle triangle, int bad, bool backwards) {
    Systems<double> s(n, 1, 1, triangle, 0, bad);
    std::vector<double> a = s.a;
    std::vector<int> info{-1};
    std::vector<device::Chunk<double>> raw(device::CholeskyTileMemory::bytes() / 16 + 1);
    for (auto& chunk : raw) std::fill(std::begin(chunk.value), std::end(chunk.value), unread<double>);
    EmulatedBlock(device::panel_threads(n, device::lanes) / device::lanes, backwards)
        .run([&](const EmulatedBlock::Thread& thread) {
            const device::CholeskyTileMemory memory{reinterpret_cast<double*>(raw.data())};
            const int failed = device::cholesky_factor_tiles(thread, memory, device::CountedOperand(s.operand(a, 0)));
            if (thread.warp == 0 && thread.lane == 0) info[0] = failed;
        });
    INFO("order " << n << ", pivot " << bad << " fails");
    check_results(s, Call::factor, a, s.b, info);
}

template <class T>
void check_solve_by_tiles(int n, int cols, Triangle triangle, bool backwards) {
    Systems<T> s(n, 1, cols, triangle, 0, 0);
    std::vector<T> a = s.l, b = s.b;
    const std::size_t bytes = device::SolveTilesMemory<T>::bytes(n);
    std::vector<device::Chunk<T>> raw(bytes / 16 + 1);
    for (auto& chunk : raw) std::fill(std::begin(chunk.value), std::end(chunk.value), unread<T>);
    EmulatedBlock(device::panel_threads(n, device::lanes) / device::lanes, backwards)
        .run([&](const EmulatedBlock::Thread& thread) {
            const auto own = s.operand(a, 0);
            device::cholesky_solve_tiles(thread, device::SolveTilesMemory<T>(raw.data(), n),
                                         device::Operand<const T>{own.a, own.down, own.across, own.n}, s.right(b, 0));
        });
    INFO("order " << n << ", " << cols << " right-hand sides");
    check_results(s, Call::solve, a, b, s.info);
}

constexpr Call calls[] = {Call::factor, Call::solve, Call::both, Call::both_discarding};

template <int most, class T>
void check_small_orders(int least) {
    for (int n = least; n <= most; ++n) {
        for (const Call call : calls) {
            const Triangle triangle = n % 2 == 0 ? Triangle::lower : Triangle::upper;
            check_small<most, 1, T>(n, 1, triangle, 0, call, false);
            check_small<most, 4, T>(n, 5, triangle, 0, call, true);
            if (call != Call::solve) check_small<most, 1, T>(n, 1, Triangle::lower, (n + 1) / 2, call, false);
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

TEMPLATE_TEST_CASE("lanes with a row each factor and solve several small matrices", "[kernels]", float, double) {
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
        check_factor_by_tiles(n, Triangle::lower, 0, n % 2 == 0);
        check_factor_by_tiles(n, Triangle::upper, 0, n % 2 == 1);
    }
    for (const int bad : {1, 9, 32, 33, 64, 70}) {
        check_factor_by_tiles(70, Triangle::lower, bad, bad % 2 == 0);
        check_factor_by_tiles(70, Triangle::upper, bad, bad % 2 == 1);
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
        const int failed = device::cholesky_factor_tiles(thread, device::CholeskyTileMemory{raw.data()}, own);
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
        check_solve_by_tiles<TestType>(n, 2, Triangle::lower, n % 2 == 0);
        check_solve_by_tiles<TestType>(n, 19, Triangle::upper, n % 2 == 1);
    }
}

TEMPLATE_TEST_CASE("pivots of any size have their roots", "[kernels]", float, double) {
    using T = TestType;
    using Limits = std::numeric_limits<T>;
    using Shape = device::SmallShape<T, 8>;
    const T pivots[] = {Limits::denorm_min(), Limits::min() / 4, Limits::min(), T{1}, T{2},
                        Limits::max() / 3,    Limits::max()};
    for (const T pivot : pivots) {
        T a[4] = {pivot, pivot / 2, 0, 1};
        int failed = -1;
        std::vector<device::SmallColumns<T, Shape>> memory(Shape::in_warp);
        EmulatedBlock(1, false).run([&](const EmulatedBlock::Thread& thread) {
            const int k = thread.lane / Shape::own_lanes;
            T row[Shape::order];
            const device::Operand<T> own{a, 1, 2, k == 0 && pivot <= T{2} ? 2 : k == 0 ? 1 : 0};
            const int result = device::factor_small<Shape>(thread, memory[static_cast<std::size_t>(k)], own,
                                                           device::FactorOutput::keep, row);
            if (thread.lane == 0) failed = result;
        });
        INFO(pivot);
        CHECK(failed == 0);
        CHECK(std::abs(a[0] - std::sqrt(pivot)) <= 4 * Limits::epsilon() * std::sqrt(pivot));
    }
}
