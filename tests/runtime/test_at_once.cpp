// Tasks that run inside submit(): when they do, and that there is no visible difference.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/basalt.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::comes_true;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::Watchdog;

namespace {

const std::function<void()> nothing = [] {};

/// Submits short tasks, some of which run at once.
class Flood {
  public:
    /// Each task does `work`.
    explicit Flood(Runtime& runtime, TaskOptions options = {}, std::function<void()> work = nothing)
        : runtime_(runtime), options_(std::move(options)), work_(std::move(work)) {}

    /// A task, which calls `inside` if it runs at once.
    void submit(const std::function<void()>& inside) {
        current_ = ++submitted_;
        const auto submitter = std::this_thread::get_id();
        last_ = runtime_.submit(options_, [this, inside = &inside, number = submitted_, submitter] {
            ++ran_;
            work_();
            // submit() also runs other tasks, when the window is full
            if (std::this_thread::get_id() != submitter || current_ != number) return;
            ++at_once_;
            (*inside)();
        });
        current_ = 0;
    }
    /// Submits tasks until one has run at once, and as far as that did, `inside`.
    void submit_until_at_once(const std::function<void()>& inside) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (at_once_ == 0 && std::chrono::steady_clock::now() < end) submit(inside);
        REQUIRE(at_once_ == 1);
    }
    /// The handle of the last task.
    const TaskHandle& last() const { return last_; }
    int submitted() const { return submitted_; }
    int ran() const { return ran_; }
    int at_once() const { return at_once_; }

  private:
    Runtime& runtime_;
    const TaskOptions options_;
    const std::function<void()> work_;
    int submitted_ = 0;
    std::atomic<int> current_{0};
    std::atomic<int> ran_{0};
    int at_once_ = 0;  // of the submitting thread
    TaskHandle last_;
};

}  // namespace

TEST_CASE("short tasks without accesses run inside submit() when enough others are ready", "[sanitize]") {
    const Watchdog watchdog;
    const int workers = GENERATE(1, 2, 4);
    CAPTURE(workers);
    Runtime runtime({.workers = workers, .window = 1024});
    Flood flood(runtime);
    flood.submit_until_at_once(nothing);
    const TaskHandle first = flood.last();
    CHECK(first.done());
    for (int i = 0; i < 5000; ++i) flood.submit(nothing);
    CHECK(first != flood.last());
    flood.last().wait();
    first.wait();
    std::atomic<bool> followed{false};
    runtime.submit({}, after(first), [&] { followed = true; });
    runtime.wait();
    CHECK(followed);
    CHECK(flood.ran() == flood.submitted());
    CHECK(runtime.statistics().tasks == static_cast<std::uint64_t>(flood.submitted() + 1));
}

TEST_CASE("tasks with accesses that wait for nothing run inside submit() as well", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 2});
    std::vector<Array<int>> counters;
    for (int i = 0; i < 64; ++i) counters.emplace_back(runtime, 1);
    std::atomic<int> current{0};
    int at_once = 0;
    int submitted = 0;
    const auto submitter = std::this_thread::get_id();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    Flood flood(runtime);
    while (at_once < 100 && std::chrono::steady_clock::now() < end) {
        flood.submit(nothing);
        current = ++submitted;
        runtime.submit({}, readwrite(counters[static_cast<std::size_t>(submitted) % counters.size()]),
                       [&, number = submitted](View<int> x) {
                           ++x[0];
                           if (std::this_thread::get_id() == submitter && current == number) ++at_once;
                       });
        current = 0;
    }
    runtime.wait();
    CHECK(at_once == 100);
    int sum = 0;
    for (Array<int>& counter : counters) sum += counter.host_view()[0];
    CHECK(sum == submitted);
}

TEST_CASE("where one place runs all tasks, those of a chain run inside submit()", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 1, .window = 256});
    Array<int> x(runtime, 1);
    std::atomic<int> current{0};
    int at_once = 0;
    int submitted = 0;
    const auto submitter = std::this_thread::get_id();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (at_once < 100 && std::chrono::steady_clock::now() < end) {
        current = ++submitted;
        runtime.submit({}, readwrite(x), [&, number = submitted](View<int> x) {
            ++x[0];
            if (std::this_thread::get_id() == submitter && current == number) ++at_once;
        });
        current = 0;
    }
    runtime.wait();
    CHECK(at_once == 100);
    CHECK(x.host_view()[0] == submitted);

    // what comes behind a wait may take long
    for (int i = 0; i < 10; ++i) {
        std::atomic<bool> submitting{true};
        bool inside = false;
        runtime.submit({}, readwrite(x),
                       [&](View<int>) { inside = submitting && std::this_thread::get_id() == submitter; });
        submitting = false;
        runtime.wait();
        CHECK_FALSE(inside);
    }
}

