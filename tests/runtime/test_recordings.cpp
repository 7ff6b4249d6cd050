// Recordings: what runs, when, on which data, and what is refused.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/cholesky.hpp"
#include "basalt/graph.hpp"
#include "basalt/hooks.hpp"
#include "basalt/matrix.hpp"
#include "basalt/policy.hpp"
#include "basalt/recording.hpp"
#include "basalt/routine.hpp"
#include "basalt/runtime.hpp"
#include "basalt/token.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

void increment(View<long> x) { ++x[0]; }
/// Does not commute with increment().
void twice(View<long> x) { x[0] *= 2; }
void fail(View<long>) { throw std::runtime_error("boom"); }

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

long value(const Array<long>& x) { return x.host_view()[0]; }

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

TEST_CASE("what may not be bound is refused by name") {
    Runtime runtime({.workers = 2});
    Runtime other_runtime({.workers = 2});
    Array<long> x(runtime, 4, "x"), y(runtime, 4, "y"), z(runtime, 4, "z"), shorter(runtime, 3, "short");
    Array<long> elsewhere(other_runtime, 4, "elsewhere");
    Recording recording(
        runtime, [&] { runtime.submit({}, read(x), readwrite(y), [](View<const long>, View<long> y) { ++y[0]; }); });
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(z, x); }), "no recorded task accesses 'z'"));
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(x, shorter); }),
                   "'short' has 3 elements of 8 bytes; allowed are 4 elements of 8 bytes, as 'x' has"));
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(x, elsewhere); }), "belongs to another Runtime"));
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(Array<long>(), x); }), "the first array"));
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(x, Array<long>()); }), "empty or was released"));
    const std::vector<Array<long>> none;
    const std::vector<Array<long>> one = [&] {
        std::vector<Array<long>> arrays;
        arrays.emplace_back(runtime, 4);
        return arrays;
    }();
    CHECK(mentions(error_of<UsageError>([&] { recording.bind(none, one); }), "ranges of 0 and 1 arrays"));
    recording.bind(x, y);
    CHECK(mentions(error_of<UsageError>([&] { recording.run(); }), "'y' bound to both 'x' and 'y'"));
    recording.bind(y, x);  // exchanged: different again
    recording.run();
    CHECK(x.host_view()[0] == 1);
    CHECK(y.host_view()[0] == 0);
    recording.bind(x, z);
    z.release();
    CHECK(mentions(error_of<UsageError>([&] { recording.run(); }), "released: 'z'"));
    runtime.wait();
}

TEST_CASE("only submit() is allowed while a recording is made") {
    Runtime runtime(small_machine(1));
    Graph graph(runtime);
    Array<long> x(runtime, 1, "x");
    const TaskHandle done = runtime.submit({}, [] {});
    std::optional<Recording> other(std::in_place, runtime, [] {});
    Matrix<double> a(runtime, 8, 8);
    const auto refused = [&](const auto& what) { return error_of<UsageError>([&] { Recording(runtime, what); }); };
    CHECK(mentions(refused([&] { runtime.wait(); }), "wait() while a Recording is made"));
    CHECK(mentions(refused([&] { x.host_view(); }), "while a Recording is made"));
    CHECK(mentions(refused([&] { runtime.prefetch(x, Place::gpu(0)); }), "prefetch() while"));
    CHECK(mentions(refused([&] { graph.submit({}, readwrite(x), increment); }), "while a Recording is made"));
    CHECK(mentions(refused([&] { other->run(); }), "running a Recording while a Recording is made"));
    CHECK(mentions(refused([&] { Recording(runtime, [] {}); }), "making a Recording while a Recording is made"));
    CHECK(mentions(refused([&] { cholesky_factor(runtime, a); }), "allowed in a Recording are arrays"));
    CHECK(mentions(
        refused([&] { runtime.submit({.place = Place::gpu(3)}, readwrite(x), increment, cuda([](Stream) {})); }),
        "Place::gpu(3)"));
    CHECK(mentions(refused([&] { runtime.submit({}, after(done), readwrite(x), increment); }),
                   "not part of the Recording"));
    CHECK(mentions(refused([&] { runtime.submit({}, reduce(x, 0L, std::plus<>()), increment); }), "reduce() while"));
    CHECK(mentions(refused([&] { runtime.submit({.name = "seven"}, [] { return 7; }); }), "'seven' returns a value"));
    CHECK(mentions(refused([&] { runtime.submit({}, []() -> Routine<> { co_return; }); }), "is a coroutine"));
    CHECK(mentions(refused([&] { runtime.parallel_for({0, 9}, 0, [](Index) {}); }), "while a Recording is made"));
    CHECK(refused([&] { throw UsageError("mine"); }) == "mine");
    std::string inside;
    runtime.submit({}, [&] { inside = error_of<UsageError>([&] { Recording(runtime, [] {}); }); });
    runtime.wait();
    CHECK(mentions(inside, "it is made outside tasks"));
    CHECK(value(x) == 0);
}

