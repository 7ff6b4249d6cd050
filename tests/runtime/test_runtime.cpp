// Tasks, data and the order between them.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"

using namespace basalt;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::WatchedSetting;

TEST_CASE("tasks on one datum run in program order and readers in between see what was written", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    std::vector<long> seen(300, -1);
    for (long i = 0; i < 300; ++i) {
        runtime.submit({.name = "step"}, readwrite(x), [i](View<long> x) { x[0] = (3 * x[0] + i) % 1000; });
        runtime.submit({.name = "look"}, read(x),
                       [i, &seen](View<const long> x) { seen[static_cast<std::size_t>(i)] = x[0]; });
    }
    runtime.wait();
    long expected = 0;
    for (long i = 0; i < 300; ++i) {
        expected = (3 * expected + i) % 1000;
        REQUIRE(seen[static_cast<std::size_t>(i)] == expected);
    }
}

TEST_CASE("tasks without accesses all run, and so do kernels with and without a Team") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> ran{0};
    for (int i = 0; i < 1000; ++i) {
        runtime.submit({}, [&] { ++ran; });
        runtime.submit({}, [&](const Team& team) { ran += team.size() + team.rank(); });
    }
    runtime.wait();
    CHECK(ran == 2000);
    CHECK(runtime.statistics().tasks == 2000);
}

TEST_CASE("a region named twice in one list is accessed in the strongest mode") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 4);
    for (int i = 0; i < 100; ++i) {
        runtime.submit({}, read(x), readwrite(x.rows(1, 3)),
                       [](View<const int> all, View<int> part) { part[0] = all[1] + 1; });
        runtime.submit({}, commute(x), read(x), [](View<int> x, View<const int> same) { x[2] = same[2] + 1; });
    }
    CHECK(x.host_view()[1] == 100);
    CHECK(x.host_view()[2] == 100);
}

TEST_CASE("tasks have as many accesses and capture as much as they like", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    constexpr std::size_t most = 40;
    std::vector<Array<long>> data;
    for (std::size_t i = 0; i < most; ++i) data.emplace_back(runtime, 1);
    struct alignas(128) Line {
        std::array<long, 16> numbers{};
    };
    const std::array<long, 20> medium{1};
    const std::array<long, 100> large{1};
    const std::array<long, 1000> huge{1};
    const Line line{{1}};
    std::vector<long> expected(most, 0);
    for (std::size_t round = 0; round < 3 * most; ++round) {
        const std::size_t count = 1 + round * 7 % most;
        AccessList list;
        for (std::size_t i = 0; i < count; ++i) {
            list.readwrite(i % 3 == 0 ? data[i].rows(0, 0) : data[i].region());  // some of them are empty
            if (i % 3 != 0) expected[i] += 4;
        }
        const auto add = [count](const Addresses& addresses, long number) {
            for (std::size_t i = 0; i < count; ++i) {
                if (addresses[i] != nullptr) *static_cast<long*>(addresses[i]) += number;
            }
        };
        runtime.submit({}, list, [add, medium](const Addresses& a) { add(a, medium[0]); });
        runtime.submit({}, list, [add, large](const Addresses& a) { add(a, large[0]); });
        runtime.submit({}, list, [add, huge](const Addresses& a) { add(a, huge[0]); });
        runtime.submit({}, list, [add, line](const Addresses& a) { add(a, line.numbers[0]); });
    }
    runtime.wait();
    for (std::size_t i = 0; i < most; ++i) CHECK(data[i].host_view()[0] == expected[i]);
}

TEST_CASE("commuting tasks exclude each other", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 2);
    for (int i = 0; i < 500; ++i) {
        runtime.submit({.priority = i % 3}, commute(x), [](View<int> x) { ++x[0]; });
        runtime.submit({}, commute(x.rows(0, 1)), [](View<int> x) { ++x[0]; });
    }
    CHECK(x.host_view()[0] == 1000);
}

TEST_CASE("children that commute share what their parent holds as commute") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    for (int i = 0; i < 20; ++i) {
        runtime.submit({}, commute(x), [&](View<int>) {
            for (int k = 0; k < 5; ++k) runtime.submit({}, commute(x), [](View<int> x) { ++x[0]; });
        });
    }
    CHECK(x.host_view()[0] == 100);
}

