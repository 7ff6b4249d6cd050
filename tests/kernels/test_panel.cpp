#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <lapacke.h>

#include "kernels/cpu/panel/panel.hpp"
#include "kernels/cpu/panel/row_partition.hpp"
#include "kernels/reference/getrf.hpp"
#include "kernels/reference/laswp.hpp"
#include "kernels/reference/thread_gang.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

template <class T>
struct Panel {
    Panel(Index rows, Index cols, Index padding = 0)
        : ld(cols + padding), values(static_cast<std::size_t>(rows * ld) + 1, T{-99}) {
        view = View<T>::row_major(values.data(), rows, cols, ld);
    }
    Panel(const Panel& other) : ld(other.ld), values(other.values) {
        view = View<T>::row_major(values.data(), other.view.rows(), other.view.cols(), ld);
    }
    Panel& operator=(const Panel&) = delete;

    Index ld;
    std::vector<T> values;
    View<T> view;
};

using Fill = std::function<double(Index, Index, std::mt19937&)>;

double uniform(Index, Index, std::mt19937& random) { return random() * 0x1p-32 - 0.5; }

template <class T>
Panel<T> make(Index rows, Index cols, const Fill& fill = uniform, Index padding = 3) {
    Panel<T> panel(rows, cols, padding);
    std::mt19937 random(static_cast<unsigned>(rows * 1000 + cols));
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) panel.view(i, j) = static_cast<T>(fill(i, j, random));
    }
    return panel;
}

struct Outcome {
    std::vector<Index> pivots;
    Index info = -1;
};

/// Factors in place and checks that every member returned the same INFO.
template <class T>
Outcome factor(View<T> panel, int members) {
    Outcome outcome{std::vector<Index>(static_cast<std::size_t>(std::min(panel.rows(), panel.cols()))), -1};
    PanelWorkspace<T> workspace(members, panel.rows(), panel.cols());
    std::vector<Index> infos(static_cast<std::size_t>(members), -1);
    reference::run_gang(members, [&](Team& team) {
        infos[static_cast<std::size_t>(team.rank())] = panel_factor(team, panel, outcome.pivots.data(), workspace);
    });
    outcome.info = infos[0];
    for (const Index info : infos) CHECK(info == outcome.info);
    return outcome;
}

/// ||A - P L U|| / (n ||A|| eps) in the one-norm, accumulated in long double.
template <class T>
double residual_ratio(View<const T> a, View<const T> lu, const std::vector<Index>& pivots) {
    const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
    if (k == 0) return 0;
    std::vector<long double> permuted(static_cast<std::size_t>(m * n));
    const View<long double> p = View<long double>::row_major(permuted.data(), m, n, n);
    long double norm = 0, error = 0;
    for (Index j = 0; j < n; ++j) {
        long double sum = 0;
        for (Index i = 0; i < m; ++i) sum += std::abs(p(i, j) = a(i, j));
        norm = std::max(norm, sum);
    }
    reference::laswp(p, pivots.data(), k);
    for (Index j = 0; j < n; ++j) {
        long double sum = 0;
        for (Index i = 0; i < m; ++i) {
            long double product = i <= j && i < k ? lu(i, j) : 0;
            for (Index q = 0; q < std::min(std::min(i, j + 1), k); ++q) {
                product += static_cast<long double>(lu(i, q)) * lu(q, j);
            }
            sum += std::abs(p(i, j) - product);
        }
        error = std::max(error, sum);
    }
    if (norm == 0) return error == 0 ? 0 : std::numeric_limits<double>::infinity();
    return static_cast<double>(error / (static_cast<long double>(n) * norm * std::numeric_limits<T>::epsilon()));
}

template <class T>
double largest_multiplier(View<const T> lu) {
    double largest = 0;
    for (Index i = 0; i < lu.rows(); ++i) {
        for (Index j = 0; j < std::min(i, lu.cols()); ++j)
            largest = std::max(largest, std::abs(static_cast<double>(lu(i, j))));
    }
    return largest;
}