TEST_CASE("arrays may be made and destroyed while a recording is made; other threads submit as ever") {
    Watchdog watchdog("a recording and what else happens");
    Runtime runtime({.workers = 2});
    Array<long> x(runtime, 1);
    Array<long> kept;
    Recording recording(runtime, [&] {
        const Array<long> short_lived(runtime, 3);
        kept = Array<long>(runtime, 1);
        runtime.submit({}, readwrite(kept), increment);
        std::thread([&] { runtime.submit({}, readwrite(x), increment); }).join();
    });
    CHECK(value(x) == 1);
    CHECK(recording.size() == 1);
    recording.run();
    CHECK(value(kept) == 1);
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

TEST_CASE("an error inside a run reaches its graph; what depends on it does not run", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph graph(runtime);
    Array<long> x(runtime, 1, "x"), y(runtime, 1, "y"), z(runtime, 1, "z");
    std::atomic<bool> fails{true};
    std::atomic<int> wrong{0};
    Recording recording(runtime, [&] {
        runtime.submit({.name = "start"}, write(x), [](View<long> x) { x[0] = 1; });
        runtime.submit({.name = "bad", .tile = {2, 3}}, readwrite(x), [&](View<long> x) {
            if (fails) throw std::runtime_error("boom");
            x[0] = 5;
        });
        runtime.submit({.name = "use"}, read(x), write(y), [&](View<const long> x, View<long> y) {
            wrong += fails;
            y[0] = x[0];
        });
    });
    runtime.submit({}, write(z), [](View<long> z) { z[0] = 9; });
    recording.run(graph);
    runtime.submit({.name = "behind"}, read(y), readwrite(z), [&](View<const long>, View<long>) { ++wrong; });
    try {
        graph.wait();
        FAIL("no error");
    } catch (const TaskError& error) {
        CHECK(error.task() == "bad(2,3)");
        CHECK(mentions(error.what(), "boom"));
        CHECK(mentions(error.what(), "readwrite x"));
    }
    CHECK(mentions(error_of<DataError>([&] { runtime.wait(); }), "task behind did not run"));
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), "task bad(2,3) failed"));
    CHECK_THROWS_AS(value(y), DataError);
    CHECK(wrong == 0);
    // a run that overwrites everything makes it valid
    fails = false;
    recording.run(graph);
    graph.wait();
    CHECK(value(x) == 5);
    CHECK(value(y) == 5);
}

TEST_CASE("tasks of a run that do not depend on data without contents run", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph failing(runtime), graph(runtime);
    Array<long> x(runtime, 1, "x"), y(runtime, 1, "y");
    Recording recording(runtime, [&] {
        runtime.submit({.name = "of x"}, readwrite(x), increment);
        runtime.submit({.name = "of y"}, readwrite(y), increment);
    });
    failing.submit({}, readwrite(x), fail);
    recording.run(graph);
    CHECK(mentions(error_of<DataError>([&] { graph.wait(); }), "task of x did not run"));
    CHECK(value(y) == 1);
    CHECK_THROWS_AS(failing.wait(), TaskError);
}

