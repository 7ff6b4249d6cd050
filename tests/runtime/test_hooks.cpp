// Hooks at the begin and end of tasks, and the spans and counters of a program in traces.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/hooks.hpp"
#include "basalt/runtime.hpp"
#include "basalt/span.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

struct Seen {
    std::string name;
    std::string tile;
    std::optional<int> step, worker, device;
    std::uint64_t id;
    bool failed;
};

class Recorder : public TaskHooks {
  public:
    void task_started(const TaskInfo& info) override { add(started, info); }
    void task_ended(const TaskInfo& info) override { add(ended, info); }

    std::vector<Seen> started, ended;

  private:
    void add(std::vector<Seen>& list, const TaskInfo& info) {
        const std::lock_guard guard(lock_);
        list.push_back({info.name, info.tile.text(), info.step, info.worker, info.device, info.id, info.failed});
    }
    std::mutex lock_;
};

template <class Hooks>
Config with_hooks(std::shared_ptr<Hooks> hooks, int gpus = 0) {
    Config config = small_machine(gpus);
    config.hooks = std::move(hooks);
    return config;
}

std::map<std::string, int> counts(const std::vector<Seen>& list) {
    std::map<std::string, int> counts;
    for (const Seen& seen : list) ++counts[seen.name];
    return counts;
}

}  // namespace

TEST_CASE("hooks are called once at the begin and the end of every task that runs", "[sanitize]") {
    const Watchdog watchdog;
    const auto hooks = std::make_shared<Recorder>();
    {
        Runtime rt(with_hooks(hooks));
        Graph graph(rt);
        Array<int> x(rt, 1);
        for (int i = 0; i < 100; ++i) {
            rt.submit({.name = "single", .tile = {i}, .step = i}, readwrite(x), [](View<int> v) { ++v[0]; });
            graph.submit({.name = "of a graph"}, [] {});
        }
        rt.submit({.name = "gang", .threads = {2, 2}}, [](const Team& team) { team.barrier(); });
        rt.submit({.name = "parent"}, [&] {
            for (int i = 0; i < 10; ++i) rt.submit({.name = "child"}, [] {});
            rt.wait();
        });
        rt.wait();
        CHECK(x.host_view()[0] == 100);
    }
    const std::map<std::string, int> expected{
        {"single", 100}, {"of a graph", 100}, {"gang", 1}, {"parent", 1}, {"child", 10}};
    CHECK(counts(hooks->started) == expected);
    CHECK(counts(hooks->ended) == expected);
    int next = 0;
    for (const Seen& seen : hooks->started) {
        CHECK((seen.worker && *seen.worker < 2 && !seen.device));
        if (seen.name != "single") continue;
        CHECK(seen.step == next);  // a chain: its order is that of the calls
        CHECK(seen.tile == std::to_string(next++));
    }
    CHECK(std::none_of(hooks->ended.begin(), hooks->ended.end(), [](const Seen& seen) { return seen.failed; }));
}

TEST_CASE("hooks tell the GPU, and which tasks failed; those that do not run are not told", "[sanitize]") {
    const Watchdog watchdog;
    const auto hooks = std::make_shared<Recorder>();
    Runtime rt(with_hooks(hooks, 2));
    Array<int> x(rt, 1), y(rt, 1);
    rt.submit(
        {.name = "on a GPU", .step = 7, .place = Place::gpu(1)}, readwrite(x), [](View<int>) {}, cuda([](Stream) {}));
    rt.wait();
    REQUIRE(hooks->started.size() == 1);
    CHECK(hooks->started[0].device == 1);
    CHECK(hooks->started[0].step == 7);
    CHECK_FALSE(hooks->started[0].worker);
    CHECK(hooks->ended[0].id == hooks->started[0].id);
    Graph graph(rt);
    graph.submit({.name = "bad"}, write(y), [](View<int>) { throw std::runtime_error("no"); });
    CHECK_THROWS_AS(graph.wait(), TaskError);
    rt.submit({.name = "lacks its data", .place = Place::cpu()}, read(y), [](View<const int>) {});
    CHECK_THROWS_AS(rt.wait(), DataError);
    REQUIRE(hooks->ended.size() == 2);
    CHECK(hooks->ended[1].name == "bad");
    CHECK(hooks->ended[1].failed);
}

