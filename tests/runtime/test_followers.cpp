// Tasks that follow others without sharing data: after(), and tokens.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
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

[[noreturn]] void boom() { throw std::runtime_error("boom"); }

}  // namespace

// -- after()

TEST_CASE("random graphs of after() run in an order that keeps every edge", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    for (unsigned seed = 1; seed <= 12; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        constexpr std::size_t count = 150;
        Graph first(rt);
        Graph second(rt);
        std::vector<std::atomic<bool>> ended(count);
        std::atomic<int> too_early{0};
        std::vector<std::vector<std::size_t>> edges(count);
        std::vector<TaskHandle> handles(count);
        std::vector<std::atomic<bool>> ran(count);
        Array<int> x(rt, 4);
        for (std::size_t t = 0; t < count; ++t) {
            const std::size_t degree = t == 0 ? 0 : below(seed % 3 == 0 ? 100 : 5);
            std::vector<TaskHandle> before;
            for (std::size_t e = 0; e < degree; ++e) {
                edges[t].push_back(below(t));
                before.push_back(handles[edges[t].back()]);
            }
            const auto body = [&, t] {
                for (const std::size_t e : edges[t]) too_early += !ended[e];
                ran[t] = true;
                if (t % 2 == 0) std::this_thread::yield();
                ended[t] = true;
            };
            const auto with_data = [body](View<int>) { body(); };
            Graph& graph = below(2) == 0 ? first : second;
            const auto row = static_cast<Index>(below(4));
            switch (below(3)) {
                case 0: handles[t] = graph.submit({}, after(before), body); break;
                case 1: handles[t] = graph.submit({}, after(before), readwrite(x.rows(row, row + 1)), with_data); break;
                default:
                    handles[t] =
                        graph.submit({}, read(x), after(before), [&rt, body](View<const int>) { rt.submit({}, body); });
            }
        }
        first.wait();
        second.wait();
        CHECK(too_early == 0);
        for (std::size_t t = 0; t < count; ++t) CHECK(ran[t]);
    }
}

TEST_CASE("a failure spreads along after(), to whatever graph and however late, and no further", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
        constexpr std::size_t count = 60;
        std::vector<std::unique_ptr<Graph>> graphs;  // one a task: no error cancels another
        std::vector<TaskHandle> handles(count);
        std::vector<bool> runs(count, true);  // the oracle
        std::vector<bool> succeeds(count);
        std::vector<std::atomic<bool>> ran(count);
        for (std::size_t t = 0; t < count; ++t) {
            graphs.push_back(std::make_unique<Graph>(rt));
            std::vector<TaskHandle> before;
            for (std::size_t e = t == 0 ? 0 : below(7); e > 0; --e) {
                const std::size_t predecessor = below(t);
                runs[t] = runs[t] && succeeds[predecessor];
                before.push_back(handles[predecessor]);
            }
            const bool throws = below(12) == 0;
            succeeds[t] = runs[t] && !throws;
            handles[t] = graphs[t]->submit({}, after(before), [&ran, t, throws] {
                ran[t] = true;
                if (throws) boom();
            });
            // some handles are asked long after the task's slot was given away
            if (below(10) == 0) std::this_thread::sleep_for(100us);
            if (t % 7 == 0) {
                if (succeeds[t]) {
                    handles[t].wait();
                } else {
                    CHECK_THROWS_AS(handles[t].wait(), Error);
                }
                CHECK(ran[t] == runs[t]);
            }
        }
        for (std::size_t t = 0; t < count; ++t) {
            INFO("seed " << seed << ", task " << t);
            if (succeeds[t]) {
                CHECK_NOTHROW(graphs[t]->wait());
                CHECK_NOTHROW(handles[t].wait());
            } else if (runs[t]) {
                CHECK_THROWS_AS(handles[t].wait(), TaskError);
                CHECK_THROWS_AS(graphs[t]->wait(), TaskError);
            } else {
                CHECK_THROWS_AS(handles[t].wait(), PredecessorError);
                CHECK_THROWS_AS(graphs[t]->wait(), PredecessorError);
            }
            CHECK(ran[t] == runs[t]);  // only now: waiting for it comes first
        }
    }
    rt.wait();
}

TEST_CASE("a task dropped by after() leaves without contents what it should have written, and readers before it run",
          "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Graph failing(rt);
    Graph graph(rt);
    Array<int> x(rt, 1, "x");
    Gate gate;
    std::atomic<int> seen{0};
    const TaskHandle bad = failing.submit({.name = "bad"}, boom);
    CHECK_THROWS_AS(failing.wait(), TaskError);
    graph.submit({}, write(x), [&](View<int> x) {
        gate.pass();
        x[0] = 7;
    });
    graph.submit({}, read(x), [&](View<const int> x) { seen = x[0]; });  // in front of the doomed writer
    const TaskHandle doomed = graph.submit({.name = "doomed"}, after(bad), readwrite(x), [](View<int>) {});
    gate.open();
    CHECK(mentions(error_of<PredecessorError>([&] { doomed.wait(); }), "task doomed did not run"));
    CHECK(seen == 7);
    CHECK_THROWS_AS(x.host_view(), DataError);
    CHECK_THROWS_AS(graph.wait(), PredecessorError);
    graph.submit({}, write(x), [](View<int> x) { x[0] = 1; });
    graph.wait();
    CHECK(x.host_view()[0] == 1);
}

