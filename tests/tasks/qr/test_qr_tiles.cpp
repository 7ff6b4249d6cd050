// Tile QR on CPU cores, against LAPACK.
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tests/common/mentions.hpp"
#include "tests/common/shown.hpp"
#include "tests/tasks/qr/qr_oracle.hpp"
#include "tiles/tile_reflections.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

struct TileLayout {
    TileShape tile;
    std::optional<Index> panel_width, inner_width;
    QrTree tree;
};

const std::array<TileLayout, 6> layouts{{{{32, 32}, {}, 8, QrTree::never},
                                         {{24, 16}, {}, 7, QrTree::always},
                                         {{8, 20}, {}, 20, QrTree::always},
                                         {{40, 48}, 18, 5, QrTree::never},
                                         {{512, 512}, {}, 33, QrTree::always},
                                         {{}, {}, {}, QrTree::automatic}}};

QrOptions options_of(const TileLayout& layout) {
    QrOptions options;
    options.method = QrMethod::tile;
    options.panel_width = layout.panel_width;
    options.inner_width = layout.inner_width;
    options.tree = layout.tree;
    return options;
}

std::string text(const TileLayout& l) {
    return "tile " + std::to_string(l.tile.height) + "x" + std::to_string(l.tile.width) + ", panel " +
           shown(l.panel_width) + ", inner " + shown(l.inner_width) + (l.tree == QrTree::always ? ", tree" : "");
}

/// Domains of two tiles, so that small matrices have trees.
Config with_workers(int workers) {
    Config config;
    config.workers = workers;
    TuningTables tables = TuningTables::built_in();
    for (CpuTuning& cpu : tables.cpus) cpu.qr.domain_tiles = 2;
    config.tuning = std::make_shared<const TuningTables>(std::move(tables));
    return config;
}

/// A, R and Q, whose columns are as many as R's rows.
template <class T>
struct TileQr {
    Dense<T> r;
    Dense<T> q;
    Index info;
};

template <class T>
TileQr<T> factor(Runtime& rt, const Dense<T>& a, TileShape tile, const QrOptions& options) {
    auto tiles = Matrix<T>::from_columns(rt, a.values.data(), a.m, a.n, a.ld, tile);
    const auto qr = qr_factor(rt, tiles, options);
    const Matrix<T> q = qr_form(rt, qr);
    TileQr<T> result{Dense<T>(a.m, a.n), Dense<T>(a.m, std::min(a.m, a.n)), qr.info()};
    tiles.store(result.r.view());
    q.store(result.q.view());
    rt.wait();
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = j + 1; i < a.m; ++i) result.r(i, j) = 0;
    }
    return result;
}

template <class T>
void check_ratios(const Dense<T>& a, const TileQr<T>& f) {
    check_qr_ratios(qr_ratios(a, in_double(f.q), in_double(f.r)));
}

}  // namespace

TEST_CASE("the reflections of a panel cover its rows once and end in one triangle", "[qr]") {
    for (const auto& [first, rows, width, height, domain] : {std::array<Index, 5>{0, 10, 10, 4, 2},
                                                             {0, 100, 8, 8, 1},
                                                             {40, 100, 7, 16, 2},
                                                             {93, 100, 7, 3, 1},
                                                             {0, 1000, 5, 10, 3},
                                                             {15, 1001, 5, 10, 3},
                                                             {0, 33, 16, 8, 1},
                                                             {3, 64, 1, 8, 0}}) {
        INFO(first << ", " << rows << ", " << width << ", " << height << ", " << domain);
        std::vector<int> covered(static_cast<std::size_t>(rows));
        std::vector<Index> heads;
        std::vector<char> alive;
        for (const TileReflection& x : tile_reflections(first, rows, width, height, domain)) {
            if (x.kind == TileReflection::Kind::triangle) {
                REQUIRE(heads[static_cast<std::size_t>(x.other)] == x.begin);
                REQUIRE(alive[static_cast<std::size_t>(x.other)] == 1);
                alive[static_cast<std::size_t>(x.other)] = 0;
            } else {
                for (Index row = x.begin; row < x.end; ++row) ++covered[static_cast<std::size_t>(row)];
                if (x.kind == TileReflection::Kind::head) {
                    CHECK(x.end - x.begin >= width);
                    heads.push_back(x.begin);
                    alive.push_back(1);
                }
            }
            REQUIRE(x.top == heads[static_cast<std::size_t>(x.domain)]);
            REQUIRE(alive[static_cast<std::size_t>(x.domain)] == 1);
        }
        for (Index row = 0; row < rows; ++row) CHECK(covered[static_cast<std::size_t>(row)] == (row >= first ? 1 : 0));
        CHECK(heads.front() == first);
        CHECK(std::count(alive.begin(), alive.end(), 1) == 1);
        if (domain == 0) CHECK(heads.size() == 1);
    }
}

