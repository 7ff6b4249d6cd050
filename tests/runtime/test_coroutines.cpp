// Coroutines: kernels that co_await tasks without blocking a thread.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/hooks.hpp"
#include "basalt/routine.hpp"
#include "basalt/runtime.hpp"
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
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

[[noreturn]] void boom() { throw std::runtime_error("boom"); }

/// Counts the objects that exist.
struct Counted {
    explicit Counted(std::atomic<int>& count) : count(&count) { ++count; }
    Counted(const Counted& other) : count(other.count) { ++*count; }
    Counted(Counted&& other) noexcept : count(other.count) { ++*count; }
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --*count; }
    std::atomic<int>* count;
};

Routine<long> fibonacci(Runtime& rt, int n) {
    if (n < 2) co_return n;
    Future<long> left = rt.submit({.name = "fibonacci"}, [&rt, n] { return fibonacci(rt, n - 1); });
    const long right = co_await fibonacci(rt, n - 2);
    co_return co_await left + right;
}

/// Counts the tasks "walk" whose kernels have returned: coroutines that await something, or have ended.
struct SuspendedWalks : TaskHooks {
    std::atomic<int> count{0};
    void task_ended(const TaskInfo& task) override { count += std::string(task.name) == "walk" ? 1 : 0; }
};

}  // namespace

TEST_CASE("a coroutine goes on behind each task that it awaits", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::vector<Future<long>> sums;
    for (int c = 0; c < 5; ++c) {
        sums.push_back(rt.submit({.name = "walk"}, [&rt, c]() -> Routine<long> {
            long sum = 0;
            for (int i = 0; i < 200; ++i) {
                const int square = co_await rt.submit({}, [i] { return i * i; });
                long doubled = 0;
                co_await rt.submit({}, [&doubled, square] { doubled = 2 * square; });
                sum += doubled;
            }
            co_return sum + c;
        }));
    }
    for (int c = 0; c < 5; ++c) CHECK(sums[static_cast<std::size_t>(c)].get() == 2 * 2646700 + c);
    rt.wait();
}

TEST_CASE("views that a coroutine takes by reference exist until it ends", "[sanitize]") {
    Runtime rt(Config{.workers = 2});
    Array<int> x(rt, 3), y(rt, 3);
    rt.submit({}, write(x), write(y), [](View<int> x, View<int> y) {
        for (int i = 0; i < 3; ++i) x[i] = y[i] = i;
    });
    Future<int> sum =
        rt.submit({}, read(x), readwrite(y), [&rt](const View<const int>& x, const View<int>& y) -> Routine<int> {
            for (int i = 0; i < 100; ++i) co_await rt.submit({}, [] {});
            for (int i = 0; i < 3; ++i) y[i] += 10 * x[i];
            co_return static_cast<int>(x.size() + y.size());
        });
    CHECK(sum.get() == 6);
    CHECK(y.host_view()[2] == 22);
}

TEST_CASE("no thread blocks while coroutines wait", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Gate gate;
    // far more of them than threads
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    if (setting.workers == 1) gate.open();
    const TaskHandle held = rt.submit({}, [&] { gate.pass(); });
    for (int c = 0; c < 500; ++c) {
        rt.submit({}, [&]() -> Routine<> {
            ++begun;
            co_await held;
            ++ended;
        });
    }
    if (setting.workers > 1) {
        CHECK(comes_true([&] { return begun == 500; }));
        CHECK(ended == 0);
    }
    gate.open();
    rt.wait();
    CHECK(ended == 500);
}

TEST_CASE("coroutines nest, and await each other", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Future<long> value = rt.submit({}, [&rt] { return fibonacci(rt, 12); });
    CHECK(value.get() == 144);
    rt.wait();
}

TEST_CASE("a coroutine holds its data until it ends, and its children use parts of them", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 8, "x");
    std::atomic<int> seen{0};
    for (int round = 0; round < 20; ++round) {
        const TaskHandle walk = rt.submit({}, readwrite(x), [&rt, &x](View<int> view) -> Routine<> {
            co_await rt.submit({}, readwrite(x.rows(0, 4)), [](View<int> half) { ++half[0]; });
            ++view[7];
            rt.submit({}, readwrite(x.rows(0, 4)), [](View<int> half) { ++half[0]; });  // not awaited
        });
        rt.submit({}, read(x), [&, round](View<const int> x) { seen += x[0] == 2 * (round + 1) && x[7] == round + 1; });
        rt.submit({}, after(walk), [&] { ++seen; });
    }
    rt.wait();
    CHECK(seen == 40);
}