TEST_CASE("dependencies that a block task has several times or that others imply are dropped") {
    Gate gate;
    Runtime runtime({.workers = 2});
    const Index count = GENERATE(5, 20);
    Array<int> x(runtime, count);
    auto rows = [&](Index begin, Index end) {
        AccessList list;
        for (Index i = begin; i < end; ++i) list.readwrite(x.rows(i, i + 1));
        return list;
    };
    runtime.submit({.name = "first"}, rows(0, count), [&] { gate.pass(); });
    runtime.submit({.name = "second"}, rows(0, count - 1), [] {});
    const Statistics before = runtime.statistics();
    // waits for the second task many times, and for the first one, for which the second waits anyway
    runtime.submit({.name = "third"}, rows(0, count), [] {});
    const Statistics after = runtime.statistics();
    gate.open();
    runtime.wait();
    // with few accesses, looking for what others imply takes longer than an edge
    const std::uint64_t edges = count < 17 ? 2 : 1;
    CHECK(after.edges - before.edges == edges);
    CHECK(after.dropped - before.dropped == static_cast<std::uint64_t>(count) - edges);
}

TEST_CASE("one sync node stands between many readers and a writer") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Gate gate;
    std::atomic<int> readers{0};
    Runtime runtime(setting.config());
    std::vector<int> memory(1, 0);
    Array<int> x = Array<int>::wrap(runtime, memory.data(), 1);
    runtime.submit({}, readwrite(x), [&](View<int>) { gate.pass(); });
    for (int i = 0; i < 1000; ++i) runtime.submit({}, read(x), [&](View<const int>) { ++readers; });
    runtime.submit({}, readwrite(x), [&](View<int> x) { x[0] = readers; });
    const Statistics statistics = runtime.statistics();
    gate.open();
    CHECK(x.host_view()[0] == 1000);
    CHECK(statistics.sync_nodes >= 1);
    CHECK(statistics.edges < 1000 + 1100);  // one a reader, one more into a node, few into the writer
}

TEST_CASE("a writer behind a hundred thousand readers sees them all") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 8}))));
    Runtime runtime(setting.config());
    std::vector<int> memory(1, 0);
    Array<int> x = Array<int>::wrap(runtime, memory.data(), 1);
    std::atomic<int> readers{0};
    for (int i = 0; i < 100'000; ++i)
        runtime.submit({}, read(x), [&](View<const int>) { readers.fetch_add(1, std::memory_order_relaxed); });
    runtime.submit({}, readwrite(x), [&](View<int> x) { x[0] = readers; });
    CHECK(x.host_view()[0] == 100'000);
}

TEST_CASE("a list may have ten thousand entries and may be a temporary") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 8}))));
    Runtime runtime(setting.config());
    std::vector<int> memory(10'000, 0);
    Array<int> x = Array<int>::wrap(runtime, memory.data(), 10'000);
    auto all = [&](bool backwards) {
        AccessList list;
        for (Index i = 0; i < 10'000; ++i) {
            const Index row = backwards ? 9'999 - i : i;
            list.readwrite(x.rows(row, row + 1));
        }
        return list;
    };
    for (int task = 0; task < 6; ++task) {
        runtime.submit({}, all(task % 2 == 1), [&memory, task] {
            for (int& value : memory) value = 2 * value + task;
        });
    }
    runtime.wait();
    CHECK(memory == std::vector<int>(10'000, 57));
}

TEST_CASE("kernels may be large, over-aligned or movable only, and are destroyed once") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    struct alignas(256) Aligned {
        std::array<unsigned char, 256> bytes{};
    };
    std::atomic<int> right{0};
    auto shared = std::make_shared<int>(5);
    {
        Runtime runtime(setting.config());
        Array<int> x(runtime, 1);
        std::array<int, 5000> large{};
        std::iota(large.begin(), large.end(), 0);
        runtime.submit({}, [large, &right] { right += large[4999] == 4999; });
        runtime.submit(
            {}, [aligned = Aligned{}, &right] { right += reinterpret_cast<std::uintptr_t>(&aligned) % 256 == 0; });
        runtime.submit({}, [owner = std::make_unique<int>(7), &right] { right += *owner == 7; });
        runtime.submit({}, readwrite(x), [owner = std::make_unique<int>(7), aligned = Aligned{}, &right](View<int>) {
            right += *owner == 7 && reinterpret_cast<std::uintptr_t>(&aligned) % 256 == 0;
        });
        for (int i = 0; i < 10; ++i) runtime.submit({}, [shared, &right] { right += *shared == 5; });
        runtime.wait();
        CHECK(shared.use_count() == 1);
    }
    CHECK(right == 14);
}

TEST_CASE("an access to nothing is allowed and orders nothing") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Array<int> none(runtime, 0);
    Array<int> x(runtime, 3);
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) {
        runtime.submit({}, readwrite(none), write(x.rows(2, 2)),
                       [&](View<int> a, View<int> b) { ran += a.empty() && b.empty(); });
    }
    runtime.wait();
    CHECK(ran == 10);
    CHECK(none.host_view().size() == 0);
    CHECK(runtime.statistics().edges == 0);
}

