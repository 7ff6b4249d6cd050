// Recorded tasks that follow others by after(): their order, what a failure does, and what is refused.
#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::mentions;
using basalt_tests::Random;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

/// Tasks without data, each behind some that were submitted before. Each task counts its runs, and complains when a
/// task that it follows has run less often.
class RandomOrder {
  public:
    RandomOrder(std::uint64_t seed, std::size_t tasks) : predecessors_(tasks), runs_(tasks) {
        Random random(seed);
        for (std::size_t t = 1; t < tasks; ++t) {
            const int count = random.between(0, 3);
            for (int i = 0; i < count; ++i) {
                predecessors_[t].push_back(static_cast<std::size_t>(random.between(0, static_cast<int>(t) - 1)));
            }
        }
    }

    void submit(Runtime& runtime, const TaskOptions& options = {}) {
        std::vector<TaskHandle> handles;
        for (std::size_t t = 0; t < predecessors_.size(); ++t) {
            std::vector<TaskHandle> before;
            for (const std::size_t p : predecessors_[t]) before.push_back(handles[p]);
            handles.push_back(runtime.submit(options, after(before), [this, t] { run(t); }));
        }
    }
    int wrong() const { return wrong_; }
    bool all_ran(int times) const {
        for (const std::atomic<int>& runs : runs_) {
            if (runs != times) return false;
        }
        return true;
    }

  private:
    void run(std::size_t task) {
        const int times = runs_[task].load(std::memory_order_relaxed) + 1;
        for (const std::size_t p : predecessors_[task]) wrong_ += runs_[p].load(std::memory_order_relaxed) < times;
        runs_[task].store(times, std::memory_order_relaxed);
    }

    std::vector<std::vector<std::size_t>> predecessors_;
    std::vector<std::atomic<int>> runs_;
    std::atomic<int> wrong_{0};
};

}  // namespace

TEST_CASE("recorded tasks follow each other by after(), also without data", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        RandomOrder order(seed, 200);
        Recording recording(runtime, [&] { order.submit(runtime); });
        for (int run = 0; run < 5; ++run) recording.run();
        runtime.wait();
        CHECK(order.wrong() == 0);
        CHECK(order.all_ran(5));
    }
}

TEST_CASE("after() holds where a run submits its tasks: inside a task, and with gangs", "[sanitize]") {
    const Watchdog watchdog("after() in submitted runs");
    Runtime runtime(small_machine());
    RandomOrder inside(7, 100), gangs(8, 40);
    Recording recording(runtime, [&] { inside.submit(runtime); });
    Recording of_gangs(runtime, [&] {
        gangs.submit(runtime);
        runtime.submit({.threads = {2, 2}}, [](const Team&) {});  // so the tasks are submitted one by one
    });
    runtime.submit({}, [&] {
        recording.run();
        runtime.wait();
        recording.run();
    });
    of_gangs.run();
    runtime.wait();
    of_gangs.run();
    runtime.wait();
    CHECK(inside.wrong() + gangs.wrong() == 0);
    CHECK(inside.all_ran(2));
    CHECK(gangs.all_ran(2));
}

TEST_CASE("tasks on GPUs that are recorded follow tasks on cores and each other", "[sanitize]") {
    const Watchdog watchdog("after() between GPUs");
    Runtime runtime(small_machine(2));
    std::atomic<int> step{0};
    std::atomic<int> wrong{0};
    const auto expect = [&](int expected) { wrong += step.fetch_add(1) != expected; };
    const auto on_gpu = [&](int gpu, int number, const auto& before) {
        return runtime.submit(
            {.place = Place::gpu(gpu)}, after(before), [expect, number] { expect(number); }, cuda([](Stream) {}));
    };
    Recording recording(runtime, [&] {
        const TaskHandle a = on_gpu(0, 0, TaskHandle());
        const TaskHandle b = on_gpu(1, 1, a);
        const TaskHandle c = runtime.submit({}, after(b), [expect] { expect(2); });
        c.then({}, [expect] { expect(3); });
    });
    CHECK(recording.size() == 4);
    for (int run = 0; run < 20; ++run) {
        step = 0;
        recording.run();
        runtime.wait();
        CHECK(step == 4);
    }
    CHECK(wrong == 0);
}

