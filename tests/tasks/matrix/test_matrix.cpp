#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"
#include "tests/tasks/lu/lu_layouts.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

const std::array<std::array<Index, 2>, 12> shapes{
    {{0, 0}, {0, 4}, {4, 0}, {1, 1}, {1, 50}, {50, 1}, {16, 16}, {17, 15}, {33, 70}, {70, 33}, {128, 96}, {301, 97}}};

const std::array<TileShape, 6> tiles_to_try{{{16, 16}, {8, 24}, {40, 8}, {512, 512}, {1, 1}, {}}};

std::string text(Index m, Index n, TileShape tile) {
    return std::to_string(m) + " x " + std::to_string(n) + " in " + std::to_string(tile.height) + " x " +
           std::to_string(tile.width);
}

template <class T>
Dense<T> transposed(const Dense<T>& a) {
    Dense<T> t(a.n, a.m);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.m; ++i) t(j, i) = a(i, j);
    }
    return t;
}

/// Element by element, through at() for a few and host_view() for all.
template <class T>
void check_equal(const Matrix<T>& tiles, const Dense<T>& a) {
    REQUIRE(tiles.rows() == a.m);
    REQUIRE(tiles.cols() == a.n);
    Index first = 0, wrong = 0;
    for (Index column = 0; column < tiles.tile_cols(); ++column) {
        const View<T> view = tiles.host_view(column);
        REQUIRE(view.rows() == a.m);
        for (Index j = 0; j < view.cols(); ++j) {
            for (Index i = 0; i < a.m; ++i) wrong += view(i, j) != a(i, first + j);
        }
        first += view.cols();
    }
    CHECK(wrong == 0);
    CHECK(first == a.n);
    for (Index k = 0; k < std::min(a.m, a.n); k += 13) CHECK(tiles.at(k, a.n - 1 - k) == a(k, a.n - 1 - k));
}

template <class F>
bool refused(const F& call) {
    try {
        call();
    } catch (const UsageError&) {
        return true;
    }
    return false;
}

}  // namespace

TEMPLATE_TEST_CASE("a matrix comes back from its tiles as it went in", "[matrix]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        for (const auto& [m, n] : shapes) {
            const Dense<T> a = random_dense<T>(m, n, 80, 3), rows = transposed(a);
            for (const TileShape tile : tiles_to_try) {
                INFO(text(m, n, tile));
                const Matrix<T> by_columns = to_tiles(rt, a, tile);
                const Matrix<T> by_rows = Matrix<T>::from_rows(rt, rows.values.data(), m, n, rows.ld, tile);
                check_equal(by_columns, a);
                check_equal(by_rows, a);
                Dense<T> back(m, n, 2), back_rows(n, m, 1);
                by_columns.store(back.view());
                by_rows.store(View<T>::row_major(back_rows.values.data(), m, n, back_rows.ld));
                rt.wait();
                CHECK(back.gap_untouched());
                CHECK(back_rows.gap_untouched());
                Index wrong = 0;
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < m; ++i) wrong += back(i, j) != a(i, j) || back_rows(j, i) != a(i, j);
                }
                CHECK(wrong == 0);
            }
        }
    }
}

TEST_CASE("a new matrix is zero and its tiles cover it without its padding", "[matrix]") {
    Runtime rt(two_workers());
    for (const auto& [m, n] : shapes) {
        for (const TileShape tile : tiles_to_try) {
            INFO(text(m, n, tile));
            const Matrix<double> a(rt, m, n, tile);
            Dense<double> zero(m, n);
            for (double& x : zero.values) x = 0;
            check_equal(a, zero);
            Index elements = 0;
            for (Index j = 0; j < a.tile_cols(); ++j) {
                for (Index i = 0; i < a.tile_rows(); ++i) {
                    CHECK(a.tile(i, j).rows <= a.tile_shape().height);
                    CHECK(a.tile(i, j).cols <= a.tile_shape().width);
                    elements += a.tile(i, j).rows * a.tile(i, j).cols;
                }
            }
            CHECK(elements == m * n);
        }
    }
}

