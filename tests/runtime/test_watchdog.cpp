// The watchdog: what it prints when nothing happens, and when it says nothing.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/captured_stderr.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::CapturedStderr;
using basalt_tests::comes_true;
using basalt_tests::error_of;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

Config watched(std::chrono::milliseconds limit, int gpus = 0) {
    Config config = small_machine(gpus);
    config.watchdog = limit;
    return config;
}

/// Waits until this number of reports is there, then opens the gate. To run next to a thread that waits.
std::thread opens_after(const CapturedStderr& said, std::size_t reports, Gate& gate) {
    return std::thread([&said, reports, &gate] {
        comes_true([&] { return said.count("basalt: watchdog: ") >= reports; }, 30s);
        gate.open();
    });
}

}  // namespace

TEST_CASE("a standstill is reported once: what runs, who waits, and what waits for what", "[sanitize]") {
    const Watchdog watchdog;
    const CapturedStderr said;
    Gate first, second;
    {
        Runtime rt(watched(50ms));
        Array<int> x(rt, 4, "x"), y(rt, 4, "y");
        rt.submit({.name = "stuck", .tile = {3, 4}}, readwrite(x), [&](View<int>) { first.pass(); });
        rt.submit({.name = "user", .tile = {7}}, read(x), readwrite(y), [](View<const int>, View<int>) {});
        rt.submit({.name = "last"}, readwrite(y), [](View<int>) {});
        std::thread opens = opens_after(said, 1, first);
        rt.wait();
        opens.join();
        const std::string text = said.text();
        CAPTURE(text);
        CHECK(mentions(text, "no task has begun or ended for 0.0"));
        CHECK(mentions(text, "running on cores (a long task is no error):\n    'stuck(3,4)' on worker "));
        CHECK(mentions(text, ": for the runtime's own graph, for 0.0"));
        CHECK(mentions(text,
                       "waiting for other tasks (2), the oldest first:\n"
                       "    'user(7)' [read x, readwrite y] waits for 'stuck(3,4)' (x)\n"
                       "    'last' [readwrite y] waits for 'user(7)' (y)\n"));
        // the next one is another standstill
        rt.submit({.name = "again"}, [&] { second.pass(); });
        opens = opens_after(said, 2, second);
        rt.wait();
        opens.join();
    }
    CHECK(said.count("basalt: watchdog: ") == 2);
    CHECK(mentions(said.text(), "'again' on worker "));
}

TEST_CASE("the report says which tasks and threads wait inside the runtime, and where", "[sanitize]") {
    const Watchdog watchdog;
    const CapturedStderr said;
    Gate gate;
    Config config = watched(50ms);
    config.window = 3;
    config.workers = 3;
    Runtime rt(config);
    Array<int> x(rt, 4, "x");
    rt.submit({.name = "parent"}, [&] {
        rt.submit({.name = "child"}, [&] { gate.pass(); });
        rt.wait();
    });
    rt.submit({.name = "other parent"}, readwrite(x),
              [&](View<int>) { rt.submit({.name = "other child"}, [&] { gate.pass(); }); });
    rt.submit({.name = "commuting"}, commute(x), [&](View<int>) {});
    Graph graph(rt);
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) rt.submit({.name = "too many"}, [] {});
    });
    threads.emplace_back([&] {
        graph.submit({.name = "of a graph"}, readwrite(x), [](View<int>) {});
        graph.wait();
    });
    threads.emplace_back([&] { x.host_view(); });
    const std::vector<std::string> expected{": for the users of 'x', for ",
                                            ": for a Graph, for ",
                                            ": in submit(), for room in the window, for ",
                                            "task 'parent': for the tasks inside it, for ",
                                            "'child' on worker ",
                                            "'other parent' has returned and waits for the tasks inside it"};
    // the third worker ends one standstill after the other, until all threads have come to where they wait
    Graph ticks(rt);
    const auto all_are_told = [&] {
        const std::size_t reports = said.count("basalt: watchdog: ");
        ticks.submit({}, [] {});
        comes_true([&] { return said.count("basalt: watchdog: ") > reports; });
        const std::string text = said.text();
        return std::all_of(expected.begin(), expected.end(), [&](const auto& part) { return mentions(text, part); });
    };
    const bool told = comes_true(all_are_told, 30s);
    gate.open();
    for (std::thread& thread : threads) thread.join();
    rt.wait();
    INFO(said.text());
    CHECK(told);
}

TEST_CASE("the report names the first task of each stream of a GPU", "[sanitize]") {
    const Watchdog watchdog;
    const CapturedStderr said;
    Gate gate;
    Runtime rt(watched(50ms, 1));
    Array<int> x(rt, 4, "x");
    rt.submit(
        {.name = "kernel", .tile = {5}, .place = Place::gpu(0)}, readwrite(x), [&](View<int>) { gate.pass(); },
        cuda([](Stream) {}));
    rt.submit(
        {.name = "on cores", .place = Place::cpu()}, readwrite(x), [](View<int>) {}, cuda([](Stream) {}));
    std::thread opens = opens_after(said, 1, gate);
    rt.wait();
    opens.join();
    const std::string text = said.text();
    CAPTURE(text);
    CHECK(mentions(text, "no kernel runs on cores"));
    CHECK(mentions(text, "gpu 0, stream 'compute': first is 'kernel(5)', enqueued "));
    CHECK(mentions(text, "'on cores' [readwrite x] waits for "));
}

TEST_CASE("nothing is reported while no thread waits, and in a standstill nothing twice") {
    const Watchdog watchdog;
    const CapturedStderr said;
    Runtime rt(watched(10ms));
    Gate gate;
    rt.submit({.name = "long"}, [&] { gate.pass(); });
    gate.await_arrival();
    std::this_thread::sleep_for(100ms);
    CHECK(said.text().empty());
    CHECK_FALSE(rt.wait_for(200ms));
    CHECK(said.count("basalt: watchdog: ") == 1);
    gate.open();
    rt.wait();
    CHECK_FALSE(mentions(said.text(), "a thread has waited for"));  // what is logged where there is no watchdog
}

TEST_CASE("the watchdog may look at any moment while tasks are submitted, run and end", "[sanitize]") {
    const Watchdog watchdog;
    const CapturedStderr said;
    Runtime rt(watched(1ms));
    std::atomic<bool> over{false};
    std::thread submitter([&] {
        for (int i = 0; !over; ++i) {
            Array<int> x(rt, 4), y(rt, 4), z(rt, 4), u(rt, 4);
            for (int k = 0; k < 50; ++k) {
                rt.submit({.name = "task", .tile = {i, k}}, readwrite(x), read(y), [](View<int>, View<const int>) {});
                rt.submit({}, write(y), readwrite(z), read(u), read(x),
                          [](View<int>, View<int>, View<const int>, View<const int>) {});
                rt.submit({}, readwrite(u), [&](View<int>) { rt.submit({.name = "child"}, [] {}); });
            }
        }
    });
    for (int i = 0; i < 20; ++i) {
        rt.submit({.name = "sleeps"}, [] { std::this_thread::sleep_for(5ms); });
        rt.submit({.name = "sleeps, too"}, [] { std::this_thread::sleep_for(5ms); });
        rt.wait_for(20ms);
    }
    over = true;
    submitter.join();
    rt.wait();
}

TEST_CASE("a limit out of range is refused") {
    CHECK(mentions(error_of<UsageError>([] { Runtime rt(watched(-1ms)); }), "Config::watchdog = -1 ms"));
    CHECK(mentions(error_of<UsageError>([] { Runtime rt(watched(25h)); }), "allowed is 0 (none) to 24 hours"));
}