TEST_CASE("recorded tasks that follow one that did not run do not run either, in that run", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    Runtime runtime(setting.config());
    Graph failing(runtime), graph(runtime);
    Array<long> x(runtime, 1, "x"), y(runtime, 1, "y");
    const bool with_children = GENERATE(false, true);
    std::atomic<int> followers{0}, others{0};
    Recording recording(runtime, [&] {
        const TaskHandle reads = runtime.submit({.name = "reads x"}, read(x), [&](View<const long>) {
            if (with_children) runtime.submit({}, [] {});
        });
        const TaskHandle follows = runtime.submit({.name = "follows"}, after(reads), write(y), [&](View<long> y) {
            ++followers;
            y[0] = 7;
        });
        runtime.submit({.name = "farther"}, after(follows), [&] { ++followers; });
        runtime.submit({.name = "other"}, [&] { ++others; });
    });
    for (int round = 0; round < 3; ++round) {
        failing.submit({}, write(x), [](View<long>) { throw std::runtime_error("boom"); });
        CHECK_THROWS_AS(failing.wait(), TaskError);
        recording.run(graph);
        CHECK(mentions(error_of<DataError>([&] { graph.wait(); }), "task reads x did not run"));
        CHECK(followers == 2 * round);
        CHECK(others == 2 * round + 1);
        CHECK(mentions(error_of<DataError>([&] { y.host_view(); }), "boom"));
        x.host_overwrite()[0] = 1;
        recording.run(graph);
        graph.wait();
        CHECK(followers == 2 * round + 2);
        CHECK(others == 2 * round + 2);
        CHECK(y.host_view()[0] == 7);
    }
}

TEST_CASE("a recorded task that fails through its children fails those that follow it", "[sanitize]") {
    const Watchdog watchdog("failing children of recorded tasks");
    Runtime runtime(small_machine());
    std::atomic<bool> fails{true};
    std::atomic<int> followers{0};
    Recording recording(runtime, [&] {
        const TaskHandle parent = runtime.submit({.name = "parent"}, [&] {
            runtime.submit({.name = "child"}, [&] {
                if (fails) throw std::runtime_error("boom");
            });
        });
        runtime.submit({}, after(parent), [&] { ++followers; });
    });
    recording.run();
    CHECK(mentions(error_of<TaskError>([&] { runtime.wait(); }), "boom"));
    CHECK(followers == 0);
    fails = false;
    recording.run();
    runtime.wait();
    CHECK(followers == 1);
}

TEST_CASE("the handle of a recorded task is for after() and then() in its recording") {
    const Watchdog watchdog("handles of recorded tasks");
    Runtime runtime(small_machine());
    const TaskHandle submitted = runtime.submit({}, [] {});
    TaskHandle recorded;
    Recording recording(runtime, [&] {
        recorded = runtime.submit({.name = "first"}, after(TaskHandle()), [] {});
        runtime.submit({}, after(recorded, TaskHandle()), [] {});
        const std::array<TaskHandle, 0> none{};
        runtime.submit({}, after(none), [] {});
    });
    CHECK(recording.size() == 3);
    CHECK_FALSE(recorded.valid());
    CHECK(recorded.done());
    CHECK_NOTHROW(recorded.wait());
    const auto refused = [&](const auto& what) { return error_of<UsageError>([&] { Recording(runtime, what); }); };
    CHECK(mentions(refused([&] { runtime.submit({.name = "late"}, after(submitted), [] {}); }),
                   "task 'late': after() got the handle of a task that is not part of the Recording"));
    CHECK(mentions(refused([&] { runtime.submit({.name = "other"}, after(recorded), [] {}); }),
                   "task 'other': after() got the handle of a task that is not part of the Recording"));
    CHECK(mentions(error_of<UsageError>([&] { runtime.submit({.name = "outside"}, after(recorded), [] {}); }),
                   "task 'outside': after() got the handle of a task that was recorded"));
    CHECK(mentions(error_of<UsageError>([&] { recorded.then({.name = "then"}, [] {}); }),
                   "task 'then': after() got the handle of a task that was recorded"));
    recording.run();
    runtime.wait();
}
