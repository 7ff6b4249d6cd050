// Handles and futures of tasks, tasks that follow others without sharing data, and tokens.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <set>
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

TEST_CASE("a handle tells when its task is done, whatever became of its slot", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::atomic<int> ran{0};
    Gate gate;
    const TaskHandle held = rt.submit({}, [&] { gate.pass(); });
    CHECK(held.valid());
    const TaskHandle first = rt.submit({}, after(held), [&] { ++ran; });
    CHECK_FALSE(first.done());
    CHECK_FALSE(first.wait_for(1ms));
    gate.open();
    first.wait();
    CHECK(ran == 1);
    CHECK(held.done());
    for (int i = 0; i < 2000; ++i) rt.submit({}, [&] { ++ran; });  // its slot gets other tenants
    CHECK(first.done());
    first.wait();
    CHECK(first.wait_for(0s));
    rt.wait();
    CHECK(ran == 2001);
}

TEST_CASE("wait() of a handle waits for that task, with its children and what it depends on", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 1);
    std::vector<TaskHandle> steps;
    for (int i = 0; i < 100; ++i) {
        steps.push_back(rt.submit({}, readwrite(x), [&rt, i](View<int> x) { rt.submit({}, [x, i] { x[0] = i; }); }));
    }
    for (const int i : {40, 10, 99, 0}) steps[static_cast<std::size_t>(i)].wait();
    CHECK(x.host_view()[0] == 99);
}

TEST_CASE("an empty handle stands for no task", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const TaskHandle none;
    CHECK_FALSE(none.valid());
    CHECK(none.done());
    none.wait();
    CHECK(none.wait_for(0s));
    bool ran = false;
    rt.submit({}, after(none), [&] { ran = true; }).wait();
    CHECK(ran);
    CHECK(mentions(error_of<UsageError>([&] { none.then({}, [] {}); }), "stands for no task"));
}

TEST_CASE("wait() of a handle throws that task's own error, and the graph's wait() still throws its first one",
          "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Graph good(rt);
    Array<int> x(rt, 1, "x");
    Gate gate;
    const TaskHandle before = rt.submit({}, write(x), [&](View<int>) { gate.pass(); });
    const TaskHandle bad = rt.submit({.name = "bad"}, readwrite(x), [](View<int>) { boom(); });
    const TaskHandle dropped = rt.submit({.name = "late"}, readwrite(x), [](View<int>) {});
    const TaskHandle reader = good.submit({.name = "reader"}, read(x), [](View<const int>) {});
    gate.open();
    CHECK(mentions(error_of<TaskError>([&] { bad.wait(); }), "task bad failed"));
    CHECK(mentions(error_of<Cancelled>([&] { dropped.wait(); }), "task late did not run"));
    CHECK(mentions(error_of<DataError>([&] { reader.wait(); }), "'x'"));
    before.wait();
    CHECK_THROWS_AS(rt.wait(), TaskError);
    CHECK_THROWS_AS(good.wait(), DataError);
    for (int i = 0; i < 1000; ++i) rt.submit({}, [] {});
    rt.wait();
    CHECK_THROWS_AS(bad.wait(), TaskError);
    CHECK_THROWS_AS(dropped.wait_for(0s), Cancelled);
    before.wait();
}

TEST_CASE("the error of a child is its parent's, for the parent's handle too", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    const TaskHandle parent = rt.submit({.name = "parent"}, [&] { rt.submit({.name = "child"}, boom); });
    CHECK(mentions(error_of<TaskError>([&] { parent.wait(); }), "task child failed"));
    CHECK_THROWS_AS(rt.wait(), TaskError);
}

TEST_CASE("a task waits for tasks that it has submitted itself, and is refused to wait for others", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Gate gate;
    std::string refused;
    std::atomic<int> sum{0};
    const TaskHandle outside = rt.submit({}, [&] { gate.pass(); });
    const TaskHandle parent = rt.submit({.name = "parent"}, [&] {
        std::vector<TaskHandle> children;
        for (int i = 1; i <= 20; ++i) {
            children.push_back(rt.submit({}, [&sum, i] { sum += i; }));
        }
        for (const TaskHandle& child : children) child.wait();
        if (sum != 210) throw std::logic_error("a child was not waited for");
        if (!outside.done()) refused = error_of<UsageError>([&] { outside.wait(); });
        Gate held;
        const TaskHandle slow = rt.submit({}, after(children), [&] { held.pass(); });
        std::thread opener([&] {
            std::this_thread::sleep_for(1ms);
            held.open();
        });
        slow.wait();
        opener.join();
    });
    if (setting.workers > 1) {
        gate.await_arrival();  // or this thread would run that task
        parent.wait();
        CHECK(mentions(refused, "task 'parent' waits for a task that it has not submitted"));
    }
    gate.open();
    rt.wait();
    CHECK(sum == 210);
}

