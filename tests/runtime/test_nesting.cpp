// Tasks that submit tasks, and data that live or die inside tasks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::Setting;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

/// What wait() says of a graph with one parent task whose children access what `child` says.
template <class Child>
std::string complaint_about(Runtime& runtime, const Access<int>& held, Child&& submit_child) {
    runtime.submit({.name = "parent"}, held, [&](View<int>) { submit_child(); });
    try {
        runtime.wait();
    } catch (const TaskError& error) {
        CHECK(error.task() == "parent");
        CHECK_THROWS_AS(std::rethrow_exception(error.cause()), UsageError);
        return error.what();
    }
    return "";
}

long fibonacci(Runtime& runtime, int n) {
    if (n < 2) return n;
    long a = 0;
    long b = 0;
    runtime.submit({.name = "fib"}, [&] { a = fibonacci(runtime, n - 1); });
    runtime.submit({.name = "fib"}, [&] { b = fibonacci(runtime, n - 2); });
    runtime.wait();
    return a + b;
}

}  // namespace

TEST_CASE("a task completes when its children have, whether it waits for them or not", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    const bool waits = GENERATE(false, true);
    CAPTURE(waits);
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    for (int i = 0; i < 30; ++i) {
        runtime.submit({}, readwrite(x), [&, waits](View<int>) {
            for (int k = 0; k < 4; ++k)
                runtime.submit({}, readwrite(x), [](View<int> x) { x[0] = 3 * x[0] % 1001 + 1; });
            if (waits) runtime.wait();
        });
        runtime.submit({}, readwrite(x), [](View<int> x) { x[0] += 5; });
    }
    int expected = 0;
    for (int i = 0; i < 30; ++i) {
        for (int k = 0; k < 4; ++k) expected = 3 * expected % 1001 + 1;
        expected += 5;
    }
    CHECK(x.host_view()[0] == expected);
}

TEST_CASE("tasks nest deeply, each waiting for its children", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    CHECK(fibonacci(runtime, 12) == 144);
    std::function<void(int)> descend = [&](int depth) {
        if (depth > 0) runtime.submit({}, [&, depth] { descend(depth - 1); });
        runtime.wait();
    };
    descend(100);
}

TEST_CASE("children may access parts of what their parent holds, also across several of its intervals") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 10);
    runtime.submit({}, readwrite(x.rows(5, 10)), readwrite(x.rows(0, 5)), [&](View<int>, View<int>) {
        runtime.submit({}, readwrite(x.rows(2, 8)), [](View<int> part) { part[0] = 1; });
        runtime.submit({}, read(x), [](View<const int>) {});
        runtime.submit({}, commute(x.rows(2, 3)), [](View<int> part) { ++part[0]; });
    });
    CHECK(x.host_view()[2] == 2);
}

TEST_CASE("children of a task with many accesses may use what it holds in any order, and nothing else") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    Runtime runtime(setting.config());
    constexpr Index windows = 30;
    Array<int> x(runtime, 2 * windows, "cut");
    std::vector<Array<int>> others;
    for (int i = 0; i < 20; ++i) others.emplace_back(runtime, 1, "other");
    AccessList held;
    held.read(x);
    for (Index i = 0; i < windows; ++i) {  // all but the last window, in some order
        const Index window = 7 * i % windows;
        if (window != windows - 1) held.readwrite(x.rows(2 * window, 2 * window + 2));
    }
    for (const Array<int>& other : others) held.commute(other);
    int refused = 0;
    const auto is_refused = [&](const auto& access) {
        try {
            runtime.submit({}, access, [](const auto&) {});
        } catch (const UsageError& error) {
            refused += mentions(error.what(), "does not hold") ? 1 : 0;
        }
    };
    Array<int> foreign(runtime, 1);
    runtime.submit({}, held, [&] {
        runtime.submit({}, readwrite(x.rows(0, 2 * windows - 2)), [](View<int> x) { x[5] = 1; });
        runtime.submit({}, readwrite(x.rows(5, 8)), [](View<int> x) { ++x[0]; });
        runtime.submit({}, read(x), [](View<const int>) {});
        for (const Array<int>& other : others) runtime.submit({}, write(other), [](View<int> o) { o[0] = 3; });
        is_refused(write(x));
        is_refused(write(x.rows(2 * windows - 3, 2 * windows - 1)));
        is_refused(read(foreign));
    });
    runtime.wait();
    CHECK(refused == 3);
    CHECK(x.host_view()[5] == 2);
    for (const Array<int>& other : others) CHECK(other.host_view()[0] == 3);
}

TEST_CASE("a child that accesses what its parent does not hold is refused, naming both") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 10, "held");
    Array<int> y(runtime, 10, "foreign");
    const auto held = write(x.rows(2, 6));  // not readwrite(): what failed before leaves no contents
    const std::string other =
        complaint_about(runtime, held, [&] { runtime.submit({}, read(y), [](View<const int>) {}); });
    CAPTURE(other);
    CHECK(mentions(other, "foreign rows [0, 10)"));
    CHECK(mentions(other, "parent task 'parent'"));
    const std::string beyond =
        complaint_about(runtime, held, [&] { runtime.submit({}, read(x.rows(3, 7)), [](View<const int>) {}); });
    CHECK(mentions(beyond, "held rows [3, 7)"));
    runtime.submit({}, write(x), [](View<int>) {});
    std::string stronger;
    runtime.submit({.name = "reader"}, read(x), [&](View<const int>) {
        try {
            runtime.submit({}, write(x), [](View<int>) {});
        } catch (const UsageError& error) {
            stronger = error.what();
        }
    });
    runtime.wait();
    CAPTURE(stronger);
    CHECK(mentions(stronger, "in that mode"));
}

