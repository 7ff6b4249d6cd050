// What a block of the GPU's threads does in a Cholesky panel, thread by thread on the host, against plain loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <basalt/tuning.hpp>

#include "kernels/cuda/cholesky/leaf.hpp"
#include "kernels/reference/potrf.hpp"
#include "kernels/reference/trsm.hpp"
#include "tests/kernels/emulated_block.hpp"
#include "tests/tasks/cholesky/cholesky_cases.hpp"
#include "tests/tasks/cholesky/extreme_pivots.hpp"

using namespace basalt;
using namespace basalt_tests;
namespace block = basalt::cuda_detail::cholesky;

namespace {

constexpr int gap = 4;               // even, for pairs
constexpr Index extreme_order = 40;  // two tiles: the emulated block takes long

template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();

/// A row-major square with a gap behind each row, NaN in the gap and right of the diagonal.
template <class T>
struct Square {
    explicit Square(const Dense<T>& a)
        : order(a.n), ld(a.n + gap), values(static_cast<std::size_t>(ld * order + 1), nan_of<T>) {
        for (Index i = 0; i < order; ++i) {
            for (Index j = 0; j <= i; ++j) view()(i, j) = a(i, j);
        }
    }
    View<T> view() { return View<T>::row_major(values.data(), order, order, ld); }

    Index order, ld;
    std::vector<T> values;
};

template <class T, class LeafShape>
struct FactoredLeaf {
    using Shape = LeafShape;
    static constexpr int tile = Shape::tile;

    Square<T> l;
    std::vector<T> inverses;
    std::vector<int> use_inverse;
    int failed = 0;

    explicit FactoredLeaf(const Dense<T>& a)
        : l(a), inverses(std::size_t{Shape::columns} * tile, nan_of<T>), use_inverse(Shape::tiles, -1) {}
    block::Leaf<T, tile> leaf() {
        return {l.values.data(), l.ld, static_cast<int>(l.order), inverses.data(), use_inverse.data()};
    }
    block::Leaf<const T, tile> made() {
        return {l.values.data(), l.ld, static_cast<int>(l.order), inverses.data(), use_inverse.data()};
    }
};

template <class Shape, class T>
FactoredLeaf<T, Shape> factor(const Dense<T>& a, bool backwards) {
    FactoredLeaf<T, Shape> f(a);
    using Memory = block::LeafMemory<T, Shape>;
    const auto memory = std::make_unique<Memory>();
    std::fill_n(memory->a, std::size(memory->a), nan_of<T>);
    int first = 0;
    EmulatedBlock(Memory::warps, backwards).run([&](const EmulatedBlock::Thread& thread) {
        block::load_leaf(thread, *memory, f.leaf());
        thread.sync();
        const int failed = block::factor_leaf(thread, *memory, f.leaf());
        if (thread.lane == 0 && failed > 0 && (first == 0 || failed < first)) first = failed;
    });
    f.failed = first;
    return f;
}

/// Column-major copy of a row-major lower triangle.
template <class T>
Dense<T> dense(Square<T>& square) {
    Dense<T> a(square.order, square.order);
    for (Index j = 0; j < square.order; ++j) {
        for (Index i = 0; i < square.order; ++i) a(i, j) = square.view()(i, j);
    }
    return a;
}

template <bool wide, class T, class Shape>
void solve(FactoredLeaf<T, Shape>& f, T* a, Index ld, int rows, bool backwards) {
    const auto memory = std::make_unique<block::RowsMemory<T, Shape>>();
    std::fill_n(memory->right, std::size(memory->right), nan_of<T>);
    std::fill_n(memory->solved, std::size(memory->solved), nan_of<T>);
    EmulatedBlock(block::solving_warps<Shape>, backwards).run([&](const EmulatedBlock::Thread& thread) {
        block::solve_rows<wide>(thread, *memory, block::Rows<T, Shape>{a, ld, rows, f.made()});
    });
}

/// A kernel of the tuning tables: a precision and a shape.
template <class T, int columns, int tile>
struct Kernel {
    using Number = T;
    using Shape = block::LeafShape<columns, tile>;
};
#define EACH_LEAF                                                                                         \
    (Kernel<float, 64, 16>), (Kernel<float, 64, 32>), (Kernel<float, 128, 16>), (Kernel<float, 128, 32>), \
        (Kernel<double, 64, 16>), (Kernel<double, 64, 32>), (Kernel<double, 128, 16>), (Kernel<double, 128, 32>)

/// Orders up to that of the leaf.
template <class Shape>
std::vector<Index> orders(std::vector<Index> some) {
    std::erase_if(some, [](Index n) { return n > Shape::columns; });
    return some;
}

}  // namespace