TEST_CASE("a handle that outlives its runtime is done, and waiting for it is refused", "[sanitize]") {
    const Watchdog watchdog;
    std::optional<Runtime> rt(small_machine());
    const TaskHandle handle = rt->submit({}, [] {});
    Future<int> value = rt->submit({}, [] { return 7; });
    rt->wait();  // or the error would cancel them
    Future<int> none = rt->submit({.name = "bad"}, []() -> int { boom(); });
    CHECK_THROWS_AS(rt->wait(), TaskError);
    rt.reset();
    rt.emplace(small_machine());  // perhaps in the same place
    CHECK(handle.done());
    CHECK(mentions(error_of<UsageError>([&] { handle.wait(); }), "the runtime has ended"));
    CHECK(mentions(error_of<UsageError>([&] { rt->submit({}, after(handle), [] {}); }), "a runtime that has ended"));
    CHECK(value.get() == 7);
    CHECK(mentions(error_of<UsageError>([&] { none.get(); }), "the runtime has ended"));
    Runtime other(small_machine());
    const TaskHandle foreign = other.submit({}, [] {});
    CHECK(mentions(error_of<UsageError>([&] { rt->submit({.name = "mine"}, after(foreign), [] {}); }),
                   "task 'mine': after() got a handle of another runtime"));
}

TEST_CASE("the errors of more tasks than are remembered are never taken for success", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const TaskHandle first = rt.submit({}, boom);
    CHECK_THROWS_AS(rt.wait(), TaskError);
    CHECK_THROWS_AS(first.wait(), TaskError);
    for (int round = 0; round < 11; ++round) {
        CHECK_THROWS_AS(rt.submit({}, boom).wait(), TaskError);  // the graph is cancelled from now on
        for (int i = 0; i < 10'000; ++i) rt.submit({}, [] {});
        CHECK_THROWS_AS(rt.wait(), TaskError);
    }
    CHECK(mentions(error_of<Error>([&] { first.wait(); }), "no longer known"));
    bool ran = false;
    Graph graph(rt);
    CHECK_THROWS_AS(graph.submit({}, after(first), [&] { ran = true; }).wait(), PredecessorError);
    CHECK_THROWS_AS(graph.wait(), PredecessorError);
    CHECK_FALSE(ran);
}

// -- futures

TEST_CASE("a future delivers what the kernel returns, once", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 3);
    rt.submit({}, write(x), [](View<int> x) { x[0] = x[1] = x[2] = 5; });
    Future<int> sum = rt.submit({}, read(x), [](View<const int> x) { return x[0] + x[1] + x[2]; });
    Future<std::unique_ptr<std::string>> text =
        rt.submit({}, [] { return std::make_unique<std::string>("moved, not copied"); });
    AccessList list;
    list.read(x);
    Future<int> from_list = rt.submit({}, list, [](const Addresses& at) { return *static_cast<const int*>(at[0]); });
    CHECK(sum.valid());
    CHECK(sum.get() == 15);
    CHECK_FALSE(sum.valid());
    CHECK(mentions(error_of<UsageError>([&] { sum.get(); }), "its value has been taken"));
    CHECK(*text.get() == "moved, not copied");
    CHECK(from_list.get() == 5);
    CHECK_FALSE(Future<int>().valid());
    rt.submit({}, [] { return 1; });  // dropped with its value
    rt.wait();
}

