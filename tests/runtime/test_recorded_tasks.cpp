// What recorded tasks may be: children, gangs, tasks on GPUs, commuting tasks, loops; and who observes them.
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/hooks.hpp"
#include "basalt/policy.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "basalt/token.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/recorded_kernels.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::fail;
using basalt_tests::increment;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::twice;
using basalt_tests::value;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

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