TEMPLATE_TEST_CASE("generated and filled matrices hold what the generator makes", "[matrix]", float, double) {
    using T = TestType;
    Runtime rt(two_workers());
    for (const GeneratorInfo& kind : generator_names()) {
        const std::shared_ptr<const Generator<T>> generator = make_generator<T>(kind.name, 90, 70, 3);
        Dense<T> expected(90, 70), part(40, 33);
        generator->fill(expected.view(), 0, 0);
        generator->fill(part.view(), 0, 0);
        check_equal(Matrix<T>::generate(rt, generator, 90, 70, {16, 24}), expected);
        Matrix<T> smaller = to_tiles(rt, random_dense<T>(40, 33, 81), {16, 24});
        smaller.fill(generator);
        check_equal(smaller, part);
    }
}

TEST_CASE("load and store follow the program order of tasks", "[matrix]") {
    Runtime rt(two_workers());
    const Dense<double> one = random_dense<double>(100, 60, 82), two = random_dense<double>(100, 60, 83);
    Dense<double> first(100, 60), second(100, 60), third(100, 60);
    Matrix<double> tiles(rt, 100, 60, {16, 16});
    tiles.load(View<const double>::column_major(one.values.data(), 100, 60, 100));
    tiles.store(first.view());
    tiles.load(View<const double>::column_major(two.values.data(), 100, 60, 100));
    tiles.store(second.view());
    for (Index j = 0; j < tiles.tile_cols(); ++j) {
        rt.submit({.name = "negate"}, readwrite(tiles.column(j)), [](View<double> column) {
            for (Index i = 0; i < column.rows(); ++i) {
                for (Index c = 0; c < column.cols(); ++c) column(i, c) = -column(i, c);
            }
        });
    }
    tiles.store(third.view());
    rt.wait();
    CHECK(first.values == one.values);
    CHECK(second.values == two.values);
    for (Index j = 0; j < 60; ++j) {
        for (Index i = 0; i < 100; ++i) REQUIRE(third(i, j) == -two(i, j));
    }
}

TEMPLATE_TEST_CASE("a wrapped array has the results when wait() returns", "[matrix]", float, double) {
    using T = TestType;
    for (const Config& config : configurations()) {
        Runtime rt(config);
        const Dense<T> a = random_dense<T>(120, 100, 84, 4);
        Dense<T> mine = a;
        Matrix<T> tiles = Matrix<T>::wrap(rt, mine.values.data(), 120, 100, mine.ld, {16, 24});
        const LuFactors<T> lu = lu_factor(rt, tiles);
        rt.wait();
        CHECK(mine.gap_untouched());
        check_factors(a, {mine, lu.pivots(), lu.info()});
        // from now on the matrix is the runtime's own
        const Dense<T> factors = mine;
        tiles.fill(make_generator<T>("zero", 120, 100));
        rt.wait();
        CHECK(mine.values == factors.values);
        CHECK(tiles.at(3, 3) == 0);
    }
}

TEST_CASE("a wrapped array comes back although its matrix has moved", "[matrix]") {
    Runtime rt(two_workers());
    Dense<double> mine = random_dense<double>(50, 50, 85);
    const Dense<double> a = mine;
    Matrix<double> moved;
    {
        Matrix<double> tiles = Matrix<double>::wrap(rt, mine.values.data(), 50, 50, 50, {16, 16});
        moved = std::move(tiles);
        CHECK(tiles.rows() == 0);  // NOLINT(bugprone-use-after-move): that it is empty is promised
    }
    const LuFactors<double> lu = lu_factor(rt, moved);
    rt.wait();
    check_factors(a, {mine, lu.pivots(), lu.info()});
}

TEST_CASE("a matrix may be destroyed while its tasks run", "[matrix][sanitize]") {
    for (const int workers : {1, 2}) {
        Config config;
        config.workers = workers;
        Runtime rt(config);
        const Dense<double> a = random_dense<double>(90, 90, 86);
        Dense<double> mine = a, copy(90, 90);
        for (int round = 0; round < 10; ++round) {
            Matrix<double> tiles(rt, 90, 90, {16, 16});
            tiles.load(View<const double>::column_major(a.values.data(), 90, 90, 90));
            Matrix<double> wrapped = Matrix<double>::wrap(rt, mine.values.data(), 90, 90, 90, {32, 16});
            tiles.store(copy.view());
            if (round % 3 == 0) tiles = Matrix<double>(rt, 10, 10);
        }
        rt.wait();
        CHECK(copy.values == a.values);
    }
}