TEST_CASE("the built-in tables have leaves that their GPUs' shared memory holds", "[kernels]") {
    for (const auto& [architecture, kibibytes] : {std::pair{"sm_80", 163}, {"sm_86", 99}, {"sm_90", 227}}) {
        const GpuCholeskyLeaf leaf = TuningTables::built_in().for_gpu(architecture).cholesky.leaf;
        const auto taken = leaf.columns == 64 ? sizeof(block::LeafMemory<double, block::LeafShape<64, 32>>)
                                              : sizeof(block::LeafMemory<double, block::LeafShape<128, 32>>);
        INFO(architecture);
        CHECK(taken <= std::size_t{1024} * kibibytes);
    }
}

TEMPLATE_TEST_CASE("a block of threads factors a leaf and inverts its tiles", "[kernels]", EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    for (const Index n : orders<Shape>({1, 2, 15, 16, 17, 31, 32, 33, 64, 100, 127, 128})) {
        const Dense<T> a = spd_dense<T>(Triangle::lower, n, 3);
        const bool backwards = n % 2 == 0;
        auto f = factor<Shape>(a, backwards);
        INFO("order " << n << (backwards ? ", backwards" : ""));
        REQUIRE(f.failed == 0);
        REQUIRE(cholesky_ratio(Triangle::lower, a, dense(f.l)) < 10);
        for (Index i = 0; i < n; ++i) {
            for (Index j = i + 1; j < f.l.ld; ++j)
                REQUIRE(std::isnan(f.l.values[static_cast<std::size_t>(i * f.l.ld + j)]));
        }
        for (Index top = 0; top < n; top += Shape::tile) {
            REQUIRE(f.use_inverse[static_cast<std::size_t>(top / Shape::tile)] == 1);
            const Index order = std::min<Index>(Shape::tile, n - top);
            const View<T> x =
                View<T>::row_major(f.inverses.data() + top * Shape::tile, Shape::tile, Shape::tile, Shape::tile);
            double error = 0;
            for (Index i = 0; i < Shape::tile; ++i) {
                for (Index j = 0; j < Shape::tile; ++j) {
                    double sum = 0;  // (X L)(i, j)
                    for (Index k = j; k < Shape::tile; ++k) {
                        const bool stored = k < order && j < order;
                        const double l = stored ? static_cast<double>(f.l.view()(top + k, top + j)) : k == j;
                        sum += static_cast<double>(x(i, k)) * l;
                    }
                    error = std::max(error, std::abs(sum - (i == j ? 1 : 0)));
                }
            }
            REQUIRE(error < 100 * roundoff<T>);
        }
    }
}

TEMPLATE_TEST_CASE("a block of threads finds the first pivot that is not positive", "[kernels]", EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    for (const Index n : {40, Shape::columns}) {
        for (const Index where : {Index{0}, Index{5}, Index{31}, Index{32}, n - 1}) {
            for (const T pivot : {T{-1}, T{0}, nan_of<T>}) {
                Dense<T> a = spd_dense<T>(Triangle::lower, n, 3);
                if (pivot >= T{0}) {
                    for (Index j = 0; j < where; ++j) a(where, j) = 0;
                }
                a(where, where) = pivot;
                if (where < n - 1) a(n - 1, n - 1) = T{-1};
                INFO("order " << n << ", pivot " << where << " is " << pivot);
                REQUIRE(factor<Shape>(a, false).failed == where + 1);
            }
        }
    }
}

TEMPLATE_TEST_CASE("a block of threads takes denormal and infinite pivots as LAPACK does", "[kernels]", EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    for (const ExtremeMatrix<T>& extreme : extreme_matrices<T>(extreme_order)) {
        const auto f = factor<Shape>(extreme.a, false);
        INFO(extreme.what);
        CHECK(f.failed == extreme.info);
        if (f.failed != 0 || extreme.info != 0) continue;
        auto l = f.l;
        CHECK(same_factor(dense(l), extreme.factor));
    }
}

