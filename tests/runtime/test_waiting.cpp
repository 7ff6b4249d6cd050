// Threads around the runtime: who waits, who helps, who sleeps, and several runtimes in one process.
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::comes_true;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::Setting;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

/// Processor time that this process has used so far.
std::chrono::microseconds used_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Whether this program's hidden test case succeeds in a process that may use the first allowed processor
/// alone.
bool succeeds_on_one_processor(const char* test_case) {
    const pid_t child = fork();
    if (child == 0) {
        cpu_set_t mask;
        cpu_set_t one;
        CPU_ZERO(&one);
        sched_getaffinity(0, sizeof(mask), &mask);
        int first = 0;
        while (!CPU_ISSET(first, &mask)) ++first;
        CPU_SET(first, &one);
        sched_setaffinity(0, sizeof(one), &one);
        if (freopen("/dev/null", "w", stdout) == nullptr) _exit(2);
        execl("/proc/self/exe", "test_waiting", test_case, static_cast<char*>(nullptr));
        _exit(3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr const char* one_worker_case = "in a process bound to one processor there is one worker";

}  // namespace

TEST_CASE("the window bounds the tasks in flight and the submitter goes on when it has room") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    const std::size_t window = GENERATE(1, 2, 7, 64);
    CAPTURE(window);
    Config config = setting.config();
    config.window = window;
    Gate gate;
    std::atomic<std::size_t> submitted{0};
    Runtime runtime(config);
    Array<int> x(runtime, 1);
    // the chain cannot go on before the gate opens, so what has been submitted is in flight
    runtime.submit({}, readwrite(x), [&](View<int>) { gate.pass(); });
    gate.await_arrival();
    std::thread submitter([&] {
        for (submitted = 1; submitted < 200; ++submitted) runtime.submit({}, readwrite(x), [](View<int> x) { ++x[0]; });
    });
    CHECK(comes_true([&] { return submitted >= window; }));
    std::this_thread::sleep_for(10ms);
    CHECK(submitted == window);
    gate.open();
    submitter.join();
    CHECK(x.host_view()[0] == 199);
}

TEST_CASE("the window bounds the children of a task, too") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Config config = setting.config();
    config.window = 3;
    Runtime runtime(config);
    std::atomic<int> in_flight{0};
    std::atomic<int> most{0};
    runtime.submit({}, [&] {
        for (int i = 0; i < 300; ++i) {
            const int now = ++in_flight;
            int seen = most;
            while (now > seen && !most.compare_exchange_weak(seen, now)) {
            }
            runtime.submit({}, [&] { --in_flight; });
        }
    });
    runtime.wait();
    CHECK(in_flight == 0);
    CHECK(most <= 4);  // counted before it is submitted: one more than the window
}

TEST_CASE("wait_for() comes back empty-handed in time and succeeds later") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Gate gate;
    Runtime runtime(setting.config());
    CHECK(runtime.wait_for(0s));
    runtime.submit({}, [&] { gate.pass(); });
    gate.await_arrival();
    CHECK_FALSE(runtime.wait_for(0s));
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(runtime.wait_for(20ms));
    const auto waited = std::chrono::steady_clock::now() - begin;
    CHECK(waited >= 20ms);
    CHECK(waited < 2s);
    gate.open();
    CHECK(runtime.wait_for(std::chrono::hours(24 * 365 * 100)));
    runtime.submit({}, [] { throw std::runtime_error("late"); });
    CHECK_THROWS_AS(runtime.wait_for(20s), TaskError);
}

TEST_CASE("wait_for() returns in time though tasks last longer") {
    const int workers = GENERATE(1, 2);
    const bool own_graph = GENERATE(false, true);
    CAPTURE(workers, own_graph);
    const Watchdog watchdog("wait_for");
    Runtime runtime(Setting{"priority", workers}.config());
    Graph graph(runtime);
    std::optional<SubmitTo> here;
    if (own_graph) here.emplace(graph);
    Gate gate;
    for (int i = 0; i < 4; ++i) runtime.submit({.name = "long"}, [&] { gate.pass(); });
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(runtime.wait_for(10ms));
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(took >= 10ms);
    CHECK(took < 5s);      // before, it never returned: the waiting thread itself stood in a task
    gate.await_arrival();  // another thread began a task
    gate.open();
    CHECK(runtime.wait_for(60s));
    CHECK(runtime.wait_for(0ms));
}