TEST_CASE("co_await throws the awaited task's error, and the coroutine may handle it", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 2, "x");
    Future<std::string> text =
        rt.submit({.name = "careful"}, readwrite(x), [&rt, &x](View<int> view) -> Routine<std::string> {
            const TaskHandle sound = rt.submit({}, write(x.rows(1, 2)), [](View<int> x) { x[0] = 5; });
            std::string what;
            try {
                co_await rt.submit({.name = "bad"}, write(x.rows(0, 1)), [](View<int>) { boom(); });
            } catch (const TaskError& error) {
                what = error.task();
            }
            co_await sound;  // the error of one child has not cancelled it
            view[0] = 1;
            co_return what + " " +
                std::to_string(co_await rt.submit({}, read(x), [](View<const int> x) { return x[0] + x[1]; }));
        });
    CHECK(text.get() == "bad 6");
    rt.wait();
    CHECK(x.host_view()[0] == 1);
}

TEST_CASE("what a coroutine does not handle fails its task", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<int> x(rt, 1, "x");
    const bool nested = GENERATE(false, true);
    const auto inner = [&rt]() -> Routine<int> {
        co_await rt.submit({}, [] {});
        boom();
        co_return 1;
    };
    Future<int> value = rt.submit({.name = "outer"}, write(x), [&](View<int>) -> Routine<int> {
        co_await rt.submit({}, [] {});
        if (nested) co_return co_await inner();
        boom();
    });
    CHECK(mentions(error_of<TaskError>([&] { value.get(); }), "task outer failed"));
    CHECK(mentions(error_of<TaskError>([&] { rt.wait(); }), "boom"));
    CHECK_THROWS_AS(x.host_view(), DataError);
    // an error of a child that was not awaited
    const TaskHandle careless = rt.submit({.name = "careless"}, [&rt]() -> Routine<> {
        rt.submit({.name = "bad"}, boom);
        co_await rt.submit({}, [] {});
    });
    CHECK(mentions(error_of<TaskError>([&] { careless.wait(); }), "task bad failed"));
    CHECK_THROWS_AS(rt.wait(), TaskError);
    // thrown before the first co_await
    CHECK_THROWS_AS(rt.submit({},
                              []() -> Routine<int> {
                                  boom();
                                  co_return 1;
                              })
                        .get(),
                    TaskError);
    CHECK_THROWS_AS(rt.wait(), TaskError);
}

TEST_CASE("a cancelled coroutine is not resumed, and its frame is destroyed", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Config config = setting.config();
    const auto suspended = std::make_shared<SuspendedWalks>();
    config.hooks = suspended;
    Runtime rt(config);
    std::atomic<int> alive{0};
    std::atomic<int> resumed{0};
    Gate gate;
    TaskHandle held = rt.submit({}, [&] { gate.pass(); });
    gate.await_arrival();
    {
        Graph graph(rt);
        std::vector<TaskHandle> walks;
        for (int c = 0; c < 10; ++c) {
            walks.push_back(graph.submit({.name = "walk"}, [&, captured = Counted(alive)]() -> Routine<> {
                const Counted local(alive);
                co_await held;
                ++resumed;
            }));
        }
        if (setting.workers > 1) CHECK(comes_true([&] { return suspended->count == 10; }));
        graph.cancel();
        gate.open();
        for (const TaskHandle& walk : walks) CHECK_THROWS_AS(walk.wait(), Cancelled);
        CHECK_THROWS_AS(graph.wait(), Cancelled);
    }
    rt.wait();
    CHECK(resumed == 0);
    CHECK(alive == 0);
}

TEST_CASE("the frame of a coroutine ends with its task, and one that was never submitted with its owner",
          "[sanitize]") {
    const Watchdog watchdog;
    std::atomic<int> alive{0};
    {
        Runtime rt(small_machine());
        const auto walk = [&rt](Counted counted) -> Routine<int> {
            const Counted local(counted);
            co_await rt.submit({}, [] {});
            co_return 3;
        };
        {
            const Routine<int> never_begun = walk(Counted(alive));
            CHECK(alive > 0);
        }
        CHECK(alive == 0);
        CHECK(rt.submit({}, [&] { return walk(Counted(alive)); }).get() == 3);
        rt.wait();
        CHECK(alive == 0);
        rt.submit({}, [&] { return walk(Counted(alive)); });  // the runtime's end waits for it
    }
    CHECK(alive == 0);
}

