// Loops that the workers share: parallel_for(), which waits, and submit_for(), which is a task.
#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

TEST_CASE("a loop calls its function once for each index", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    for (const Index grain : {0, 1, 7, 1000}) {
        for (const IndexRange range : {IndexRange{0, 0}, {5, 5}, {0, 1}, {-3, 4}, {0, 500}, {100, 333}}) {
            std::vector<std::atomic<int>> calls(1000);
            rt.parallel_for(range, grain, [&](Index i) { ++calls[static_cast<std::size_t>(i + 3)]; });
            for (Index i = -3; i < 997; ++i) {
                const bool inside = range.begin <= i && i < range.end;
                if (calls[static_cast<std::size_t>(i + 3)] != (inside ? 1 : 0)) FAIL("index " << i);
            }
        }
    }
    std::atomic<int> sum{0};
    rt.parallel_for({0, 10}, 0, [&](auto i) { sum += static_cast<int>(i); });  // a generic one
    CHECK(sum == 45);
}

TEST_CASE("a loop over chunks covers its range with chunks of the grain", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    constexpr Index lowest = std::numeric_limits<Index>::min();
    constexpr Index highest = std::numeric_limits<Index>::max();
    std::mutex lock;
    for (const IndexRange range : {IndexRange{lowest, highest}, {lowest, lowest + 100}, {highest - 1, highest}}) {
        std::vector<IndexRange> chunks;
        const auto note = [&](IndexRange chunk) {
            const std::lock_guard guard(lock);
            chunks.push_back(chunk);
        };
        rt.parallel_for(range, range.size() > 1000 ? highest : 9, note);
        std::sort(chunks.begin(), chunks.end(), [](auto a, auto b) { return a.begin < b.begin; });
        CHECK(chunks.front().begin == range.begin);
        CHECK(chunks.back().end == range.end);
        for (std::size_t i = 1; i < chunks.size(); ++i) CHECK(chunks[i - 1].end == chunks[i].begin);
        chunks.clear();
        rt.parallel_for(range, 0, note);
        std::uint64_t covered = 0;
        for (const IndexRange chunk : chunks) covered += chunk.size();
        CHECK(covered == range.size());
        CHECK(chunks.size() <= static_cast<std::size_t>(33 * rt.workers()));
    }
}

TEST_CASE("a loop takes its data by its accesses", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Array<long> x(rt, 1000, "x");
    Array<long> y(rt, 1000, "y");
    const TaskHandle first = rt.submit_for(
        {.name = "fill"}, {0, 1000}, 10, [](Index i, View<long> x) { x[i] = i; }, write(x));
    const TaskHandle second = rt.submit_for(
        {.name = "double"}, {0, 1000}, 0,
        [](IndexRange chunk, View<const long> x, View<long> y) {
            for (Index i = chunk.begin; i < chunk.end; ++i) y[i] = 2 * x[i];
        },
        read(x), write(y));
    rt.parallel_for(
        {0, 500}, 3, [](Index i, View<long> y) { y[i] += 1; }, readwrite(y));
    CHECK(first.done());
    CHECK(second.done());
    rt.submit_for(
          {.name = "nothing"}, {3, 3}, 0, [](Index, View<long> x) { x[0] = -1; }, readwrite(x))
        .wait();
    rt.wait();
    for (Index i = 0; i < 1000; ++i) {
        if (y.host_view()[i] != 2 * i + (i < 500 ? 1 : 0)) FAIL("element " << i);
    }
    CHECK(x.host_view()[0] == 0);
}

TEST_CASE("loops nest, inside loops and inside tasks", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::vector<std::atomic<int>> calls(20 * 20);
    rt.parallel_for({0, 20}, 1, [&](Index i) {
        rt.parallel_for({0, 20}, 2, [&](Index j) { ++calls[static_cast<std::size_t>(20 * i + j)]; });
    });
    for (const auto& count : calls) CHECK(count == 1);
    std::atomic<int> sum{0};
    rt.submit({}, [&] {
        for (int round = 0; round < 5; ++round)
            rt.parallel_for({0, 100}, 0, [&](Index i) { sum += static_cast<int>(i); });
    });
    rt.wait();
    CHECK(sum == 5 * 4950);
}

TEST_CASE("threads run loops at the same time", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime rt(setting.config());
    std::atomic<int> sum{0};
    const auto work = [&] {
        for (int round = 0; round < 40; ++round) rt.parallel_for({0, 50}, 3, [&](Index) { ++sum; });
    };
    std::thread first(work);
    std::thread second(work);
    work();
    first.join();
    second.join();
    CHECK(sum == 3 * 40 * 50);
}

TEST_CASE("an error ends the loop and is thrown by it alone", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    std::atomic<int> calls{0};
    const auto bad = [&](Index i) {
        ++calls;
        if (i == 10) throw std::runtime_error("boom");
    };
    constexpr Index many = 1'000'000'000;  // it would take long otherwise
    CHECK(mentions(error_of<TaskError>([&] { rt.parallel_for({0, many}, 1, bad); }), "boom"));
    CHECK(calls < many);
    rt.wait();  // throws nothing
    // inside a task
    bool caught = false;
    bool ran = false;
    rt.submit({}, [&] {
        try {
            rt.parallel_for({0, many}, 1, bad);
        } catch (const TaskError&) {
            caught = true;
        }
        rt.parallel_for({0, 1}, 1, [&](Index) { ran = true; });
    });
    rt.wait();
    CHECK(caught);
    CHECK(ran);
    // a task
    Array<int> x(rt, 1, "x");
    const TaskHandle loop = rt.submit_for(
        {.name = "bad loop"}, {0, many}, 1, [&](Index i, View<int>) { bad(i); }, readwrite(x));
    CHECK(mentions(error_of<TaskError>([&] { loop.wait(); }), "bad loop"));
    CHECK_THROWS_AS(rt.wait(), TaskError);
    CHECK_THROWS_AS(x.host_view(), DataError);
}

