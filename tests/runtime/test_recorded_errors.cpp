// Recordings that fail, are cancelled or destroyed, and what they refuse.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/cholesky.hpp"
#include "basalt/graph.hpp"
#include "basalt/matrix.hpp"
#include "basalt/recording.hpp"
#include "basalt/routine.hpp"
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
using basalt_tests::fail;
using basalt_tests::Gate;
using basalt_tests::increment;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::value;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

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
    CHECK(mentions(error_of<UsageError>([&] { recording.run(); }), "has ended: 'z'"));
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
        CHECK(mentions(error_of<UsageError>([&] { recording->run(); }), "has ended: 'y'"));
        recording->bind(x, x);
    }
    CHECK(mentions(error_of<UsageError>([&] { recording->run(); }), "runtime has ended"));
    CHECK(mentions(error_of<UsageError>([&] { recording->bind(x, x); }), "runtime has ended"));
    CHECK(witness.use_count() == 2);
    recording.reset();
    CHECK(witness.use_count() == 1);
}