TEMPLATE_TEST_CASE("tile QR of any shape has LAPACK's ratios with any tiles and trees", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(3));
    for (const auto& [m, n] : qr_shapes) {
        const Dense<T> a = random_dense<T>(m, n, static_cast<unsigned>(m * 1000 + n));
        for (const TileLayout& layout : layouts) {
            INFO(m << " x " << n << ", " << text(layout));
            check_ratios(a, factor(rt, a, layout.tile, options_of(layout)));
        }
    }
}

TEMPLATE_TEST_CASE("R of tile QR is LAPACK's but for the signs of its rows", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{150, 100}, {100, 150}, {90, 90}, {400, 50}}) {
        const Dense<T> a = random_dense<T>(m, n, 9);
        const QrResult<T> expected = lapack_geqrf(a);
        for (const TileLayout& layout : layouts) {
            INFO(m << " x " << n << ", " << text(layout));
            const Dense<T> r = factor(rt, a, layout.tile, options_of(layout)).r;
            double error = 0;
            for (Index i = 0; i < std::min(m, n); ++i) {
                const T sign = (r(i, i) < 0) == (expected.a(i, i) < 0) ? T{1} : T{-1};
                for (Index j = i; j < n; ++j)
                    error = std::max(error, double(std::abs(sign * r(i, j) - expected.a(i, j))));
            }
            CHECK(error < 3000 * roundoff<T>);
        }
    }
}

TEMPLATE_TEST_CASE("tile QR of ill-conditioned, deficient and badly scaled matrices keeps residual and orthogonality",
                   "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{140, 140}, {300, 70}, {70, 150}}) {
        for (const HardMatrix<T>& hard : hard_matrices<T>(m, n)) {
            for (const TileLayout& layout : {layouts[0], layouts[1], layouts[4]}) {
                INFO(hard.what << ", " << m << " x " << n << ", " << text(layout));
                check_ratios(hard.a, factor(rt, hard.a, layout.tile, options_of(layout)));
            }
        }
    }
}

