// Recordings: what runs, when, on which data, and what is refused.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/recorded_kernels.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::increment;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::twice;
using basalt_tests::value;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

using Tiles = std::vector<Array<double>>;
constexpr Index side = 6;    // of a tile
constexpr int per_side = 7;  // tiles
std::size_t tile(int i, int j) { return static_cast<std::size_t>(i * per_side + j); }

Tiles diagonally_dominant_tiles(Runtime& runtime) {
    Tiles tiles;
    for (int t = 0; t < per_side * per_side; ++t) {
        const View<double> x = tiles.emplace_back(runtime, side * side).host_overwrite();
        for (Index e = 0; e < side * side; ++e) x[e] = static_cast<double>((t * 37 + e * 11) % 17) / 17 - 0.4;
        for (Index d = 0; d < side && t % (per_side + 1) == 0; ++d) x[d * side + d] += 50;
    }
    return tiles;
}

void eliminate(View<double> a) {
    for (Index k = 0; k < side; ++k) {
        for (Index i = k + 1; i < side; ++i) {
            a[i * side + k] /= a[k * side + k];
            for (Index j = k + 1; j < side; ++j) a[i * side + j] -= a[i * side + k] * a[k * side + j];
        }
    }
}
void solve_row(View<const double> lu, View<double> a) {
    for (Index k = 0; k < side; ++k) {
        for (Index i = k + 1; i < side; ++i) {
            for (Index j = 0; j < side; ++j) a[i * side + j] -= lu[i * side + k] * a[k * side + j];
        }
    }
}
void solve_column(View<const double> lu, View<double> a) {
    for (Index k = 0; k < side; ++k) {
        for (Index i = 0; i < side; ++i) {
            a[i * side + k] /= lu[k * side + k];
            for (Index j = k + 1; j < side; ++j) a[i * side + j] -= a[i * side + k] * lu[k * side + j];
        }
    }
}
void subtract_product(View<const double> a, View<const double> b, View<double> c) {
    for (Index i = 0; i < side; ++i) {
        for (Index j = 0; j < side; ++j) {
            for (Index k = 0; k < side; ++k) c[i * side + j] -= a[i * side + k] * b[k * side + j];
        }
    }
}

/// LU without pivoting, by tiles. Products run in `place`.
void submit_lu(Runtime& runtime, const Tiles& a, Place place) {
    for (int k = 0; k < per_side; ++k) {
        runtime.submit({.name = "panel", .priority = 2}, readwrite(a[tile(k, k)]), eliminate);
        for (int j = k + 1; j < per_side; ++j) {
            runtime.submit({.name = "row", .priority = 1}, read(a[tile(k, k)]), readwrite(a[tile(k, j)]), solve_row);
            runtime.submit({.name = "column", .priority = 1}, read(a[tile(k, k)]), readwrite(a[tile(j, k)]),
                           solve_column);
        }
        for (int i = k + 1; i < per_side; ++i) {
            for (int j = k + 1; j < per_side; ++j) {
                runtime.submit({.name = "product", .place = place}, read(a[tile(i, k)]), read(a[tile(k, j)]),
                               readwrite(a[tile(i, j)]), subtract_product,
                               cuda([](Stream, View<const double>, View<const double>, View<double>) {}));
            }
        }
    }
}

}  // namespace

TEST_CASE("recording runs nothing, and each run runs every task once", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    std::atomic<int> ran{0};
    Recording recording(runtime, [&] {
        for (int i = 0; i < 200; ++i) {
            runtime.submit({}, readwrite(x), [](View<long> x) { x[0] = (3 * x[0] + 1) % 1000003; });
            runtime.submit({}, read(x), [&](View<const long>) { ++ran; });
        }
    });
    CHECK(recording.size() == 400);
    runtime.wait();
    CHECK(ran == 0);
    CHECK(value(x) == 0);
    long expected = 0;
    for (int run = 0; run < 20; ++run) {
        recording.run();
        for (int i = 0; i < 200; ++i) expected = (3 * expected + 1) % 1000003;
    }
    runtime.wait();
    CHECK(ran == 200 * 20);
    CHECK(value(x) == expected);
}

TEST_CASE("runs are ordered with tasks that are submitted before and after them", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph graph(runtime);
    Array<long> x(runtime, 3), y(runtime, 1);
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x.rows(0, 1)), twice);
        runtime.submit({}, read(x.rows(0, 1)), readwrite(y), [](View<const long> x, View<long> y) { y[0] += x[0]; });
    });
    long first = 1, sum = 0;
    runtime.submit({}, write(x), [](View<long> x) { x[0] = x[1] = x[2] = 1; });
    for (int i = 0; i < 50; ++i) {
        i % 2 == 0 ? recording.run() : recording.run(graph);
        first *= 2;
        sum += first;
        runtime.submit({}, readwrite(x), [](View<long> x) { x[0] = (x[0] + 1) % 1009, ++x[1]; });
        first = (first + 1) % 1009;
    }
    CHECK(value(y) == sum);
    graph.wait();
    runtime.wait();
    CHECK(x.host_view()[0] == first);
    CHECK(x.host_view()[1] == 51);
}