TEST_CASE("what a hook throws counts as thrown by the task", "[sanitize]") {
    struct Throws : TaskHooks {
        bool at_begin;
        explicit Throws(bool at_begin) : at_begin(at_begin) {}
        void task_started(const TaskInfo&) override {
            if (at_begin) throw std::runtime_error("from the hook");
        }
        void task_ended(const TaskInfo&) override {
            if (!at_begin) throw std::runtime_error("from the hook");
        }
    };
    const Watchdog watchdog;
    const bool at_begin = GENERATE(true, false);
    const int kind = GENERATE(0, 1, 2);  // alone, gang, on a GPU
    CAPTURE(at_begin, kind);
    Runtime rt(with_hooks(std::make_shared<Throws>(at_begin), kind == 2 ? 1 : 0));
    std::atomic<int> ran{0};
    Array<int> x(rt, 1);
    if (kind == 1) {
        rt.submit({.name = "task", .threads = {2, 2}}, write(x), [&](const Team&, View<int>) { ++ran; });
    } else {
        rt.submit(
            {.name = "task", .place = kind == 2 ? Place::gpu(0) : Place::cpu()}, write(x), [&](View<int>) { ++ran; },
            cuda([](Stream) {}));
    }
    CHECK(mentions(error_of<TaskError>([&] { rt.wait(); }), "from the hook"));
    CHECK(ran == (at_begin ? 0 : kind == 1 ? 2 : 1));
    CHECK_THROWS_AS(x.host_view(), DataError);
}

TEST_CASE("a hook may not use the runtime", "[sanitize]") {
    struct Uses : TaskHooks {
        Runtime* rt = nullptr;
        std::string submitted, waited;
        void task_started(const TaskInfo&) override {
            submitted = error_of<UsageError>([&] { rt->submit({}, [] {}); });
            waited = error_of<UsageError>([&] { rt->wait(); });
        }
    };
    const Watchdog watchdog;
    const auto hooks = std::make_shared<Uses>();
    Runtime rt(with_hooks(hooks));
    hooks->rt = &rt;
    rt.submit({.name = "observed"}, [] {});
    rt.wait();
    CHECK(mentions(hooks->submitted, "task 'observed': the runtime is used inside a hook"));
    CHECK(mentions(hooks->waited, "inside a hook"));
}

TEST_CASE("spans and counters appear in the trace of the runtime whose task has them", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    Runtime other(small_machine());
    {
        const Span before("before any trace");
        counter("before any trace", 1);
        rt.start_trace();
        other.start_trace();
    }
    rt.submit({.name = "task"}, [] {
        const Span outer("outer");
        const Span inner("inner");
        counter("residual", 0.5);
    });
    rt.wait();
    std::thread([] {
        const Span span("on a thread");
        counter("bytes", 12);
    }).join();
    const Trace trace = rt.take_trace();
    REQUIRE(trace.events.size() == 1);
    const TraceEvent& task = trace.events[0];
    const auto span_of = [&](const std::string& name) {
        const auto found =
            std::find_if(trace.spans.begin(), trace.spans.end(), [&](const auto& s) { return s.name == name; });
        REQUIRE(found != trace.spans.end());
        return *found;
    };
    CHECK(trace.spans.size() == 3);
    for (const char* name : {"outer", "inner"}) {
        const TraceSpan span = span_of(name);
        CHECK(span.row == task.row);
        CHECK(span.begin_ns >= task.begin_ns);
        CHECK(span.end_ns <= task.end_ns);
    }
    const TraceRow& row = trace.rows[static_cast<std::size_t>(span_of("on a thread").row)];
    CHECK(row.kind == TraceRowKind::thread);
    CHECK(row.name == "thread 0");
    REQUIRE(trace.counters.size() == 2);
    CHECK(trace.counters[0].name == "residual");
    CHECK(trace.counters[0].value == 0.5);
    CHECK(trace.counters[1].value == 12);
    // what a thread outside of tasks does belongs to all traces; a task's to its own runtime's alone
    const Trace others = other.take_trace();
    REQUIRE(others.spans.size() == 1);
    CHECK(others.spans[0].name == "on a thread");
    CHECK(others.counters.size() == 1);
    CHECK(rt.take_trace().spans.empty());
}
