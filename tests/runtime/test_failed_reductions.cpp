// Reductions that fail, are cancelled, given up or refused.
#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/reduction_kernels.hpp"

using namespace basalt;
using basalt_tests::add_one;
using basalt_tests::add_views;
using basalt_tests::comes_true;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::mentions;
using basalt_tests::Setting;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

TEST_CASE("if a task that reduces fails, its result has no contents until it is overwritten", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    const Order order = GENERATE(Order::any, Order::deterministic);
    Runtime runtime(setting.config());
    for (int round = 0; round < 100; ++round) {
        Array<long> x(runtime, 10);
        Graph failing(runtime);
        Graph other(runtime);
        Graph reader(runtime);
        for (int i = 0; i < 10; ++i) {
            failing.submit({.name = "failing", .tile = {i}}, reduce(x, 0, std::plus<>(), order), [i](View<long>) {
                if (i >= 5) throw std::runtime_error("boom");
            });
            other.submit({}, reduce(x, 0, std::plus<>(), order), add_one);
        }
        reader.submit({}, read(x), [](View<const long>) {});
        if (round % 2 == 0) CHECK_THROWS_AS(failing.wait(), TaskError);
        // any task that failed, or was cancelled therefore, may be named
        CHECK(mentions(error_of<DataError>([&] { reader.wait(); }), "task failing("));
        CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), "task failing("));
        if (round % 2 != 0) CHECK_THROWS_AS(failing.wait(), TaskError);
        try {
            other.wait();
        } catch (const DataError&) {  // those that began after the failure did not run
        }
        runtime.submit({}, write(x), [](View<long> x) {
            for (Index i = 0; i < x.size(); ++i) x[i] = 1;
        });
        runtime.submit({}, reduce(x, 0, std::plus<>(), order), add_one);
        CHECK(x.host_view()[9] == 2);
    }
}

TEST_CASE("the result of a cancelled reduction has no contents", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    for (int round = 0; round < 50; ++round) {
        Array<long> x(runtime, 1);
        Graph graph(runtime);
        graph.submit({}, reduce(x, 0, std::plus<>()), [&](View<long> x) {
            ++x[0];
            runtime.cancel();
        });
        for (int i = 0; i < 3; ++i) graph.submit({}, reduce(x, 0, std::plus<>()), add_one);
        CHECK_THROWS_AS(graph.wait(), Cancelled);
        graph.submit({}, reduce(x, 0, std::plus<>()), add_one);
        try {
            graph.wait();
            CHECK(x.host_view()[0] == 5);  // all had run by then
        } catch (const DataError&) {
        }
    }
}

TEST_CASE("a graph given up inside one of its tasks leaves no reduction behind", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2, 4}))));
    const bool fails = GENERATE(false, true);
    Runtime runtime(setting.config());
    for (int round = 0; round < 200; ++round) {
        Array<long> x(runtime, 2);
        auto given_up = std::make_unique<Graph>(runtime);
        Graph& graph = *given_up;
        std::atomic<bool> gone{false};
        graph.submit({}, reduce(x, 0, std::plus<>()), add_one);
        graph.submit({}, reduce(x, 0, std::plus<>()), [&, fails](View<long> x) {
            if (fails) {
                runtime.cancel();
                add_one(x);
                given_up.reset();
                gone = true;
                throw std::runtime_error("boom");
            }
            add_one(x);
            given_up.reset();
            gone = true;
        });
        // the graph may be gone: only other ones are used
        switch (round % 4) {
            case 0: runtime.submit({}, reduce(x, 0, std::plus<>()), add_one); break;
            case 1: runtime.submit({}, readwrite(x), add_one); break;
            case 2: x.release(); break;
            default: break;
        }
        try {
            if (round % 4 < 2) {
                runtime.wait();
                if (!fails) CHECK(x.host_view()[1] == 3);
            }
        } catch (const DataError&) {
            CHECK(fails);
        }
        CHECK(comes_true([&] { return gone.load(); }));
    }
}

TEST_CASE("a runtime may end while reductions are open", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    std::vector<long> memory(3);
    for (int round = 0; round < 20; ++round) {
        Array<long> x;
        Array<long> owned;
        std::unique_ptr<Graph> graph;
        {
            Runtime runtime(setting.config());
            x = Array<long>::wrap(runtime, memory.data(), 3);
            owned = Array<long>(runtime, 3);
            graph = std::make_unique<Graph>(runtime);
            for (int i = 0; i < 5; ++i) {
                graph->submit({}, reduce(x, 0, std::plus<>()), reduce(owned, 0, std::plus<>()),
                              [](View<long> x, View<long> owned) {
                                  add_one(x);
                                  add_one(owned);
                              });
            }
        }
        CHECK(memory[2] == 5 * (round + 1));
    }
}

TEST_CASE("identity and combine that throw leave no contents") {
    const Watchdog watchdog("throwing functions");
    Runtime runtime(Setting{"priority", 2}.config());
    Array<long> x(runtime, 1);
    runtime.submit({}, reduce(x, 0, [](long, long) -> long { throw std::runtime_error("no sum"); }), add_one);
    CHECK(mentions(error_of<DataError>([&] { x.host_view(); }), "combining the copies of a reduction failed: no sum"));
    runtime.wait();
    runtime.submit({}, write(x), [](View<long> x) { x[0] = 1; });
    CHECK(x.host_view()[0] == 1);
    runtime.submit({},
                   reduce(
                       x, [](View<long>) { throw std::runtime_error("no zero"); }, add_views),
                   add_one);
    CHECK_THROWS_AS(runtime.wait(), TaskError);
    CHECK_THROWS_AS(x.host_view(), DataError);
}

TEST_CASE("what reduce() does not allow is refused") {
    const Watchdog watchdog("misuse");
    Runtime runtime(small_machine(1));
    Array<long> x(runtime, 4, "x");
    const auto sum = reduce(x, 0, std::plus<>());
    const auto refused = [&](const auto& submit) { return error_of<UsageError>(submit); };
    CHECK(mentions(refused([&] {
                       runtime.submit({.name = "both"}, sum, read(x.rows(0, 1)), [](View<long>, View<const long>) {});
                   }),
                   "task 'both' reduces into a part of 'x'"));
    CHECK(mentions(refused([&] {
                       runtime.submit({.name = "gang", .threads = {1, 2}},
                                      reduce(x, 0, std::plus<>(), Order::deterministic), add_one);
                   }),
                   "gangs reduce with Order::any"));
    CHECK(mentions(refused([&] {
                       runtime.submit({.name = "there", .place = Place::gpu(0)}, sum, add_one,
                                      cuda([](Stream, View<long>) {}));
                   }),
                   "such tasks run on CPU cores"));
    CHECK(mentions(refused([&] { runtime.submit({.name = "there"}, sum, cuda([](Stream, View<long>) {})); }),
                   "such tasks need a CPU kernel"));
    runtime.submit({.name = "parent"}, sum, [&](View<long>) { runtime.submit({}, read(x), [](View<const long>) {}); });
    std::string text;
    try {
        runtime.wait();
    } catch (const TaskError& error) {
        text = error.what();
    }
    CHECK(mentions(text, "does not hold in that mode"));
}