TEST_CASE("cancel() drops the tasks of runs that have not begun", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Graph graph(runtime);
    Array<long> x(runtime, 1, "x"), y(runtime, 1, "y");
    std::atomic<int> ran{0};
    std::atomic<bool> cancelled{false};
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), [&](View<long>) {
            ++ran;
            if (!cancelled.exchange(true)) runtime.cancel();
        });
        runtime.submit({}, readwrite(x), [&](View<long>) { ++ran; });
        runtime.submit({}, write(y), [&](View<long>) { ++ran; });
    });
    recording.run(graph);
    recording.run(graph);
    CHECK_THROWS_AS(graph.wait(), Cancelled);
    CHECK(ran <= 2);  // the third task depends on no other one
    CHECK_THROWS_AS(value(x), DataError);
    x.host_overwrite()[0] = 0;
    y.host_overwrite()[0] = 0;
    ran = 1;
    recording.run(graph);
    graph.wait();
    CHECK(ran == 4);
    CHECK(value(x) == 0);
}

TEST_CASE("a recorded task completes when its children have", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 40), y(runtime, 40), sum(runtime, 1);
    const bool waits = GENERATE(false, true);
    const auto add_ones = [&](const Array<long>& x, View<long> all) {
        for (Index i = 0; i < 40; ++i) runtime.submit({}, readwrite(x.rows(i, i + 1)), increment);
        if (!waits) return;
        runtime.wait();
        for (Index i = 0; i < 40; ++i) ++all[i];
    };
    const Array<long>* bound = &x;
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), [&](View<long> all) { add_ones(*bound, all); });
        runtime.submit({}, read(x), readwrite(sum), [](View<const long> x, View<long> sum) {
            for (Index i = 0; i < 40; ++i) sum[0] += x[i];
        });
    });
    long expected = 0;
    for (long run = 1; run <= 20; ++run) {
        recording.run();
        expected += 40 * run * (waits ? 2 : 1);
    }
    CHECK(value(sum) == expected);
    bound = &y;
    recording.bind(x, y);
    recording.run();
    CHECK(value(sum) == expected + 40 * (waits ? 2 : 1));
    bound = &x;
    recording.run();
    CHECK(mentions(error_of<TaskError>([&] { runtime.wait(); }), "which its parent task 'task' does not hold"));
}

TEST_CASE("a recording runs inside a task as its children", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1, "x");
    auto captured = std::make_unique<long>(3);  // a kernel that cannot be copied
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), [captured = std::move(captured)](View<long> x) { x[0] += *captured; });
        runtime.submit({}, readwrite(x), twice);
    });
    recording.run();
    runtime.submit({.name = "outer"}, readwrite(x), [&](View<long> x) {
        recording.run();
        runtime.wait();
        x[0] += 1;
        recording.run();
    });
    recording.run();
    const auto once = [](long x) { return (x + 3) * 2; };
    CHECK(value(x) == once(once(once(once(0)) + 1)));
    runtime.submit({.name = "stranger"}, [&] { recording.run(); });
    CHECK(mentions(error_of<TaskError>([&] { runtime.wait(); }), "which its parent task 'stranger' does not hold"));
}

TEST_CASE("a recording runs inside a task after runs on other data", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1, "x"), y(runtime, 1, "y"), z(runtime, 1, "z");
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), increment);
        runtime.submit({}, readwrite(x), twice);
    });
    recording.bind(x, y);
    recording.run();
    runtime.submit({}, readwrite(y), [&](View<long>) { recording.run(); });
    runtime.wait();  // a run takes what is bound when it is called
    recording.bind(x, z);
    recording.run();
    recording.bind(x, x);
    recording.run();
    runtime.submit({}, readwrite(x), [&](View<long>) { recording.run(); });
    runtime.wait();
    const auto once = [](long x) { return (x + 1) * 2; };
    CHECK(value(x) == once(once(0)));
    CHECK(value(y) == once(once(0)));
    CHECK(value(z) == once(0));
}

TEST_CASE("a task of a recording runs another recording", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    Recording inner(runtime, [&] {
        for (int i = 0; i < 10; ++i) runtime.submit({}, readwrite(x), increment);
    });
    Recording outer(runtime, [&] {
        runtime.submit({}, readwrite(x), [&](View<long>) { inner.run(); });
        runtime.submit({}, readwrite(x), twice);
    });
    for (int run = 0; run < 5; ++run) outer.run();
    CHECK(value(x) == ((((10 * 2 + 10) * 2 + 10) * 2 + 10) * 2 + 10) * 2);
}