TEST_CASE("an access that the runtime cannot grant is refused, saying why") {
    Runtime runtime({.workers = 1});
    Array<int> x(runtime, 4, "pivots");
    CHECK_THROWS_AS(x.rows(2, 5), UsageError);
    CHECK_THROWS_AS(x.rows(-1, 2), UsageError);
    CHECK_THROWS_AS(Array<int>(runtime, -1), UsageError);
    CHECK_THROWS_AS(Array<int>::wrap(runtime, nullptr, 3), UsageError);
    CHECK_THROWS_AS(Array<int>().host_view(), UsageError);
    CHECK_THROWS_AS(runtime.submit({}, read(Array<int>()), [](View<const int>) {}), UsageError);
    Region<int> beyond = x.region();
    beyond.row_end = 9;
    try {
        runtime.submit({}, read(beyond), [](View<const int>) {});
        FAIL("no exception");
    } catch (const UsageError& error) {
        CAPTURE(error.what());
        CHECK(mentions(error.what(), "pivots rows [0, 9)"));
        CHECK(mentions(error.what(), "up to 4"));
    }
    x.release();
    CHECK_THROWS_AS(runtime.submit({}, read(x), [](View<const int>) {}), UsageError);
    runtime.wait();
}

TEST_CASE("settings out of range are refused, naming them") {
    auto message = [](const Config& config) -> std::string {
        try {
            const Runtime runtime(config);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    CHECK(mentions(message({.workers = -1}), "workers = -1"));
    CHECK(mentions(message({.workers = 100'000}), "workers = 100000"));
    CHECK(mentions(message({.workers = 1, .window = Config::most_window + 1}), "or 0 for no limit"));
    CHECK(mentions(message({.workers = 1, .scheduler = "lottery"}), "lottery"));
}

TEST_CASE("a trace has a row a worker and a bar a task, with name, tile and priority") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    runtime.submit({.name = "before"}, [] {});
    runtime.wait();
    runtime.start_trace();
    for (int i = 0; i < 50; ++i) {
        runtime.submit({.name = TaskName::intern("update" + std::to_string(i % 2)), .priority = i, .tile = {i, 7}},
                       [] {});
    }
    runtime.wait();
    const Trace trace = runtime.take_trace();
    REQUIRE(trace.rows.size() == static_cast<std::size_t>(setting.workers));
    CHECK(trace.rows[0].name == "worker 0");
    REQUIRE(trace.events.size() == 50);
    std::vector<int> priorities;
    for (const TraceEvent& event : trace.events) {
        CHECK(event.name == "update" + std::to_string(event.priority % 2));
        CHECK(event.detail == std::to_string(event.priority) + ",7");
        CHECK(event.begin_ns <= event.end_ns);
        CHECK((event.row >= 0 && event.row < setting.workers));
        priorities.push_back(event.priority);
    }
    std::sort(priorities.begin(), priorities.end());
    for (int i = 0; i < 50; ++i) CHECK(priorities[static_cast<std::size_t>(i)] == i);
    CHECK(runtime.take_trace().events.empty());
}
