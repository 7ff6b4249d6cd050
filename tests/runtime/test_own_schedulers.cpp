// Schedulers of a program's own.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "basalt/scheduler.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

/// One queue for all workers, in the order of the tasks' names; a task that was released waits like any other.
class Alphabetical final : public basalt::Scheduler {
  public:
    static inline std::atomic<int> made{0};
    static inline SchedulerPlaces places;

    explicit Alphabetical(const SchedulerPlaces& seen) {
        if (++made == 1) places = seen;
    }
    void push(std::optional<int>, std::span<const ReadyTask> tasks) override {
        const std::lock_guard guard(lock_);
        for (const ReadyTask& task : tasks) tasks_.emplace(task.name, task);
    }
    std::optional<ReadyTask> pop(int) override {
        const std::lock_guard guard(lock_);
        if (tasks_.empty()) return std::nullopt;
        const ReadyTask first = tasks_.begin()->second;
        tasks_.erase(tasks_.begin());
        return first;
    }
    std::optional<ReadyTask> exchange(int worker, const ReadyTask& released) override {
        push(worker, {&released, 1});
        return std::nullopt;
    }

  private:
    std::mutex lock_;
    std::multimap<std::string, ReadyTask> tasks_;
};

Config alphabetical(int workers) {
    [[maybe_unused]] static const bool once = [] {
        register_scheduler("alphabetical",
                           [](const SchedulerPlaces& places) { return std::make_unique<Alphabetical>(places); });
        return true;
    }();
    Config config = small_machine();
    config.workers = workers;
    config.scheduler = "alphabetical";
    return config;
}

}  // namespace

TEST_CASE("a scheduler of the program's own decides what a core runs next") {
    const Watchdog watchdog("alphabetical");
    Runtime rt(alphabetical(1));
    Array<int> x(rt, 1);
    std::string order;  // there is one worker
    Gate gate;
    rt.submit({.name = "gate"}, write(x), [&](View<int>) { gate.pass(); });
    gate.await_arrival();
    for (const char* name : {"m", "c", "x", "a"}) {
        rt.submit({.name = TaskName::intern(name), .tile = {1, 2}}, read(x),
                  [&order, name](View<const int>) { order += name; });
    }
    rt.submit({.name = "b"}, [&] { order += "b"; });
    gate.open();
    rt.wait();
    CHECK(order == "abcmx");
    CHECK(Alphabetical::places.workers() >= 1);
    const auto names = scheduler_names();
    CHECK(std::count(names.begin(), names.end(), "alphabetical") == 1);
}

TEST_CASE("a scheduler of the program's own runs graphs with children, gangs and commuting tasks", "[sanitize]") {
    const Watchdog watchdog("graphs in the program's own order");
    Runtime rt(alphabetical(4));
    Array<long> x(rt, 64), sum(rt, 1);
    for (int round = 0; round < 20; ++round) {
        for (Index i = 0; i < 64; ++i) {
            rt.submit({.name = TaskName::intern(i % 2 == 0 ? "even" : "odd")}, readwrite(x.rows(i, i + 1)),
                      [&rt](View<long> v) {
                          for (int child = 0; child < 3; ++child) rt.submit({}, [] {});
                          rt.wait();
                          ++v[0];
                      });
            rt.submit({.name = "add"}, read(x.rows(i, i + 1)), commute(sum),
                      [](View<const long> v, View<long> sum) { sum[0] += v[0]; });
        }
        rt.submit({.name = "gang", .threads = {2, 2}}, readwrite(x), [](const Team& team, View<long> x) {
            if (team.rank() == 0) ++x[0];
        });
    }
    rt.wait();
    CHECK(x.host_view()[0] == 40);
    CHECK(x.host_view()[63] == 20);
    CHECK(sum.host_view()[0] == 64 * 210 + 190);
}

TEST_CASE("what register_scheduler() does not allow is refused") {
    const auto make = [](const SchedulerPlaces& places) { return std::make_unique<Alphabetical>(places); };
    const auto refused = [](const std::string& name, const SchedulerFactory& factory) {
        return error_of<UsageError>([&] { register_scheduler(name, factory); });
    };
    CHECK(mentions(refused("", make), "the name is empty"));
    CHECK(mentions(refused("fifo", make), "there is a scheduler 'fifo' already"));
    CHECK(mentions(refused("none", nullptr), "the factory of scheduler 'none' is empty"));
    register_scheduler("returns none", [](const SchedulerPlaces&) { return nullptr; });
    Config config = small_machine();
    config.scheduler = "returns none";
    CHECK(mentions(error_of<UsageError>([&] { Runtime rt(config); }), "'returns none' returns none"));
}