template <class T>
Outcome lapack(View<const T> a) {
    const auto m = static_cast<lapack_int>(a.rows()), n = static_cast<lapack_int>(a.cols());
    std::vector<T> columns(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) columns[static_cast<std::size_t>(j * m + i)] = a(i, j);
    }
    std::vector<lapack_int> pivots(static_cast<std::size_t>(std::min(m, n)));
    Outcome outcome;
    if constexpr (std::is_same_v<T, float>) {
        outcome.info = LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, m, n, columns.data(), m, pivots.data());
    } else {
        outcome.info = LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, m, n, columns.data(), m, pivots.data());
    }
    for (const lapack_int p : pivots) outcome.pivots.push_back(p - 1);
    return outcome;
}

const std::array<int, 4> gangs{1, 2, 3, 8};

/// Ragged around the leaf (16), the block (64), and the usual trouble-makers: empty, tall, wide.
const std::array<std::array<Index, 2>, 25> shapes{
    {{0, 0},     {0, 5},   {5, 0},     {1, 1},     {1, 20},   {20, 1},    {2, 2},    {7, 15},   {16, 16},
     {17, 17},   {15, 48}, {48, 15},   {99, 48},   {47, 48},  {49, 48},   {300, 33}, {33, 300}, {515, 256},
     {1000, 64}, {64, 65}, {130, 129}, {129, 130}, {70, 300}, {400, 127}, {700, 200}}};

}  // namespace

TEMPLATE_TEST_CASE("the gang panel factors any shape with any number of threads as the reference does", "[panel]",
                   float, double) {
    using T = TestType;
    for (const auto& [m, n] : shapes) {
        const Panel<T> a = make<T>(m, n);
        Panel<T> expected(a);
        std::vector<Index> pivots(static_cast<std::size_t>(std::min(m, n)));
        REQUIRE(reference::getrf(expected.view, pivots.data()) == 0);
        for (const int members : gangs) {
            INFO(m << " x " << n << ", " << members << " threads");
            Panel<T> lu(a);
            const Outcome outcome = factor(lu.view, members);
            CHECK(outcome.info == 0);
            CHECK(outcome.pivots == pivots);
            CHECK(residual_ratio<T>(a.view, lu.view, outcome.pivots) < 30);
            CHECK(largest_multiplier<T>(lu.view) <= 1);
            for (Index i = 0; i < m; ++i) {
                for (Index j = n; j < lu.ld; ++j) REQUIRE(lu.values[static_cast<std::size_t>(i * lu.ld + j)] == T{-99});
            }
        }
    }
}

TEMPLATE_TEST_CASE("a tall panel has LAPACK's pivots and repeats bit for bit", "[panel]", float, double) {
    using T = TestType;
    const Panel<T> a = make<T>(3000, 96, uniform, 0);
    const Outcome expected = lapack<T>(a.view);
    for (const int members : gangs) {
        Panel<T> first(a), second(a);
        const Outcome outcome = factor(first.view, members);
        CHECK(outcome.pivots == expected.pivots);
        CHECK(factor(second.view, members).pivots == outcome.pivots);
        CHECK(first.values == second.values);
    }
}

TEMPLATE_TEST_CASE("pivots of an exact-integer matrix equal LAPACK's", "[panel]", float, double) {
    using T = TestType;
    // Unit lower L with entries 0, +-1/2 and U with a diagonal of powers of two: every step is exact, and the
    // magnitudes of a column tie in many rows.
    const Index m = 200, n = 40;
    Panel<T> a(m, n);
    std::mt19937 random(5);
    std::vector<double> l(static_cast<std::size_t>(m * n)), u(static_cast<std::size_t>(n * n));
    for (Index i = 0; i < m; ++i) {
        for (Index j = 0; j < n; ++j) {
            l[static_cast<std::size_t>(i * n + j)] = i == j  ? 1
                                                     : i > j ? (static_cast<int>(random() % 3) - 1) / 2.0
                                                             : 0;
        }
    }
    for (Index i = 0; i < n; ++i) {
        for (Index j = i; j < n; ++j)
            u[static_cast<std::size_t>(i * n + j)] = i == j ? 4 : static_cast<int>(random() % 3) - 1;
    }
    for (Index i = 0; i < m; ++i) {
        const Index row = (i * 37) % m;  // scattered, so that there is something to pivot
        for (Index j = 0; j < n; ++j) {
            double sum = 0;
            for (Index k = 0; k <= j; ++k)
                sum += l[static_cast<std::size_t>(i * n + k)] * u[static_cast<std::size_t>(k * n + j)];
            a.view(row, j) = static_cast<T>(sum);
        }
    }
    const Outcome expected = lapack<T>(a.view);
    for (const int members : gangs) {
        Panel<T> lu(a);
        const Outcome outcome = factor(lu.view, members);
        CHECK(outcome.pivots == expected.pivots);
        CHECK(outcome.info == expected.info);
        CHECK(residual_ratio<T>(a.view, lu.view, outcome.pivots) == 0);
    }
}