TEST_CASE("priorities decide among tasks of one level, children of a graph's tasks included; deeper tasks go first") {
    const Watchdog watchdog("priorities");
    Config config;
    config.workers = 1;
    config.gpus = 0;
    Runtime rt(config);
    std::vector<std::string> order;  // one worker
    const auto submit = [&](const char* name, int priority) {
        rt.submit({.priority = priority}, [&order, name] { order.emplace_back(name); });
    };
    Gate gate;
    Graph urgent(rt, 50);
    rt.submit({.priority = 1000}, [&] { gate.pass(); });
    gate.await_arrival();  // nothing else begins before all is submitted
    rt.submit({.priority = 10}, [&] {
        submit("child -100", -100);
        submit("child 5", 5);
        submit("child 0", 0);
    });
    urgent.submit({.priority = 0}, [&] {
        submit("child 3 of the urgent graph", 3);
        submit("child -1 of the urgent graph", -1);
    });
    submit("root 9", 9);
    submit("root 100", 100);
    submit("root -5", -5);
    gate.open();
    rt.wait();
    urgent.wait();
    CHECK(order == std::vector<std::string>{"root 100", "child 3 of the urgent graph", "child -1 of the urgent graph",
                                            "child 5", "child 0", "child -100", "root 9", "root -5"});
}

TEST_CASE("nesting costs the same at every depth", "[sanitize]") {
    const Watchdog watchdog("nesting", std::chrono::seconds(120));
    Runtime runtime(Setting{"priority", 2}.config());
    // with a cost that grows with the depth this would take minutes
    constexpr int depth = 100'000;
    std::atomic<int> deepest{0};
    struct Go {
        Runtime& runtime;
        std::atomic<int>& deepest;
        int level;
        void operator()() const {
            deepest = level;
            if (level < depth) runtime.submit({}, Go{runtime, deepest, level + 1});
        }
    };
    const auto begin = std::chrono::steady_clock::now();
    runtime.submit({}, Go{runtime, deepest, 1});
    runtime.wait();
    CHECK(deepest == depth);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    CHECK(took.count() < 100);
#else
    CHECK(took.count() < 10);  // 0.2 s on a quiet machine
#endif
}

// Levels of tasks that wait for their children. One stack has room for some 10^4.
TEST_CASE("tasks that wait for their children nest deeper than one stack, up to an error") {
    const Watchdog watchdog("waiting nest", std::chrono::seconds(120));
    const int workers = GENERATE(1, 2);
    CAPTURE(workers);
    Runtime runtime(Setting{"priority", workers}.config());
    struct Go {
        Runtime& runtime;
        std::atomic<int>& deepest;
        int level;
        int depth;
        void operator()() const {
            deepest = level;
            if (level == depth) return;
            runtime.submit({}, Go{runtime, deepest, level + 1, depth});
            runtime.wait();
        }
    };
    std::atomic<int> deepest{0};
    constexpr int deep = 40'000;
    runtime.submit({}, Go{runtime, deepest, 1, deep});
    runtime.wait();
    CHECK(deepest == deep);

    constexpr int too_deep = 10'000'000;
    runtime.submit({.name = "outermost"}, Go{runtime, deepest, 1, too_deep});
    CHECK(mentions(error_of<TaskError>([&] { runtime.wait(); }), "waiting inside a task at nesting level"));
    CHECK(deepest > deep);
    CHECK(deepest < too_deep);

    runtime.submit({}, Go{runtime, deepest, 1, 100});  // and the runtime goes on
    runtime.wait();
    CHECK(deepest == 100);
}

TEST_CASE("a child costs about the same whatever its parent holds") {
    const Watchdog watchdog("children");
    Runtime runtime(Setting{"priority", 1}.config());
    constexpr int children = 2000;
    const auto best_with = [&](std::size_t held) {
        std::vector<Array<int>> data;
        for (std::size_t i = 0; i < held; ++i) data.emplace_back(runtime, 1);
        double best = 1e9;
        for (int attempt = 0; attempt < 7; ++attempt) {
            runtime.submit({.name = "parent"}, readwrite(data), [&] {
                const auto begin = std::chrono::steady_clock::now();
                for (std::size_t i = 0; i < children; ++i) {
                    runtime.submit({.name = "child"}, readwrite(data[i * 37 % held]), [](View<int> x) { ++x[0]; });
                }
                const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
                best = std::min(best, took.count());
                runtime.wait();
            });
            runtime.wait();
        }
        return best;
    };
    best_with(1);  // the memory of as many tasks
    const double few = best_with(1), many = best_with(1000);
    CAPTURE(few, many);
    CHECK(many < 3 * few);
}