TEST_CASE("a cancelled loop ends after the chunks that have begun", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime rt(setting.config());
    Graph graph(rt);
    std::atomic<int> calls{0};
    constexpr Index many = 1'000'000'000;
    const TaskHandle loop = graph.submit_for({}, {0, many}, 1, [&](Index i) {
        ++calls;
        if (i == 5) rt.cancel();
    });
    CHECK_THROWS_AS(loop.wait(), Cancelled);
    CHECK_THROWS_AS(graph.wait(), Cancelled);
    CHECK(calls < many);
    CHECK_THROWS_AS(rt.parallel_for({0, many}, 1,
                                    [&](Index i) {
                                        if (i == 5) rt.cancel();
                                    }),
                    Cancelled);
    rt.wait();  // that cancel() was the loop's
}

TEST_CASE("loops with a wrong range or grain are refused", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine());
    const auto nothing = [](Index) {};
    CHECK(mentions(error_of<UsageError>([&] { rt.parallel_for({3, 2}, 0, nothing); }), "range [3, 2)"));
    CHECK(mentions(error_of<UsageError>([&] {
                       rt.submit_for({.name = "sum"}, {0, 2}, -1, nothing);
                   }),
                   "loop 'sum': grain -1"));
    rt.wait();
}

TEST_CASE("chunks that are tasks of their own wait for their own data alone", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime rt(setting.config());
    constexpr Index n = 1000, grain = 64;
    Array<long> x(rt, n), y(rt, n);
    basalt_tests::Gate gate;
    rt.submit({}, readwrite(x.rows(n - 1, n)), [&](View<long> last) {
        gate.pass();
        last[0] = 1;
    });
    gate.await_arrival();
    const auto rows_of_both = [&](IndexRange chunk) {
        return std::tuple(read(x.rows(chunk.begin, chunk.end)), write(y.rows(chunk.begin, chunk.end)));
    };
    const std::vector<TaskHandle> chunks = rt.submit_chunks({.name = "copy"}, {0, n}, grain, rows_of_both,
                                                            [](IndexRange chunk, View<const long> x, View<long> y) {
                                                                for (Index i = 0; i < y.size(); ++i)
                                                                    y[i] = x[i] + chunk.begin + i;
                                                            });
    REQUIRE(chunks.size() == (n + grain - 1) / grain);
    for (std::size_t c = 0; c + 1 < chunks.size(); ++c) chunks[c].wait();  // the gate is shut
    CHECK_FALSE(chunks.back().done());
    gate.open();
    rt.wait();
    const View<long> found = y.host_view();
    for (Index i = 0; i < n - 1; ++i) {
        if (found[i] != i) FAIL("element " << i);
    }
    CHECK(found[n - 1] == n);
}

TEST_CASE("chunks take blocks, lists and after(), and graphs, GPUs and recordings have them, too", "[sanitize]") {
    const Watchdog watchdog("chunks");
    Runtime rt(small_machine(2));
    Graph graph(rt);
    Array<long> x(rt, 90);
    const auto blocks = x.split(9);
    const auto add_index = [](Index i, View<long> block) { block[i % 10] += i; };
    const auto submit = [&](auto& to) {
        const auto first = to.submit_chunks(
            {}, {0, 90}, 10, [&](IndexRange chunk) { return readwrite(blocks[chunk.begin / 10]); }, add_index,
            cuda([](Stream, IndexRange, View<long>) {}));
        to.submit_chunks(
            {.place = Place::cpu()}, {0, 90}, 10,
            [&](IndexRange chunk) { return std::tuple(after(first), readwrite(blocks[8 - chunk.begin / 10])); },
            [](IndexRange chunk, View<long> block) { block[0] += chunk.begin; });
        to.submit_chunks(
            {}, {0, 2}, 1,
            [&](IndexRange chunk) {
                AccessList list;
                list.readwrite(blocks[chunk.begin]);
                return list;
            },
            [](IndexRange, const Addresses& addresses) { ++*static_cast<long*>(addresses[0]); });
        CHECK(to.submit_chunks(
                    {}, {3, 3}, 0, [](IndexRange) { return std::tuple(); }, [](Index) {})
                  .empty());
    };
    submit(rt);
    submit(graph);
    graph.wait();
    Recording recording(rt, [&] { submit(rt); });
    CHECK(recording.size() == 20);
    recording.run();
    rt.wait();
    const View<long> found = x.host_view();
    for (Index i = 0; i < 90; ++i) {
        const long of_block = i % 10 == 0 ? 10 * (8 - i / 10) + (i < 20 ? 1 : 0) : 0;
        CHECK(found[i] == 3 * (i + of_block));
    }
    const auto wrong = [&](IndexRange range, Index grain) {
        return error_of<UsageError>([&] {
            rt.submit_chunks(
                {.name = "bad"}, range, grain, [](IndexRange) { return std::tuple(); }, [](Index) {});
        });
    };
    CHECK(mentions(wrong({2, 1}, 1), "loop 'bad': range [2, 1)"));
    CHECK(mentions(wrong({0, 1}, -1), "grain -1"));
}