TEST_CASE("gangs and tasks on GPUs run as they do without a recording", "[sanitize]") {
    Watchdog watchdog("recorded gangs and GPU tasks");
    Runtime runtime(small_machine(2));
    Array<long> x(runtime, 1), y(runtime, 1);
    std::atomic<int> members{0};
    Recording recording(runtime, [&] {
        runtime.submit({.place = Place::gpu(0)}, readwrite(x), increment, cuda([](Stream, View<long>) {}));
        runtime.submit({.threads = {2, 2}}, readwrite(x), [&](const Team& team, View<long> x) {
            ++members;
            if (team.rank() == 0) x[0] *= 2;
        });
        runtime.submit(
            {.place = Place::gpu(1)}, read(x), readwrite(y), [](View<const long> x, View<long> y) { y[0] += x[0]; },
            cuda([](Stream) {}));
    });
    for (int run = 0; run < 3; ++run) recording.run();
    CHECK(value(x) == ((0 + 1) * 2 + 1) * 2 * 2 + 2);
    CHECK(value(y) == 2 + 6 + 14);
    CHECK(members == 6);
    Array<long> other(runtime, 1);
    recording.bind(x, other);
    recording.run();
    CHECK(value(other) == 2);
    CHECK(value(x) == 14);
    runtime.wait();
}

TEST_CASE("data that a GPU has used come home for a run on the cores", "[sanitize]") {
    Watchdog watchdog("a run on the cores of a machine with GPUs");
    Config config = small_machine(1);
    config.policy = GENERATE(from_range(policy_names()));
    Runtime runtime(config);
    Array<long> x(runtime, 1);
    Recording recording(runtime, [&] { runtime.submit({}, readwrite(x), twice); });
    const auto on_gpu = [&] {
        runtime.submit({.place = Place::gpu(0)}, readwrite(x), increment, cuda([](Stream, View<long>) {}));
    };
    for (int i = 0; i < 4; ++i) {
        on_gpu();
        recording.run();
    }
    CHECK(value(x) == (((2 + 1) * 2 + 1) * 2 + 1) * 2);
}

TEST_CASE("commuting tasks of a recording keep their order, and exclude each other", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    Recording recording(runtime, [&] {
        for (int i = 0; i < 50; ++i) {
            runtime.submit({}, commute(x), increment);
            runtime.submit({}, commute(x), [](View<long> x) { x[0] = x[0] * 3 % 10007; });
        }
    });
    long expected = 0;
    for (int run = 0; run < 3; ++run) {
        recording.run();
        for (int i = 0; i < 50; ++i) expected = (expected + 1) * 3 % 10007;
    }
    CHECK(value(x) == expected);
}

TEST_CASE("tasks of larger priority run first") {
    Watchdog watchdog("priorities in a recording");
    Runtime runtime({.workers = 1});
    std::vector<int> order;
    Array<long> x(runtime, 1);
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), [](View<long>) {});
        for (const int priority : {0, 3, -2, 7, 5}) {
            runtime.submit({.priority = priority}, read(x),
                           [&order, priority](View<const long>) { order.push_back(priority); });
        }
    });
    recording.run();
    runtime.wait();
    CHECK(order == std::vector<int>{7, 5, 3, 0, -2});
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

TEST_CASE("a recording may be destroyed while it runs", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    const auto witness = std::make_shared<int>(0);
    Gate gate;
    {
        Recording recording(runtime, [&] {
            runtime.submit({}, [&gate] { gate.pass(); });
            runtime.submit({}, readwrite(x), [witness](View<long> x) { ++x[0]; });
        });
        recording.run();
        recording.run();
    }
    CHECK(witness.use_count() == 2);
    gate.open();
    runtime.wait();
    CHECK(value(x) == 2);
    CHECK(basalt_tests::comes_true([&] { return witness.use_count() == 1; }));
}