TEMPLATE_TEST_CASE("Q of tile QR and its transpose are applied from both sides as the matrix that is formed", "[qr]",
                   float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{90, 60}, {60, 90}, {1, 1}, {200, 7}}) {
        const Dense<T> a = random_dense<T>(m, n, 21);
        for (const TileLayout& layout : {layouts[0], layouts[1], layouts[3]}) {
            auto tiles = Matrix<T>::from_columns(rt, a.values.data(), m, n, a.ld, layout.tile);
            const auto qr = qr_factor(rt, tiles, options_of(layout));
            CHECK(qr.method() == QrMethod::tile);
            const Matrix<T> formed = qr_form(rt, qr, m);
            Dense<T> q(m, m);
            formed.store(q.view());
            rt.wait();
            for (const QrSide side : {QrSide::left, QrSide::right}) {
                for (const QrOp op : {QrOp::plain, QrOp::transposed}) {
                    const bool left = side == QrSide::left;
                    const Dense<T> c = left ? random_dense<T>(m, 37, 5) : random_dense<T>(37, m, 5);
                    auto ours = Matrix<T>::from_columns(rt, c.values.data(), c.m, c.n, c.ld, {24, 16});
                    qr_apply(rt, qr, side, op, ours);
                    Dense<T> got(c.m, c.n);
                    ours.store(got.view());
                    rt.wait();
                    double error = 0;
                    for (Index i = 0; i < c.m; ++i) {
                        for (Index j = 0; j < c.n; ++j) {
                            double sum = 0;
                            for (Index k = 0; k < m; ++k) {
                                const double element = left ? (op == QrOp::plain ? q(i, k) : q(k, i))
                                                            : (op == QrOp::plain ? q(k, j) : q(j, k));
                                sum += element * double(left ? c(k, j) : c(i, k));
                            }
                            error = std::max(error, std::abs(double(got(i, j)) - sum));
                        }
                    }
                    INFO(m << " x " << n << ", " << text(layout) << (left ? ", left" : ", right")
                           << (op == QrOp::plain ? "" : " transposed"));
                    CHECK(error < 100 * roundoff<T>);
                }
            }
        }
    }
}

TEMPLATE_TEST_CASE("least squares by tiles are LAPACK's gels", "[qr]", float, double) {
    using T = TestType;
    Runtime rt(with_workers(2));
    for (const auto& [m, n] : {std::array<Index, 2>{90, 60}, {60, 90}, {45, 45}, {3000, 20}, {2, 300}, {1, 1}}) {
        for (const QrMethod method : {QrMethod::tile, QrMethod::automatic}) {
            const Index nrhs = 5;
            const Dense<T> a = random_dense<T>(m, n, 23, 2), all = random_dense<T>(std::max(m, n), nrhs, 24, 3);
            Dense<T> factors = a, x = all;
            QrOptions options;
            options.method = method;
            const Index info =
                least_squares<T>(rt, m, n, nrhs, factors.values.data(), factors.ld, x.values.data(), x.ld, options);
            INFO(m << " x " << n);
            CHECK(info == 0);
            CHECK(factors.gap_untouched());
            CHECK(x.gap_untouched());
            check_gels(a, all, x);
        }
    }
}

TEST_CASE("least squares by tiles of deficient matrices report gels' INFO and leave B alone", "[qr]") {
    Runtime rt(with_workers(2));
    QrOptions options;
    options.method = QrMethod::tile;
    for (const auto& [m, n] : {std::array<Index, 2>{600, 20}, {20, 50}}) {
        Dense<double> a = random_dense<double>(m, n, 3);
        for (Index i = 0; i < std::max(m, n); ++i) (m >= n ? a(i, 7) : a(7, i)) = 0;
        Dense<double> b = random_dense<double>(std::max(m, n), 2, 4);
        const Dense<double> before = b;
        CHECK(least_squares<double>(rt, m, n, 2, a.values.data(), a.ld, b.values.data(), b.ld, options) == 8);
        CHECK(b.values == before.values);
    }
}

TEST_CASE("a NaN makes NaN of tile QR's R from its column on and leaves what is left of it", "[qr]") {
    Runtime rt(with_workers(2));
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        for (const TileLayout& layout : {layouts[0], layouts[1]}) {
            Dense<double> a = random_dense<double>(120, 100, 3);
            a(100, 53) = bad;
            const Dense<double> r = factor(rt, a, layout.tile, options_of(layout)).r;
            for (Index j = 0; j < a.n; ++j) {
                if (j >= 53) CHECK(std::isnan(r(j, j)));
                for (Index i = 0; i <= j && j < 53; ++i) CHECK(std::isfinite(r(i, j)));
            }
        }
    }
}