TEST_CASE("a future delivers its task's error", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Graph graph(rt);
    Gate gate;
    Future<int> bad = rt.submit({.name = "bad"}, []() -> int { boom(); });
    CHECK(mentions(error_of<TaskError>([&] { bad.get(); }), "boom"));
    CHECK_FALSE(bad.valid());
    CHECK_THROWS_AS(rt.wait(), TaskError);
    std::vector<Future<int>> cancelled;
    const TaskHandle held = graph.submit({}, [&] { gate.pass(); });
    for (int i = 0; i < 10; ++i) cancelled.push_back(graph.submit({}, after(held), [i] { return i; }));
    graph.cancel();
    gate.open();
    for (Future<int>& future : cancelled) CHECK_THROWS_AS(future.get(), Cancelled);
    CHECK_THROWS_AS(graph.wait(), Cancelled);
    CHECK(mentions(error_of<UsageError>([&] {
                       rt.submit({.name = "all", .threads = {2, 2}}, [] { return 1; });
                   }),
                   "task 'all': a gang"));
}

TEST_CASE("then() hands a future's value on, and a failure too", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 1, "x");
    Future<int> a = rt.submit({}, [] { return 20; });
    Future<std::string> b = a.then(
        {}, [](int value, View<int> x) { return std::to_string(x[0] = value + 1); }, write(x));
    CHECK_FALSE(a.valid());
    std::atomic<int> length{0};
    const TaskHandle c = b.then({}, [&](const std::string& text) { length = static_cast<int>(text.size()); });
    const TaskHandle d = c.then(
        {}, [&](View<int> x) { x[0] += length; }, readwrite(x));
    d.wait();
    CHECK(x.host_view()[0] == 23);
    rt.wait();
    Future<int> bad = rt.submit({.name = "bad"}, []() -> int { boom(); });
    Graph other(rt);
    std::optional<Future<int>> next;
    {
        const SubmitTo here(other);
        next = bad.then({.name = "next"}, [](int value) { return value; });
    }
    CHECK(mentions(error_of<PredecessorError>([&] { next->get(); }), "task bad failed"));
    CHECK_THROWS_AS(other.wait(), PredecessorError);
    CHECK_THROWS_AS(rt.wait(), TaskError);
}

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

TEST_CASE("threads submit, follow, wait for and drop handles while slots are used again", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime rt(setting.config());
    std::atomic<int> ran{0};
    std::atomic<int> wrong{0};
    std::vector<TaskHandle> shared(16);
    std::mutex lock;
    constexpr int threads = 4;
    constexpr int rounds = 400;
    const auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        Graph graph(rt);
        for (int round = 0; round < rounds; ++round) {
            TaskHandle before;
            {
                const std::lock_guard guard(lock);
                before = shared[random() % shared.size()];
            }
            Future<int> value = graph.submit({}, after(before), [&, before, round] {
                wrong += !before.done();
                ++ran;
                return round;
            });
            const TaskHandle task = value.task();
            {
                const std::lock_guard guard(lock);
                shared[random() % shared.size()] = task;
            }
            switch (random() % 4) {
                case 0: wrong += value.get() != round; break;
                case 1: before.wait(); break;
                case 2: task.wait_for(std::chrono::microseconds(random() % 200)); break;
                default: break;  // dropped
            }
        }
        graph.wait();
    };
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work, t);
    work(0);
    for (std::thread& thread : others) thread.join();
    CHECK(ran == threads * rounds);
    CHECK(wrong == 0);
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

// -- worker()

TEST_CASE("worker() tells threads apart that run tasks at the same time", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::vector<std::atomic<int>> busy(static_cast<std::size_t>(rt.workers()));
    std::atomic<int> wrong{0};
    const auto use_scratch = [&] {
        const int number = worker();
        if (number < 0 || number >= rt.workers()) {
            ++wrong;
            return;
        }
        wrong += busy[static_cast<std::size_t>(number)]++ != 0;
        std::this_thread::yield();
        --busy[static_cast<std::size_t>(number)];
    };
    const auto submit_and_wait = [&] {
        Graph graph(rt);
        for (int i = 0; i < 300; ++i) graph.submit({}, use_scratch);
        while (!graph.wait_for(1ms)) {
        }
        for (int i = 0; i < 100; ++i) graph.submit({}, use_scratch);
        graph.wait();
    };
    std::thread other(submit_and_wait);
    submit_and_wait();
    other.join();
    CHECK(wrong == 0);
    CHECK(mentions(error_of<UsageError>([] { worker(); }), "worker() outside tasks"));
}