TEMPLATE_TEST_CASE("a block of threads solves rows below denormal and infinite pivots", "[kernels]", EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    for (const ExtremeMatrix<T>& extreme : extreme_matrices<T>(extreme_order)) {
        if (extreme.info != 0) continue;
        auto f = factor<Shape>(extreme.a, false);
        const Index n = extreme.a.n;
        const Dense<T> right = extreme_rows(extreme, block::solved_rows);  // column i is row i
        Dense<T> solved = right, expected = right, l = dense(f.l);
        reference::trsm<T>(Side::left, Triangle::lower, Diagonal::stored, l.view(), expected.view());
        solve<true>(f, solved.values.data(), n, block::solved_rows, false);
        INFO(extreme.what);
        double error = 0, norm = 0;
        for (std::size_t i = 0; i < expected.values.size(); ++i) {
            error = larger_or_nan(error, std::abs(double(solved.values[i]) - double(expected.values[i])));
            norm = std::max(norm, std::abs(double(expected.values[i])));
        }
        CHECK(error <= 200 * norm * roundoff<T>);
    }
}

TEMPLATE_TEST_CASE("a block of threads solves rows by the inverses of tiles, or by substitution", "[kernels]",
                   EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    for (const Index n : orders<Shape>({1, 17, 31, 32, 64, 70, 128})) {
        for (const int rows : {1, block::solved_rows / 2 + 1, block::solved_rows}) {
            for (const bool by_inverse : {true, false}) {
                auto f = factor<Shape>(spd_dense<T>(Triangle::lower, n, 4), false);
                if (!by_inverse) {
                    std::fill(f.use_inverse.begin(), f.use_inverse.end(), 0);
                    std::fill(f.inverses.begin(), f.inverses.end(), nan_of<T>);
                }
                const Index ld = n + 3;
                Dense<T> right = random_dense<T>(ld, block::solved_rows, 5);  // column i is row i
                std::vector<T> expected = right.values;
                const auto below = View<T>::row_major(expected.data(), rows, n, ld);
                reference::trsm<T>(Side::right, Triangle::upper, Diagonal::stored,
                                   transposed(View<const T>(f.l.view())), below);
                std::vector<T> plain = right.values;
                solve<true>(f, right.values.data(), ld, rows, n % 2 == 0);
                solve<false>(f, plain.data(), ld, rows, n % 2 != 0);
                INFO(rows << " rows, order " << n << (by_inverse ? " by inverse" : " by substitution"));
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    const double bound = 200 * roundoff<T> / std::sqrt(static_cast<double>(n));
                    REQUIRE(std::abs(double(right.values[i]) - double(expected[i])) <= bound);
                    REQUIRE(plain[i] == right.values[i]);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("inverses of tiles are refused where they would cost accuracy", "[kernels]", EACH_LEAF) {
    using T = typename TestType::Number;
    using Shape = typename TestType::Shape;
    // rows R L^T on a tile of that condition
    constexpr int n = Shape::tile;
    bool refused = false, used = false;
    for (const double condition : {1e1, 1e3, sizeof(T) == 4 ? 2e4 : 1e9, sizeof(T) == 4 ? 2e6 : 1e13}) {
        auto f = factor<Shape>(rounded<T>(conditioned(n, condition, 6)), false);
        REQUIRE(f.failed == 0);
        (f.use_inverse[0] != 0 ? used : refused) = true;
        const Dense<double> r = random_dense<double>(block::solved_rows, n, 7);
        std::vector<T> rows(static_cast<std::size_t>(block::solved_rows * n));
        double norm = 0;
        for (Index i = 0; i < block::solved_rows; ++i) {
            for (Index j = 0; j < n; ++j) {
                double sum = 0;
                for (Index k = 0; k <= j; ++k) sum += r(i, k) * static_cast<double>(f.l.view()(j, k));
                rows[static_cast<std::size_t>(i * n + j)] = static_cast<T>(sum);
                norm = std::max(norm, std::abs(sum));
            }
        }
        const std::vector<T> right = rows;
        solve<true>(f, rows.data(), n, block::solved_rows, false);
        double residual = 0;
        for (Index i = 0; i < block::solved_rows; ++i) {
            for (Index j = 0; j < n; ++j) {
                double sum = -static_cast<double>(right[static_cast<std::size_t>(i * n + j)]);
                for (Index k = 0; k <= j; ++k) {
                    sum += static_cast<double>(rows[static_cast<std::size_t>(i * n + k)]) *
                           static_cast<double>(f.l.view()(j, k));
                }
                residual = std::max(residual, std::abs(sum));
            }
        }
        INFO("condition " << condition << ", inverse " << (f.use_inverse[0] != 0 ? "used" : "refused") << ", residual "
                          << residual / norm / roundoff<T>);
        CHECK(residual < 30 * norm * roundoff<T>);
    }
    CHECK(used);
    CHECK(refused);
}