TEST_CASE("children follow siblings and tasks outside, but not a task around them", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::atomic<int> step{0};
    std::atomic<int> wrong{0};
    std::string why;
    TaskHandle parent;
    Gate known;
    Gate outside_gate;
    const TaskHandle outside = rt.submit({}, [&] { outside_gate.pass(); });
    std::thread opener([&] {
        std::this_thread::sleep_for(2ms);
        outside_gate.open();
    });
    parent = rt.submit({.name = "parent"}, [&] {
        known.pass();
        rt.submit({.name = "between"},
                  [&] { why = error_of<UsageError>([&] { rt.submit({.name = "child"}, after(parent), [] {}); }); });
        TaskHandle last;
        for (int i = 0; i < 50; ++i) {
            last = rt.submit({}, after(last), [&, i] { wrong += step++ != i; });
        }
        rt.submit({}, after(last, outside), [&] { wrong += step++ != 50; });
    });
    known.open();
    parent.wait();
    opener.join();
    rt.wait();
    CHECK(wrong == 0);
    CHECK(step == 51);
    CHECK(mentions(why, "task 'child': after() got the handle of task 'parent', which is around it"));
}

// -- on devices

TEST_CASE("GPU tasks have handles, follow others and are followed", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    std::vector<int> order;
    std::mutex lock;
    const auto note = [&](int number) {
        const std::lock_guard guard(lock);
        order.push_back(number);
    };
    const auto on_gpu = [&](int number, Place place, const TaskHandle& before) {
        return rt.submit(
            {.place = place}, after(before), [&note, number] { note(number); }, cuda([](Stream) {}));
    };
    TaskHandle last;
    for (int i = 0; i < 60; ++i) {
        last = i % 3 == 2 ? rt.submit({}, after(last), [&note, i] { note(i); }) : on_gpu(i, Place::gpu(i % 2), last);
    }
    last.wait();
    std::vector<int> expected;
    for (int i = 0; i < 60; ++i) expected.push_back(i);
    CHECK(order == expected);
    rt.wait();
}

TEST_CASE("a failure on a GPU spreads along after()", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    for (int round = 0; round < 20; ++round) {
        Graph failing(rt);
        Graph graph(rt);
        Array<int> x(rt, 8, "x");
        graph.submit({}, write(x), [](View<int> x) { x[0] = 1; });
        const TaskHandle bad = failing.submit(
            {.name = "bad", .place = Place::gpu(0)}, [] { boom(); }, cuda([](Stream) {}));
        const TaskHandle on_gpu = graph.submit(
            {.place = Place::gpu(round % 2)}, after(bad), readwrite(x), [](View<int>) {},
            cuda([](Stream, View<int>) {}));
        const TaskHandle on_core = graph.submit({}, after(bad), [] {});
        CHECK_THROWS_AS(on_gpu.wait(), PredecessorError);
        CHECK_THROWS_AS(on_core.wait(), PredecessorError);
        CHECK_THROWS_AS(x.host_view(), DataError);
        CHECK_THROWS_AS(bad.wait(), TaskError);
        CHECK_THROWS_AS(failing.wait(), TaskError);
        CHECK_THROWS_AS(graph.wait(), PredecessorError);
    }
}

// -- tokens

TEST_CASE("a token orders tasks as an array would, and kernels get no view of it", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const Token token = rt.token("order");
    Array<int> x(rt, 1);
    std::vector<int> log;  // ordered by the token alone
    std::atomic<int> readers{0};
    std::atomic<int> wrong{0};
    for (int round = 0; round < 30; ++round) {
        rt.submit({}, write(token), [&, round] {
            wrong += readers != 0;
            log.push_back(round);
        });
        for (int i = 0; i < 3; ++i) {
            rt.submit({}, read(token), read(x), [&, round](View<const int> x) {
                ++readers;
                wrong += x.size() != 1 || log.size() != static_cast<std::size_t>(round + 1);
                --readers;
            });
        }
        for (int i = 0; i < 2; ++i) {
            rt.submit({}, commute(token), [&] {
                wrong += readers != 0;
                log.back() += 0;
            });
        }
    }
    rt.submit({}, readwrite(token), [&] { log.push_back(-1); });
    rt.wait();
    CHECK(wrong == 0);
    CHECK(log.size() == 31);
    Graph failing(rt);
    Graph graph(rt);
    failing.submit({.name = "bad"}, write(token), boom);
    graph.submit({.name = "user"}, read(token), [] {});
    CHECK(mentions(error_of<DataError>([&] { graph.wait(); }), "'order'"));
    CHECK_THROWS_AS(failing.wait(), TaskError);
}

TEST_CASE("tokens order tasks on GPUs, and occupy nothing there", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    std::optional<Token> token(std::in_place, rt);
    std::vector<int> order;
    for (int i = 0; i < 60; ++i) {
        const auto step = [&order, i] { order.push_back(i); };
        const TaskOptions options{.place = i % 3 == 2 ? Place::cpu() : Place::gpu(i % 3)};
        if (i % 2 == 0) {
            rt.submit(options, readwrite(*token), step, cuda([](Stream) {}));
        } else {
            rt.submit(options, write(*token), step, cuda([](Stream) {}));
        }
    }
    AccessList list;
    list.commute(*token);
    rt.submit({}, list, [&] { order.push_back(60); });
    token.reset();  // waits for its users
    CHECK(order.size() == 61);
    for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == static_cast<int>(i));
    rt.wait();
    CHECK(rt.statistics().most_gpu_bytes == 0);
}