TEST_CASE("a recording outlives its runtime and its arrays") {
    const auto witness = std::make_shared<int>(0);
    std::optional<Recording> recording;
    Array<long> x;
    {
        Runtime runtime({.workers = 2});
        x = Array<long>(runtime, 1, "x");
        Array<long> y(runtime, 1, "y");
        recording.emplace(runtime, [&] {
            runtime.submit({}, readwrite(x), [witness](View<long> x) { ++x[0]; });
            runtime.submit({}, readwrite(y), increment);
        });
        recording->run();
        y.release();
        CHECK(mentions(error_of<UsageError>([&] { recording->run(); }), "released: 'y'"));
        recording->bind(x, x);
    }
    CHECK(mentions(error_of<UsageError>([&] { recording->run(); }), "runtime has ended"));
    CHECK(mentions(error_of<UsageError>([&] { recording->bind(x, x); }), "runtime has ended"));
    CHECK(witness.use_count() == 2);
    recording.reset();
    CHECK(witness.use_count() == 1);
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

TEST_CASE("tokens order recorded tasks, and loops are recorded", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    const Token token = runtime.token("order");
    Array<long> x(runtime, 1000), y(runtime, 1000);
    std::vector<int> order;  // who writes the token writes this
    Recording recording(runtime, [&] {
        for (int i = 0; i < 5; ++i) runtime.submit({}, readwrite(token), [&order, i] { order.push_back(i); });
        const TaskHandle loop = runtime.submit_for(
            {}, {0, 1000}, 10, [](Index i, View<long> x) { x[i] += i; }, readwrite(x));
        CHECK_FALSE(loop.valid());
        CHECK(loop.done());
    });
    recording.run();
    recording.run();
    recording.bind(x, y);
    recording.run();
    runtime.wait();
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
    CHECK(x.host_view()[999] == 2 * 999);
    CHECK(y.host_view()[999] == 999);
}

TEST_CASE("who observes tasks is told of recorded ones") {
    struct Counter final : TaskHooks {
        std::atomic<int> started{0}, ended{0}, failed{0};
        void task_started(const TaskInfo& info) override { started += std::string(info.name) == "step"; }
        void task_ended(const TaskInfo& info) override {
            ended += std::string(info.name) == "step";
            failed += info.failed;
        }
    };
    const auto counter = std::make_shared<Counter>();
    Config config = small_machine();
    config.hooks = counter;
    config.statistics = true;
    Runtime runtime(config);
    Array<long> x(runtime, 1);
    bool fails = false;
    Recording recording(runtime, [&] {
        for (int i = 0; i < 10; ++i) runtime.submit({.name = "step"}, readwrite(x), increment);
        runtime.submit({.name = "last"}, readwrite(x), [&](View<long>) {
            if (fails) throw std::runtime_error("boom");
        });
    });
    recording.run();
    runtime.wait();
    fails = true;
    recording.run();
    CHECK_THROWS_AS(runtime.wait(), TaskError);
    CHECK(counter->started == 20);
    CHECK(counter->ended == 20);
    CHECK(counter->failed == 1);
    for (const TaskStatistics& task : runtime.statistics().by_name) {
        if (task.name == "step") CHECK(task.count == 20);
    }
}

TEST_CASE("many readers of one datum in a recording", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1), sums(runtime, 300);
    Recording recording(runtime, [&] {
        runtime.submit({}, readwrite(x), increment);
        for (Index i = 0; i < 300; ++i) {
            runtime.submit({}, read(x), readwrite(sums.rows(i, i + 1)),
                           [](View<const long> x, View<long> sum) { sum[0] += x[0]; });
        }
        runtime.submit({}, readwrite(x), increment);
    });
    for (int run = 0; run < 10; ++run) recording.run();
    const View<long> found = sums.host_view();
    for (Index i = 0; i < 300; ++i) CHECK(found[i] == 1 + 3 + 5 + 7 + 9 + 11 + 13 + 15 + 17 + 19);
}

TEST_CASE("a trace has the recorded tasks and what they wait for") {
    Runtime runtime({.workers = 2});
    Array<long> x(runtime, 1);
    Recording recording(runtime, [&] {
        for (int i = 0; i < 10; ++i) runtime.submit({.name = "step", .tile = {i}}, readwrite(x), increment);
    });
    runtime.start_trace();
    recording.run();
    recording.run();
    runtime.wait();
    const Trace trace = runtime.take_trace();
    int events = 0, edges = 0;
    for (const TraceEvent& event : trace.events) {
        if (std::string(event.name) != "step") continue;
        ++events;
        edges += static_cast<int>(event.after.size());
    }
    CHECK(events == 20);
    CHECK(edges == 18);
    CHECK(runtime.statistics().tasks == 20);
}