TEST_CASE("matrices can be read and looked at by several threads", "[matrix]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(100, 100, 87);
    const Matrix<double> tiles = to_tiles(rt, a, {16, 16});
    std::array<int, 3> wrong{};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&, t] {
            for (Index k = 0; k < 100; ++k) wrong[t] += tiles.at(k, 99 - k) != a(k, 99 - k);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::array<int, 3>{});
}

TEST_CASE("what a matrix does not have is refused", "[matrix]") {
    Runtime rt(two_workers());
    const Dense<double> a = random_dense<double>(40, 30, 88);
    const double* data = a.values.data();
    const double* nothing = nullptr;
    CHECK(refused([&] { Matrix<double>(rt, -1, 3); }));
    CHECK(refused([&] { Matrix<double>(rt, 3, -1); }));
    CHECK(refused([&] { Matrix<double>(rt, 3, 3, {0, 4}); }));
    CHECK(refused([&] { Matrix<double>(rt, 3, 3, {4, -4}); }));
    CHECK(refused([&] { Matrix<double>(rt, std::numeric_limits<Index>::max(), 1); }));
    CHECK(refused([&] { Matrix<double>(rt, Index{1} << 40, Index{1} << 40); }));
    CHECK(refused([&] { Matrix<double>::from_columns(rt, data, 40, 30, 39); }));
    CHECK(refused([&] { Matrix<double>::from_rows(rt, data, 40, 30, 29); }));
    CHECK(refused([&] { Matrix<double>::from_columns(rt, data, 0, 30, 0); }));
    CHECK(refused([&] { Matrix<double>::from_columns(rt, nothing, 40, 30, 40); }));
    CHECK(refused([&] { Matrix<double>::wrap(rt, nullptr, 40, 30, 40); }));

    Matrix<double> tiles = to_tiles(rt, a, {16, 16});
    CHECK(refused([&] { tiles.tile(3, 0); }));
    CHECK(refused([&] { tiles.tile(0, 2); }));
    CHECK(refused([&] { tiles.tile(-1, 0); }));
    CHECK(refused([&] { tiles.column(2); }));
    CHECK(refused([&] { tiles.column(-1); }));
    CHECK(refused([&] { tiles.block(0, 5, 4, 0, 1); }));
    CHECK(refused([&] { tiles.block(0, 0, 1, 0, 17); }));
    CHECK(refused([&] { tiles.block(0, 0, 49, 0, 1); }));
    CHECK(refused([&] { tiles.at(40, 0); }));
    CHECK(refused([&] { tiles.at(0, 30); }));
    CHECK(refused([&] { tiles.host_view(2); }));
    CHECK(refused([&] { tiles.load(View<const double>::column_major(data, 40, 29, 40)); }));
    CHECK(refused([&] { tiles.fill(nullptr); }));
    CHECK(refused([&] { tiles.fill(make_generator<double>("zero", 39, 30)); }));
    const Matrix<double> none;
    CHECK(none.rows() == 0);
    CHECK(none.tile_cols() == 0);
    CHECK(refused([&] { none.tile(0, 0); }));
    CHECK(refused([&] { none.host_view(0); }));
    CHECK(refused([&] { none.runtime(); }));
    check_equal(tiles, a);
}

TEMPLATE_TEST_CASE("random shapes come back from random tiles", "[matrix][.soak]", float, double) {
    using T = TestType;
    const unsigned seed = std::random_device{}();
    std::mt19937 random(seed);
    INFO("seed " << seed);
    Runtime rt;
    for (int round = 0; round < 300; ++round) {
        const auto m = static_cast<Index>(random() % 1500), n = static_cast<Index>(random() % 1500);
        const TileShape tile{1 + static_cast<Index>(random() % 400), 1 + static_cast<Index>(random() % 400)};
        INFO(text(m, n, tile));
        const Dense<T> a = random_dense<T>(m, n, random(), 3);
        check_equal(to_tiles(rt, a, tile), a);
    }
}