TEST_CASE("a run holds no region that its tasks do not use", "[sanitize]") {
    Watchdog watchdog("regions of a run");
    Runtime runtime({.workers = 2});
    Array<long> x(runtime, 2);
    Gate gate;
    Recording recording(runtime,
                        [&] { runtime.submit({}, readwrite(x.rows(0, 1)), [&](View<long>) { gate.pass(); }); });
    Graph graph(runtime);
    recording.run(graph);
    gate.await_arrival();
    std::atomic<bool> ran{false};
    runtime.submit({}, readwrite(x.rows(1, 2)), [&](View<long>) { ran = true; });
    runtime.wait();
    CHECK(ran);
    gate.open();
    graph.wait();
}

TEST_CASE("a recording runs on other data that are bound", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::vector<Array<long>> sets[3];
    for (auto& set : sets) {
        for (int i = 0; i < 20; ++i) set.emplace_back(runtime, 4);
    }
    Recording recording(runtime, [&] {
        for (int i = 0; i < 20; ++i) {
            const auto& x = sets[0][static_cast<std::size_t>(i)];
            runtime.submit({}, readwrite(x.rows(1, 3)), [i](View<long> x) { x[0] += i, x[1] += 1; });
            AccessList list;
            list.readwrite(x.rows(2, 3));
            runtime.submit({}, list, [](const Addresses& x) { *static_cast<long*>(x[0]) *= 2; });
        }
        runtime.submit({}, readwrite(sets[0]), [](Views<long> all) {
            for (const View<long>& x : all) x[3] += 7;
        });
    });
    std::array<int, 3> runs{};
    for (const int set : {0, 1, 2, 2, 0, 1, 1, 0, 2, 1}) {
        recording.bind(sets[0], sets[set]);
        recording.run();
        ++runs[static_cast<std::size_t>(set)];
    }
    for (std::size_t s = 0; s < 3; ++s) {
        long counted = 0;
        for (int run = 0; run < runs[s]; ++run) counted = 2 * (counted + 1);
        for (int i = 0; i < 20; ++i) {
            const View<long> x = sets[s][static_cast<std::size_t>(i)].host_view();
            CHECK(x[0] == 0);
            CHECK(x[1] == i * runs[s]);
            CHECK(x[2] == counted);
            CHECK(x[3] == 7 * runs[s]);
        }
    }
}

TEST_CASE("arrays that are renamed between runs are found", "[sanitize]") {
    Watchdog watchdog("renamed arrays");
    Runtime runtime({.workers = 2});
    Array<long> x(runtime, 1), sum(runtime, 1);
    Recording recording(runtime, [&] {
        runtime.submit({}, read(x), readwrite(sum), [](View<const long> x, View<long> sum) { sum[0] += x[0]; });
    });
    for (long i = 1; i <= 100; ++i) {
        runtime.submit({}, write(x), [i](View<long> x) { x[0] = i; });
        recording.run();
    }
    CHECK(value(sum) == 5050);
    CHECK(runtime.statistics().renamed > 0);
}

TEST_CASE("an empty recording runs") {
    Runtime runtime({.workers = 2});
    Recording recording(runtime, [] {});
    recording.run();
    runtime.wait();
    CHECK(recording.size() == 0);
    Recording moved = std::move(recording);
    CHECK(recording.size() == 0);  // NOLINT(bugprone-use-after-move): what it does then is tested
    CHECK(mentions(error_of<UsageError>([&] { recording.run(); }), "was moved from"));
}

TEST_CASE("runs from several threads do not overlap", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1), y(runtime, 1), z(runtime, 1);
    std::atomic<int> inside{0}, overlaps{0};
    Recording recording(runtime, [&] {
        for (int i = 0; i < 20; ++i) {
            // these read: nothing but the recording itself orders those of two runs
            runtime.submit({}, read(x), [&, calls = 0](View<const long>) mutable {
                overlaps += inside.fetch_add(1) > 20;
                ++calls;
                --inside;
            });
        }
        runtime.submit({}, readwrite(y), increment);
    });
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            Graph graph(runtime);
            for (int i = 0; i < 30; ++i) {
                recording.bind(y, t == 0 ? z : y);
                recording.run(graph);
                if (i % 10 == t) graph.wait();
            }
            graph.wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(overlaps == 0);
    CHECK(value(y) + value(z) == 90);
}

TEST_CASE("a factorization of the user's own has the same bits, on the cores and on GPUs", "[sanitize]") {
    Watchdog watchdog("a recorded factorization");
    const int gpus = GENERATE(0, 2);
    Runtime runtime(small_machine(gpus));
    const Place place = gpus > 0 ? Place::any() : Place::cpu();
    const Tiles submitted = diagonally_dominant_tiles(runtime);
    const Tiles recorded = diagonally_dominant_tiles(runtime);
    const Tiles bound = diagonally_dominant_tiles(runtime);
    submit_lu(runtime, submitted, place);
    Recording lu(runtime, [&] { submit_lu(runtime, recorded, place); });
    lu.run();
    lu.bind(recorded, bound);
    lu.run();
    for (std::size_t t = 0; t < submitted.size(); ++t) {
        const View<double> expected = submitted[t].host_view();
        for (const Tiles* found : {&recorded, &bound}) {
            CHECK(std::memcmp((*found)[t].host_view().data(), expected.data(), side * side * sizeof(double)) == 0);
        }
    }
}