TEST_CASE("one place, two submitters: both find room", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 1, .window = 64});
    Array<int> x(runtime, 1);
    Array<int> y(runtime, 1);
    const auto flood = [&runtime](Array<int>& data) {
        for (int i = 0; i < 20'000; ++i) runtime.submit({}, readwrite(data), [](View<int> x) { ++x[0]; });
    };
    std::thread other([&] { flood(y); });
    flood(x);
    other.join();
    runtime.wait();
    CHECK(x.host_view()[0] == 20'000);
    CHECK(y.host_view()[0] == 20'000);
}

TEST_CASE("tasks are queued when they are few or long, without a window, and in a runtime that records a trace") {
    const Watchdog watchdog;
    Config config{.workers = 2};
    int tasks = 3000;
    std::chrono::microseconds length{0};
    std::mutex mutex;
    bool holds_mutex = false;
    SECTION("few") { tasks = 60; }
    SECTION("long") {
        tasks = 1000;
        length = std::chrono::microseconds(20);
    }
    SECTION("a trace") { config.trace = true; }
    SECTION("no window: a program may hold a mutex over submit() that its tasks lock as well") {
        config.window = 0;
        holds_mutex = true;
    }
    Runtime runtime(config);
    Flood flood(runtime, {}, [&] {
        if (holds_mutex) const std::lock_guard guard(mutex);
        const auto end = std::chrono::steady_clock::now() + length;
        while (std::chrono::steady_clock::now() < end) {
        }
    });
    for (int i = 0; i < tasks; ++i) {
        std::unique_lock guard(mutex, std::defer_lock);
        if (holds_mutex) guard.lock();
        flood.submit(nothing);
    }
    runtime.wait();
    CHECK(flood.ran() == tasks);
    CHECK(flood.at_once() == 0);
}

TEST_CASE("the error of a task that ran inside submit() cancels the graph and surfaces at wait()", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 2});
    Flood flood(runtime, {.name = "early", .tile = {3, 4}, .step = 7});
    flood.submit_until_at_once([] { throw std::runtime_error("no luck"); });
    CHECK(flood.last().done());
    CHECK_THROWS_AS(flood.last().wait(), TaskError);
    std::atomic<bool> ran{false};
    runtime.submit({}, [&] { ran = true; });
    try {
        runtime.wait();
        FAIL("no exception");
    } catch (const TaskError& error) {
        CAPTURE(error.what());
        CHECK(mentions(error.what(), "early(3,4)"));
        CHECK(mentions(error.what(), "of step 7"));
        CHECK(mentions(error.what(), "no luck"));
    }
    CHECK_FALSE(ran);
    runtime.submit({}, [&] { ran = true; });
    runtime.wait();
    CHECK(ran);
}

TEST_CASE("a task that runs inside submit() may cancel its graph, which drops what follows", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 2});
    Flood flood(runtime);
    bool cancelled = false;
    flood.submit_until_at_once([&] {
        runtime.cancel();
        cancelled = runtime.cancelled();
    });
    CHECK(cancelled);
    std::atomic<bool> ran{false};
    runtime.submit({}, [&] { ran = true; });
    CHECK_THROWS_AS(runtime.wait(), Cancelled);
    CHECK_FALSE(ran);
}

TEST_CASE("the children of a task that ran inside submit() are waited for, and their errors are the task's",
          "[sanitize]") {
    const Watchdog watchdog;
    const bool waits = GENERATE(false, true);
    const bool fails = GENERATE(false, true);
    CAPTURE(waits, fails);
    Runtime runtime({.workers = 2});
    Flood flood(runtime);
    std::atomic<int> children{0};
    flood.submit_until_at_once([&] {
        for (int i = 0; i < 100; ++i) runtime.submit({}, [&children] { ++children; });
        if (fails) runtime.submit({.name = "child"}, [] { throw std::runtime_error("no luck"); });
        if (waits && !fails) {
            runtime.wait();
            CHECK(children == 100);
        }
    });
    const TaskHandle parent = flood.last();
    for (int i = 0; i < 1000; ++i) flood.submit(nothing);
    if (fails) {
        CHECK_THROWS_AS(parent.wait(), TaskError);
        CHECK_THROWS_AS(runtime.wait(), TaskError);
    } else {
        runtime.wait();
        CHECK(children == 100);
        CHECK(flood.ran() == flood.submitted());
    }
}

TEST_CASE("a task that runs inside submit() is in flight for other threads", "[sanitize]") {
    const Watchdog watchdog;
    Runtime runtime({.workers = 2});
    Flood flood(runtime);
    Gate gate;
    bool early = true;
    std::thread other([&] {
        gate.await_arrival();
        // meanwhile the worker runs whatever else there is
        early =
            comes_true([&] { return runtime.wait_for(std::chrono::milliseconds(1)); }, std::chrono::milliseconds(50));
        gate.open();
        runtime.wait();
    });
    flood.submit_until_at_once([&] { gate.pass(); });
    other.join();
    CHECK_FALSE(early);
    CHECK(flood.ran() == flood.submitted());
}
