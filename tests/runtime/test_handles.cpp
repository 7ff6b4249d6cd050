// Handles and futures of tasks, tasks that follow others without sharing data, and tokens.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
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