TEMPLATE_TEST_CASE("among equal magnitudes the lowest row is the pivot", "[panel]", float, double) {
    using T = TestType;
    for (const int members : gangs) {
        Panel<T> a = make<T>(500, 1, [](Index i, Index, std::mt19937&) { return i < 3 ? 1.0 : i % 2 ? -2.0 : 2.0; });
        CHECK(factor(a.view, members).pivots == std::vector<Index>{3});
        Panel<T> ones = make<T>(500, 1, [](Index, Index, std::mt19937&) { return 1.0; });
        CHECK(factor(ones.view, members).pivots == std::vector<Index>{0});
    }
}

TEMPLATE_TEST_CASE("INFO names the first pivot that is exactly zero and the factorization goes on", "[panel]", float,
                   double) {
    using T = TestType;
    for (const Index zero : {0, 1, 15, 16, 40, 63}) {
        const Panel<T> a = make<T>(200, 64, [zero](Index i, Index j, std::mt19937& random) {
            const double x = uniform(i, j, random);
            return j == zero || j == 50 ? 0.0 : x;
        });
        Panel<T> expected(a);
        std::vector<Index> pivots(64);
        const Index info = reference::getrf(expected.view, pivots.data());
        CHECK(info == std::min<Index>(zero, 50) + 1);
        for (const int members : gangs) {
            Panel<T> lu(a);
            const Outcome outcome = factor(lu.view, members);
            CHECK(outcome.info == info);
            CHECK(outcome.pivots == pivots);
            CHECK(residual_ratio<T>(a.view, lu.view, outcome.pivots) < 30);
        }
    }
    Panel<T> zeros = make<T>(40, 20, [](Index, Index, std::mt19937&) { return 0.0; });
    CHECK(factor(zeros.view, 2).info == 1);
}

TEMPLATE_TEST_CASE("a denormal pivot divides instead of overflowing", "[panel]", float, double) {
    using T = TestType;
    const T tiny = std::numeric_limits<T>::denorm_min();
    for (const int members : gangs) {
        Panel<T> a = make<T>(100, 3, [tiny](Index i, Index j, std::mt19937& random) {
            return j == 0 ? (i == 70 ? 8.0 : 4.0) * static_cast<double>(tiny) : uniform(i, j, random);
        });
        const Panel<T> original(a);
        const Outcome outcome = factor(a.view, members);
        CHECK(outcome.info == 0);
        CHECK(outcome.pivots[0] == 70);
        CHECK(a.view(1, 0) == T(0.5));
        CHECK(largest_multiplier<T>(a.view) <= 1);
        CHECK(residual_ratio<T>(original.view, a.view, outcome.pivots) < 30);
    }
}