TEST_CASE("tile QR gives the same bits with any number of workers and in any order", "[qr][sanitize]") {
    const Dense<double> a = random_dense<double>(260, 90, 11);
    for (const TileLayout& layout : {layouts[0], layouts[1]}) {
        std::vector<TileQr<double>> results;
        for (const char* const scheduler : {"priority", "fifo"}) {
            for (const int workers : {1, 4}) {
                Config config = with_workers(workers);
                config.scheduler = scheduler;
                Runtime rt(config);
                results.push_back(factor(rt, a, layout.tile, options_of(layout)));
                CHECK(largest_difference(results.back().r, results.front().r) == 0);
                CHECK(largest_difference(results.back().q, results.front().q) == 0);
            }
        }
    }
}

namespace {

/// What the UsageError says that `use` ends with; empty where there is none.
template <class F>
std::string refusal(const F& use) {
    try {
        use();
    } catch (const UsageError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("the shapes that get a tree are the tuning table's", "[qr]") {
    const auto with_trees = [](double from_bytes, double from_aspect) {
        TuningTables tables = TuningTables::built_in();
        for (CpuTuning& cpu : tables.cpus) {
            cpu.qr.domain_tiles = 2;
            cpu.qr.tree_bytes = from_bytes;
            cpu.qr.domain_aspect = from_aspect;
        }
        Config config;
        config.workers = 2;
        config.tuning = std::make_shared<const TuningTables>(std::move(tables));
        return config;
    };
    const Dense<double> a = random_dense<double>(1500, 10, 31);
    const double bytes_a_thread = 1500 * 10 * sizeof(double) / 2.0;
    for (const QrMethod method : {QrMethod::blocked, QrMethod::tile}) {
        const auto r = [&](const Config& config, QrTree tree) {
            Runtime rt(config);
            QrOptions options;
            options.method = method;
            options.tree = tree;
            if (method == QrMethod::blocked) options.panel_threads = 2;
            return factor(rt, a, {64, 10}, options).r;
        };
        const Config tall = with_trees(bytes_a_thread, 150), short_ones = with_trees(bytes_a_thread + 1, 151);
        const Dense<double> always = r(tall, QrTree::always), never = r(tall, QrTree::never);
        INFO((method == QrMethod::tile ? "tile" : "blocked"));
        CHECK(largest_difference(always, never) > 0);
        CHECK(largest_difference(r(tall, QrTree::automatic), always) == 0);
        CHECK(largest_difference(r(short_ones, QrTree::automatic), never) == 0);
    }
}

TEST_CASE("what tile QR has not is refused and named", "[qr]") {
    Config config;
    config.workers = 1;
    config.emulation.gpus = 1;
    Runtime rt(config);
    Matrix<double> a(rt, 10, 6);
    QrOptions options;
    options.method = QrMethod::tile;
    for (const QrMode mode : {QrMode::gpu, QrMode::hybrid}) {
        options.mode = mode;
        CHECK(mentions(refusal([&] { qr_factor(rt, a, options); }), "allowed is blocked, or mode cpu"));
    }
    options = {};
    options.mode = QrMode::gpu;
    options.tree = QrTree::always;
    CHECK(mentions(refusal([&] { qr_factor(rt, a, options); }), "allowed is automatic or never, or mode cpu"));
    options = {};
    options.method = QrMethod::tile;
    options.panel_threads = 2;
    CHECK(mentions(refusal([&] { qr_factor(rt, a, options); }), "allowed is nothing, or method blocked"));
    options = {};
    options.inner_width = 4;
    CHECK(mentions(refusal([&] { qr_factor(rt, a, options); }), "allowed is nothing, or method tile"));
    options.inner_width = -4;
    CHECK_THROWS_AS(qr_factor(rt, a, options), UsageError);
    options = {};
    options.method = QrMethod::tile;
    double x[4] = {};
    CHECK(mentions(refusal([&] { qr_factor<double>(rt, 2, 2, x, 2, x, options); }), "allowed is blocked"));
    CHECK(mentions(refusal([&] { qr_factor(rt, a, options).tau(); }), "QrMethod::blocked"));
    rt.wait();
}
