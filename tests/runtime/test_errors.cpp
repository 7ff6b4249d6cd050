// Tasks that throw and graphs that are cancelled: the first error wins, what depends on it never runs, the
// runtime goes on.
#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "basalt/array.hpp"
#include "basalt/error.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "basalt/task_handle.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::comes_true;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

/// Collects what is logged while it lives.
class LogCapture {
  public:
    LogCapture() : before_(spdlog::default_logger()) {
        spdlog::set_default_logger(
            std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
    }
    ~LogCapture() { spdlog::set_default_logger(before_); }
    LogCapture(const LogCapture&) = delete;
    LogCapture& operator=(const LogCapture&) = delete;
    std::string text() const { return text_.str(); }

  private:
    std::ostringstream text_;
    std::shared_ptr<spdlog::logger> before_;
};

/// Throws when it is moved for the `fuse`th time.
struct ThrowsWhenMoved {
    explicit ThrowsWhenMoved(int& fuse) : fuse(&fuse) {}
    ThrowsWhenMoved(ThrowsWhenMoved&& other) : fuse(other.fuse) { burn(); }
    ThrowsWhenMoved(const ThrowsWhenMoved& other) : fuse(other.fuse) { burn(); }
    void burn() const {
        if (--*fuse == 0) throw std::runtime_error("I do not move");
    }
    int* fuse;
};

}  // namespace

TEST_CASE("wait() rethrows the first error with task, data, device and cause", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 8, "pivots");
    runtime.submit({.name = "panel", .tile = {3}}, readwrite(x.rows(2, 6)),
                   [](View<int>) { throw std::out_of_range("no such row"); });
    try {
        runtime.wait();
        FAIL("no exception");
    } catch (const TaskError& error) {
        CHECK(error.task() == "panel(3)");
        CHECK(mentions(error.data(), "readwrite pivots rows [2, 6)"));
        CHECK(mentions(error.device(), "cpu worker "));
        CHECK(mentions(error.what(), "panel(3)"));
        CHECK(mentions(error.what(), "no such row"));
        CHECK(mentions(error.what(), "pivots"));
        CHECK_THROWS_AS(std::rethrow_exception(error.cause()), std::out_of_range);
    }
    runtime.wait();
}

TEST_CASE("of several errors the first is rethrown and the others are forgotten") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    runtime.submit({.name = "first"}, readwrite(x), [](View<int>) { throw 42; });
    runtime.submit({.name = "second"}, readwrite(x), [](View<int>) { throw std::runtime_error("too late"); });
    try {
        runtime.wait();
        FAIL("no exception");
    } catch (const TaskError& error) {
        CHECK(error.task() == "first");
        CHECK_THROWS_AS(std::rethrow_exception(error.cause()), int);
    }
    runtime.wait();
}

TEST_CASE("nothing that depends on a failed task runs, and afterwards the runtime is as new", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> wrong{0};
    for (int repeat = 0; repeat < 20; ++repeat) {
        Array<int> x(runtime, 1);
        Array<int> y(runtime, 1);
        runtime.submit({}, readwrite(x), [](View<int>) { throw std::runtime_error("broken"); });
        for (int i = 0; i < 20; ++i) {
            runtime.submit({}, read(x), readwrite(y), [&](View<const int>, View<int>) { ++wrong; });
            runtime.submit({.threads = {2, 2}}, commute(y), [&](const Team&, View<int>) { ++wrong; });
        }
        CHECK_THROWS_AS(runtime.wait(), TaskError);
        runtime.submit({}, write(x), [](View<int> x) { x[0] = 7; });
        CHECK(x.host_view()[0] == 7);
        runtime.wait();
    }
    CHECK(wrong == 0);
}

TEST_CASE("a parent that catches its child's error goes on, and so does the graph", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    std::atomic<int> caught{0};
    std::atomic<int> siblings{0};
    for (int i = 0; i < 20; ++i) {
        runtime.submit({.name = "parent"}, readwrite(x), [&](View<int> value) {
            runtime.submit({.name = "child"}, readwrite(x), [](View<int>) { throw std::runtime_error("naughty"); });
            runtime.submit({}, readwrite(x), [&](View<int>) { ++siblings; });
            try {
                runtime.wait();
            } catch (const TaskError& error) {
                caught += error.task() == "child";
            }
            runtime.submit({}, readwrite(x), [](View<int> x) { ++x[0]; });
            runtime.wait();
            ++value[0];
        });
    }
    runtime.wait();
    CHECK(x.host_view()[0] == 40);
    CHECK(caught == 20);
    CHECK(siblings == 0);
}

TEST_CASE("an uncaught error of a child reaches wait() under the child's name") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    const bool waits = GENERATE(false, true);
    CAPTURE(waits);
    Runtime runtime(setting.config());
    runtime.submit({.name = "grandparent"}, [&, waits] {
        runtime.submit({.name = "parent"}, [&, waits] {
            runtime.submit({.name = "child"}, [] { throw std::runtime_error("naughty"); });
            if (waits) runtime.wait();
        });
        if (waits) runtime.wait();
    });
    try {
        runtime.wait();
        FAIL("no exception");
    } catch (const TaskError& error) {
        CHECK(error.task() == "child");
        CHECK(mentions(error.what(), "naughty"));
    }
}