TEST_CASE("a coroutine is refused to block", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Gate gate;
    std::vector<std::string> refused;
    Gate known;
    TaskHandle self;
    std::string around;
    const TaskHandle walk = rt.submit({.name = "walk"}, [&]() -> Routine<> {
        const TaskHandle child = rt.submit({}, [] {});
        co_await child;
        Future<int> value = rt.submit({}, after(child), [&] {
            gate.pass();
            return 1;
        });
        refused.push_back(error_of<UsageError>([&] { rt.wait(); }));
        refused.push_back(error_of<UsageError>([&] { value.wait(); }));
        refused.push_back(error_of<UsageError>([&] { value.get(); }));
        refused.push_back(error_of<UsageError>([&] { rt.parallel_for({0, 5}, 1, [](Index) {}); }));
        child.wait();  // it is done
        gate.open();
        if (co_await value != 1) throw std::logic_error("the future has lost its value");
        known.pass();
        try {
            co_await self;
        } catch (const UsageError& error) {
            around = error.what();
        }
        co_await rt.submit_for({}, {0, 100}, 7, [](Index) {});
    });
    self = walk;
    known.open();
    walk.wait();
    rt.wait();
    CHECK(refused.size() == 4);
    for (const std::string& why : refused) CHECK(mentions(why, "in the coroutine of task 'walk'"));
    CHECK(mentions(around, "which is around it"));
}

TEST_CASE("a long-lived coroutine needs no more memory the longer it runs", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    Future<int> count = rt.submit({}, [&rt]() -> Routine<int> {
        int sum = 0;
        for (int i = 0; i < 20'000; ++i) sum += co_await rt.submit({}, [] { return 1; });
        co_return sum;
    });
    CHECK(count.get() == 20'000);
    rt.wait();
}

TEST_CASE("threads submit coroutines that wait for each other's tasks", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime rt(setting.config());
    constexpr int threads = 3;
    constexpr int each = 60;
    std::atomic<long> sum{0};
    const auto work = [&](int seed) {
        Graph graph(rt);
        std::vector<TaskHandle> earlier;
        for (int c = 0; c < each; ++c) {
            const TaskHandle before =
                earlier.empty() ? TaskHandle() : earlier[static_cast<std::size_t>(c * seed) % earlier.size()];
            earlier.push_back(graph.submit({}, [&rt, &sum, before, c]() -> Routine<> {
                co_await before;
                for (int i = 0; i < 5; ++i) sum += co_await rt.submit({}, [c] { return c; });
            }));
        }
        graph.wait();
    };
    std::vector<std::thread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work, t + 1);
    work(1);
    for (std::thread& thread : others) thread.join();
    CHECK(sum == threads * 5L * each * (each - 1) / 2);
}

TEST_CASE("a coroutine that reduces needs a copy that no other task uses meanwhile", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    Array<long> x(rt, 1, "x");
    rt.submit({}, write(x), [](View<long> x) { x[0] = 1; });
    const auto add = [&rt](View<long> x) -> Routine<> {
        ++x[0];
        co_await rt.submit({}, [] {});  // goes on on any worker
        ++x[0];
    };
    CHECK(mentions(error_of<UsageError>([&] { rt.submit({.name = "adds"}, reduce(x, 0, std::plus<>()), add); }),
                   "task 'adds' is a coroutine and reduces with Order::any"));
    for (int i = 0; i < 100; ++i) rt.submit({}, reduce(x, 0, std::plus<>(), Order::deterministic), add);
    rt.wait();
    CHECK(x.host_view()[0] == 201);
}

TEST_CASE("a kernel that returns no coroutine fails, and so does co_await of what is empty", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const auto failure = [&rt](const auto& kernel) {
        const std::string text = error_of<TaskError>([&] { rt.submit({.name = "empty"}, kernel).wait(); });
        CHECK_THROWS_AS(rt.wait(), TaskError);
        return text;
    };
    CHECK(mentions(failure([] { return Routine<>(); }), "the kernel returned an empty Routine"));
    CHECK(mentions(failure([] { return Routine<int>(); }), "the kernel returned an empty Routine"));
    CHECK(mentions(failure([]() -> Routine<> {
                       Routine<int> inner;
                       co_await std::move(inner);
                   }),
                   "co_await of an empty Routine"));
    CHECK(mentions(failure([&rt]() -> Routine<> {
                       Future<int> value = rt.submit({}, [] { return 1; });
                       co_await value;
                       co_await value;
                   }),
                   "co_await of an empty Future"));
}