/// The smallest overshoot of 20 waits with limits of 5 to 20 ms. On a loaded machine single ones are late.
template <class WaitFor>
std::chrono::nanoseconds smallest_overshoot(const WaitFor& wait_for) {
    std::chrono::nanoseconds smallest = 1h;
    for (int i = 0; i < 20; ++i) {
        const auto limit = (5 + i % 4 * 5) * 1ms;
        const auto begin = std::chrono::steady_clock::now();
        if (wait_for(limit)) return 1h;
        const auto took = std::chrono::steady_clock::now() - begin;
        if (took < limit) return 1h;
        smallest = std::min<std::chrono::nanoseconds>(smallest, took - limit);
    }
    return smallest;
}

TEST_CASE("wait_for() returns within 2 ms of its limit") {
    const int workers = GENERATE(1, 2);
    CAPTURE(workers);
    const Watchdog watchdog("limits");
    Runtime runtime(Setting{"priority", workers}.config());
    Graph graph(runtime);
    Gate gate;
    const auto submit_long = [&](auto& to) {
        TaskHandle last;
        for (int i = 0; i < 4; ++i) last = to.submit({.name = "long"}, [&] { gate.pass(); });
        return last;
    };
    SECTION("outside of tasks") {
        const TaskHandle task = submit_long(runtime);
        const TaskHandle other = submit_long(graph);
        CHECK(smallest_overshoot([&](auto limit) { return runtime.wait_for(limit); }) <= 2ms);
        CHECK(smallest_overshoot([&](auto limit) { return graph.wait_for(limit); }) <= 2ms);
        CHECK(smallest_overshoot([&](auto limit) { return task.wait_for(limit); }) <= 2ms);
        gate.open();
    }
    SECTION("inside a task") {
        std::chrono::nanoseconds of_runtime = 1h, of_handle = 1h;
        runtime.submit({.name = "parent"}, [&] {
            const TaskHandle task = submit_long(runtime);
            of_runtime = smallest_overshoot([&](auto limit) { return runtime.wait_for(limit); });
            of_handle = smallest_overshoot([&](auto limit) { return task.wait_for(limit); });
            gate.open();
        });
        runtime.wait();
        CHECK(of_runtime <= 2ms);
        CHECK(of_handle <= 2ms);
    }
    runtime.wait();
    graph.wait();
}

TEST_CASE("wait_for() inside a task returns in time though its children last longer", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    Runtime runtime(setting.config());
    Gate gate;
    std::atomic<int> early{0}, late{0};
    std::atomic<bool> in_time{true};
    constexpr int parents = 4;
    for (int p = 0; p < parents; ++p) {
        runtime.submit({.name = "parent"}, [&] {
            for (int i = 0; i < 3; ++i) runtime.submit({.name = "long"}, [&] { gate.pass(); });
            const auto begin = std::chrono::steady_clock::now();
            const bool ended = runtime.wait_for(10ms);
            const auto took = std::chrono::steady_clock::now() - begin;
            if ((!ended && took < 10ms) || took > 5s) in_time = false;
            if (!ended) ++early;
            gate.open();                       // other threads may stand there instead of running the other parents
            while (!runtime.wait_for(20ms)) {  // somebody else runs them, with one worker too
            }
            ++late;
        });
    }
    runtime.wait();
    CHECK(in_time);
    CHECK(early > 0);
    CHECK(late == parents);
}

TEST_CASE("tasks that wait with a limit nest, and their children fail as usual", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 3}))));
    Runtime runtime(setting.config());
    std::atomic<int> leaves{0};
    std::vector<std::atomic<bool>> in_use(static_cast<std::size_t>(runtime.worker_numbers()));
    std::atomic<bool> unique{true};
    const std::function<void(int)> nest = [&](int depth) {
        if (depth == 0) {
            std::atomic<bool>& own = in_use.at(static_cast<std::size_t>(worker()));
            if (own.exchange(true)) unique = false;
            std::this_thread::sleep_for(200us);
            own = false;
            ++leaves;
            return;
        }
        for (int i = 0; i < 2; ++i) runtime.submit({.name = "nested"}, [&, depth] { nest(depth - 1); });
        runtime.submit({.threads = {1, 2}}, [](const Team& team) { team.barrier(); });
        while (!runtime.wait_for(5ms)) {
        }
    };
    runtime.submit({}, [&] { nest(6); });
    runtime.wait();
    CHECK(leaves == 64);
    CHECK(unique);
    runtime.submit({}, [&] {
        runtime.submit({.name = "bad"}, [] { throw std::runtime_error("boom"); });
        CHECK_THROWS_AS(runtime.wait_for(60s), TaskError);
        CHECK(runtime.wait_for(60s));
        CHECK(runtime.wait_for(0s));
    });
    runtime.wait();
}