TEST_CASE("a kernel that throws while it is moved in leaves data and runtime as they were") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    runtime.submit({}, write(x), [](View<int> x) { x[0] = 7; });
    std::atomic<int> ran{0};
    bool refused = true;
    for (int moves = 1; refused; ++moves) {
        REQUIRE(moves < 20);
        Gate gate;
        runtime.submit({}, read(x), [&](View<const int>) { gate.pass(); });  // so that a writer would be renamed
        gate.await_arrival();
        int fuse = moves;
        try {
            runtime.submit({}, write(x), [&ran, bomb = ThrowsWhenMoved(fuse)](View<int> x) {
                ++ran;
                x[0] = 8;
            });
            refused = false;
        } catch (const std::runtime_error&) {
        }
        gate.open();
        fuse = -1;
        runtime.wait();
        CHECK(x.host_view()[0] == (refused ? 7 : 8));
    }
    CHECK(ran == 1);
}

TEST_CASE("a cancelled graph is drained within a second though ten seconds of work were queued") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> ran{0};
    std::atomic<int> late{0};
    Array<int> x(runtime, 1);
    for (int i = 0; i < 1000; ++i) {
        auto nap = [&] {
            ++ran;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        };
        if (i % 2 == 0) {
            runtime.submit({}, nap);
        } else {
            runtime.submit({}, readwrite(x), [nap](View<int>) { nap(); });
        }
    }
    CHECK(comes_true([&] { return ran > 0; }));
    runtime.cancel();
    for (int i = 0; i < 10; ++i) runtime.submit({}, [&] { ++late; });
    const auto begin = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
    CHECK(ran < 1000);
    CHECK(late == 0);
    runtime.submit({}, [&] { ++late; });
    runtime.wait();
    CHECK(late == 1);
}

TEST_CASE("a task may cancel its own graph, and a long one can ask whether it was") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime runtime(setting.config());
    std::atomic<bool> noticed{false};
    std::atomic<bool> started{false};
    runtime.submit({.name = "long"}, [&] {
        started = true;
        noticed = comes_true([&] { return runtime.cancelled(); });
    });
    CHECK(comes_true([&] { return started.load(); }));
    runtime.submit({.name = "stop"}, [&] { runtime.cancel(); });
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    CHECK(noticed);
    CHECK_FALSE(runtime.cancelled());
}

TEST_CASE("a runtime tells its first error until it is waited for") {
    Runtime runtime(Config{.workers = 2});
    CHECK(runtime.error() == nullptr);
    runtime.submit({.name = "bad"}, [] { throw std::runtime_error("boom"); });
    CHECK(comes_true([&] { return runtime.error() != nullptr; }));
    CHECK_THROWS_AS(std::rethrow_exception(runtime.error()), TaskError);
    CHECK_THROWS_AS(runtime.wait(), TaskError);
    CHECK(runtime.error() == nullptr);
    std::atomic<bool> go{false};
    runtime.submit({}, [&] {
        while (!go) std::this_thread::yield();
    });
    runtime.cancel();
    CHECK(runtime.error() == nullptr);
    go = true;
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
}

TEST_CASE("a parent whose graph is cancelled is told so when it waits for its children") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<bool> told{false};
    std::atomic<int> children{0};
    runtime.submit({}, [&] {
        runtime.cancel();
        runtime.submit({}, [&] { ++children; });
        try {
            runtime.wait();
        } catch (const Cancelled&) {
            told = true;
            throw;
        }
    });
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    CHECK(told);
    CHECK(children == 0);
}

TEST_CASE("a runtime that goes away with tasks in flight runs them first") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    std::atomic<int> ran{0};
    {
        Runtime runtime(setting.config());
        for (int i = 0; i < 500; ++i)
            runtime.submit({.threads = {1, i % 10 == 0 ? 3 : 1}}, [&](const Team& team) { ran += team.rank() == 0; });
    }
    CHECK(ran == 500);
}

TEST_CASE("an error that no wait() saw is logged when the runtime goes away") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    const LogCapture log;
    {
        Runtime runtime(setting.config());
        runtime.submit({.name = "forgotten"}, [] { throw std::runtime_error("unheard"); });
    }
    CAPTURE(log.text());
    CHECK(mentions(log.text(), "forgotten"));
    CHECK(mentions(log.text(), "unheard"));
}

TEST_CASE("a graph that ends takes the outcomes of what it dropped with it", "[sanitize]") {
    const Watchdog watchdog;
    Config config;
    config.workers = 2;
    Runtime rt(config);
    const auto known = [&] { return basalt::detail::engine_of(rt).graph().outcomes().known(); };
    TaskHandle dropped, failed;
    for (int round = 0; round < 20; ++round) {
        Graph graph(rt);
        Gate gate;
        graph.submit({}, [&] { gate.pass(); });
        graph.cancel();
        for (int i = 0; i < 50; ++i) dropped = graph.submit({}, [] {});
        gate.open();
        CHECK_THROWS_AS(graph.wait(), Cancelled);
        CHECK_THROWS_AS(dropped.wait(), Cancelled);
        CHECK(known() >= 50);
    }
    CHECK(known() == 0);
    CHECK(mentions(error_of<Error>([&] { dropped.wait(); }), "no longer known"));
    {
        Graph graph(rt);
        failed = graph.submit({}, [] { throw std::runtime_error("boom"); });
        CHECK_THROWS_AS(graph.wait(), TaskError);
    }
    CHECK_THROWS_AS(failed.wait(), TaskError);
}