TEMPLATE_TEST_CASE("NaN and infinity neither hang nor choose a row outside", "[panel]", float, double) {
    using T = TestType;
    constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    for (const double bad : {nan, inf, -inf}) {
        for (int where = 0; where < 4; ++where) {
            const auto fill = [bad, where](Index i, Index j, std::mt19937& random) {
                const double x = uniform(i, j, random);
                const bool hit =
                    where == 0 || (where == 1 && j == 20) || (where == 2 && i == 150) || (where == 3 && i == j);
                return hit ? bad : x;
            };
            for (const int members : gangs) {
                Panel<T> a = make<T>(200, 40, fill);
                const Outcome outcome = factor(a.view, members);
                for (Index k = 0; k < 40; ++k) {
                    CHECK(outcome.pivots[static_cast<std::size_t>(k)] >= k);
                    CHECK(outcome.pivots[static_cast<std::size_t>(k)] < 200);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("a NaN on the diagonal stays the pivot, one below it is not chosen", "[panel]", float, double) {
    using T = TestType;
    for (const int members : gangs) {
        for (const Index row : {0, 90}) {
            Panel<T> a = make<T>(100, 1, [row](Index i, Index, std::mt19937&) {
                return i == row ? std::numeric_limits<double>::quiet_NaN() : i == 60 ? 9.0 : 1.0;
            });
            CHECK(factor(a.view, members).pivots[0] == (row == 0 ? 0 : 60));
        }
    }
}

TEST_CASE("a panel that does not fit its workspace or is not row-major is refused", "[panel]") {
    TeamBarrier barrier(1);
    Team team(0, barrier);
    PanelWorkspace<double> workspace(1, 10, 5);
    std::vector<double> values(200);
    std::vector<Index> pivots(20);
    CHECK_THROWS_AS(panel_factor(team, View<double>::row_major(values.data(), 11, 5, 5), pivots.data(), workspace),
                    std::invalid_argument);
    CHECK_THROWS_AS(panel_factor(team, View<double>::row_major(values.data(), 10, 6, 6), pivots.data(), workspace),
                    std::invalid_argument);
    CHECK_THROWS_AS(panel_factor(team, View<double>::column_major(values.data(), 10, 5, 10), pivots.data(), workspace),
                    std::invalid_argument);
}

TEST_CASE("a panel's rows are dealt out without gap or overlap", "[panel]") {
    for (const Index rows : {0, 1, 7, 100, 1000}) {
        for (const Index cols : {1, 16, 256}) {
            for (int members = 1; members <= 9; ++members) {
                const RowPartition partition(rows, cols, members);
                CHECK(partition.begin(0) == 0);
                CHECK(partition.end(members - 1) == rows);
                for (int rank = 0; rank < members; ++rank) {
                    if (rank > 0) CHECK(partition.begin(rank) == partition.end(rank - 1));
                    for (Index row = partition.begin(rank); row < partition.end(rank); ++row) {
                        REQUIRE(partition.owner(row) == rank);
                    }
                }
            }
        }
    }
}

TEST_CASE("a gang far larger than the machine gives the same pivots in little time", "[panel]") {
    const Panel<double> a = make<double>(1500, 140);
    Panel<double> expected(a);
    std::vector<Index> pivots(140);
    REQUIRE(reference::getrf(expected.view, pivots.data()) == 0);
    for (const int members : {16, 24, 33}) {
        Panel<double> lu(a);
        const auto start = std::chrono::steady_clock::now();
        const Outcome outcome = factor(lu.view, members);
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
        CHECK(outcome.pivots == pivots);
        CHECK(residual_ratio<double>(a.view, lu.view, outcome.pivots) < 30);
    }
    const Panel<double> small = make<double>(20, 20);  // most members have no row
    CHECK(factor(Panel<double>(small).view, 24).pivots == factor(Panel<double>(small).view, 1).pivots);
}

TEST_CASE("one workspace serves many panels and gangs of every size under stress", "[panel][sanitize]") {
    PanelWorkspace<double> workspace(16, 120, 90);
    const Panel<double> a = make<double>(120, 90);
    Panel<double> expected(a);
    std::vector<Index> expected_pivots(90);
    reference::getrf(expected.view, expected_pivots.data());
    for (const int members : {4, 2, 3, 16}) {
        const std::size_t repeats = members > 4 ? 3 : 30;
        std::vector<Panel<double>> panels(repeats, a);
        std::vector<std::vector<Index>> pivots(repeats, std::vector<Index>(90));
        reference::run_gang(members, [&](Team& team) {
            for (std::size_t r = 0; r < repeats; ++r) panel_factor(team, panels[r].view, pivots[r].data(), workspace);
        });
        for (std::size_t r = 0; r < repeats; ++r) {
            REQUIRE(pivots[r] == expected_pivots);
            REQUIRE(panels[r].values == panels[0].values);
        }
    }
}