TEST_CASE("wait_for() throws what wait() would") {
    Runtime runtime(Setting{"priority", 2}.config());
    runtime.submit({.name = "bad"}, [] { throw std::runtime_error("boom"); });
    CHECK_THROWS_AS(runtime.wait_for(60s), TaskError);
    CHECK(runtime.wait_for(60s));
}

TEST_CASE("tasks progress although no thread waits") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    for (int round = 0; round < 3; ++round) {
        std::atomic<int> ran{0};
        Array<int> x(runtime, 1);
        for (int i = 0; i < 100; ++i) runtime.submit({}, readwrite(x), [&](View<int>) { ++ran; });
        CHECK(comes_true([&] { return ran == 100; }, 5s));
        runtime.wait();
    }
}

TEST_CASE("tasks progress while a thread submits another one each millisecond") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> ran{0};
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (ran == 0 && std::chrono::steady_clock::now() < end) {
        runtime.submit({}, [&] { ++ran; });
        std::this_thread::sleep_for(500us);
    }
    CHECK(ran > 0);
}

TEST_CASE("a program may block on a future that a task fulfils") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    for (int i = 0; i < 5; ++i) {
        std::promise<int> promise;
        std::future<int> future = promise.get_future();
        Array<int> x(runtime, 1);
        runtime.submit({}, write(x), [i](View<int> x) { x[0] = i; });
        runtime.submit({}, read(x), [&](View<const int> x) { promise.set_value(x[0]); });
        REQUIRE(future.wait_for(10s) == std::future_status::ready);
        CHECK(future.get() == i);
    }
}

TEST_CASE("several threads submit and wait at the same time", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> shared(runtime, 1);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            Array<int> own(runtime, 1);
            for (int i = 0; i < 250; ++i) {
                runtime.submit({}, readwrite(own), [i](View<int> x) { x[0] += x[0] == i; });
                runtime.submit({}, commute(shared), [](View<int> x) { ++x[0]; });
                if (i % 100 == t) runtime.wait();
                if (i % 100 == 50 + t && own.host_view()[0] != i + 1) ++wrong;
            }
            if (own.host_view()[0] != 250) ++wrong;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(shared.host_view()[0] == 1000);
}

TEST_CASE("an idle runtime uses under one per cent of a core") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 8}))));
    Runtime runtime(setting.config());
    for (int i = 0; i < 100; ++i) runtime.submit({.threads = {1, 2}}, [](const Team& team) { team.barrier(); });
    runtime.wait();
    std::this_thread::sleep_for(50ms);
    const auto before = used_time();
    std::this_thread::sleep_for(500ms);
    CHECK((used_time() - before).count() < 5000);
}

TEST_CASE("two runtimes in one process work at the same time", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    Runtime first(setting.config());
    Runtime second(setting.config());
    auto run = [](Runtime& runtime) {
        Array<int> x(runtime, 1);
        for (int i = 0; i < 500; ++i) runtime.submit({}, readwrite(x), [](View<int> x) { ++x[0]; });
        return x.host_view()[0];
    };
    auto other = std::async(std::launch::async, [&] { return run(second); });
    CHECK(run(first) == 500);
    CHECK(other.get() == 500);
}

TEST_CASE("a task of one runtime uses another one and passes on its errors") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    Runtime outer(setting.config());
    Runtime inner(setting.config());
    std::atomic<int> sum{0};
    for (int i = 0; i < 10; ++i) {
        outer.submit({}, [&] {
            Array<int> x(inner, 1);
            for (int k = 0; k < 10; ++k)
                inner.submit({.threads = {1, 2}}, readwrite(x), [](const Team& team, View<int> x) {
                    if (team.rank() == 0) ++x[0];
                });
            sum += x.host_view()[0];
        });
    }
    outer.wait();
    CHECK(sum == 100);
    outer.submit({.name = "outer"}, [&] {
        inner.submit({.name = "inner"}, [] { throw std::runtime_error("deep"); });
        inner.wait();
    });
    try {
        outer.wait();
        FAIL("no exception");
    } catch (const TaskError& error) {
        CHECK(error.task() == "inner");
    }
    inner.wait();
}

TEST_CASE("the affinity mask decides how many workers there are") { CHECK(succeeds_on_one_processor(one_worker_case)); }

TEST_CASE("in a process bound to one processor there is one worker", "[.child]") {
    const Runtime runtime;
    CHECK(runtime.workers() == 1);
    CHECK(runtime.config().workers == 1);
}
