// Tasks that reduce into private copies: what comes out, when it is there, how many copies there are, and errors.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"
#include "tests/runtime/reduction_kernels.hpp"

using namespace basalt;
using basalt_tests::add_one;
using basalt_tests::add_views;
using basalt_tests::copies_made;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::make_zeros;
using basalt_tests::Random;
using basalt_tests::Setting;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

constexpr auto largest = [](long a, long b) { return a > b ? a : b; };

}  // namespace

TEST_CASE("tasks reduce into what was there, elementwise and by whole copies", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 100);
    constexpr int tasks = 300;
    SECTION("elements") {
        runtime.submit({}, write(x), [](View<long> x) {
            for (Index i = 0; i < x.size(); ++i) x[i] = i;
        });
        for (int t = 0; t < tasks; ++t) runtime.submit({}, reduce(x, 0, std::plus<>()), add_one);
    }
    SECTION("copies") {
        copies_made = 0;
        runtime.submit({}, write(x), [](View<long> x) {
            for (Index i = 0; i < x.size(); ++i) x[i] = i;
        });
        for (int t = 0; t < tasks; ++t) runtime.submit({}, reduce(x, make_zeros, add_views), add_one);
        x.host_view();
        CHECK(copies_made <= setting.workers);
    }
    SECTION("regions") {
        runtime.submit({}, write(x), [](View<long> x) {
            for (Index i = 0; i < x.size(); ++i) x[i] = i;
        });
        for (int t = 0; t < tasks; ++t) {
            for (Index row = 0; row < 100; row += 20) {
                runtime.submit({}, reduce(x.rows(row, row + 20), 0, std::plus<>()), add_one);
            }
        }
    }
    const View<long> result = x.host_view();
    long wrong = 0;
    for (Index i = 0; i < 100; ++i) wrong += result[i] != i + tasks ? 1 : 0;
    CHECK(wrong == 0);
}

TEST_CASE("a wait makes the result visible in the user's memory", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    Runtime runtime(setting.config());
    std::vector<long> memory(4, 5);
    auto x = Array<long>::wrap(runtime, memory.data(), 4);
    Graph graph(runtime);
    for (int round = 1; round <= 20; ++round) {
        for (int i = 0; i < 10; ++i) runtime.submit({}, reduce(x, 0, std::plus<>()), add_one);
        if (round % 2 == 0) {
            while (!runtime.wait_for(std::chrono::milliseconds(1))) {
            }
        } else {
            runtime.wait();
        }
        CHECK(memory[3] == 15 * round);
        for (int i = 0; i < 5; ++i) graph.submit({}, reduce(x, 0, std::plus<>()), add_one);
        graph.wait();
        CHECK(memory[0] == 15 * round + 5);
    }
}

TEST_CASE("a graph's wait() waits for the result of its reduction, whichever graph caused it to be computed",
          "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    constexpr auto add_slowly = [](long a, long b) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return a + b;
    };
    Runtime runtime(setting.config());
    long memory = 0;
    auto x = Array<long>::wrap(runtime, &memory, 1);
    for (int round = 0; round < 5; ++round) {
        Graph reducing(runtime);
        Graph reading(runtime);
        reducing.submit({}, reduce(x, 0, add_slowly), add_one);
        if (round % 2 == 0) runtime.submit({}, reduce(x, 0, add_slowly), add_one);
        reading.submit({}, read(x), [](View<const long>) {});
        reducing.wait();
        if (round % 2 == 0) runtime.wait();
        CHECK(memory == (3 * round + (round % 2 == 0 ? 4 : 3)) / 2);
        reading.wait();
    }
}

TEST_CASE("reductions and other accesses to one array follow program order", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 8}))));
    const std::uint64_t seed = GENERATE(range(1, 6));
    CAPTURE(seed);
    Runtime runtime(setting.config());
    Random random(seed);
    constexpr Index rows = 12;
    Array<long> x(runtime, rows);
    std::array<long, rows> expected{};
    std::atomic<int> wrong{0};
    for (int t = 0; t < 400; ++t) {
        const Index begin = random.one_in(2) ? 0 : random.between<Index>(0, rows - 1);
        const Index end = begin == 0 ? rows : random.between<Index>(begin + 1, rows);
        const auto part = x.rows(begin, end);
        const long amount = random.between(1, 9);
        const auto update = [&](const auto& change) {
            for (Index i = begin; i < end; ++i) {
                auto& element = expected[static_cast<std::size_t>(i)];
                element = change(element);
            }
        };
        const auto add = [amount](View<long> x) {
            for (Index i = 0; i < x.size(); ++i) x[i] += amount;
        };
        for (int again = 0; again < 3; ++again) {
            switch (t % 6) {
                case 0:
                    runtime.submit({}, reduce(part, 0, std::plus<>()), add);
                    update([&](long e) { return e + amount; });
                    break;
                case 1:
                    runtime.submit({}, reduce(part, 0L, largest), [amount](View<long> x) {
                        for (Index i = 0; i < x.size(); ++i) x[i] = largest(x[i], 100 * amount);
                    });
                    update([&](long e) { return largest(e, 100 * amount); });
                    break;
                case 2:
                    runtime.submit({}, reduce(part, 0, std::plus<>(), Order::deterministic), add);
                    update([&](long e) { return e + amount; });
                    break;
                case 3:
                    runtime.submit({}, commute(part), add);
                    update([&](long e) { return e + amount; });
                    break;
                case 4: {
                    const std::vector<long> now(expected.begin() + begin, expected.begin() + end);
                    runtime.submit({}, read(part), [&wrong, now](View<const long> x) {
                        for (Index i = 0; i < x.size(); ++i) wrong += x[i] != now[static_cast<std::size_t>(i)] ? 1 : 0;
                    });
                    break;
                }
                default:
                    if (random.one_in(2)) {
                        runtime.submit({}, write(part), [amount](View<long> x) {
                            for (Index i = 0; i < x.size(); ++i) x[i] = amount;
                        });
                        update([&](long) { return amount; });
                    } else {
                        runtime.submit({}, readwrite(part), [](View<long> x) {
                            for (Index i = 0; i < x.size(); ++i) x[i] = 3 * x[i] % 1000;
                        });
                        update([](long e) { return 3 * e % 1000; });
                    }
            }
        }
    }
    const View<long> result = x.host_view();
    for (Index i = 0; i < rows; ++i) wrong += result[i] != expected[static_cast<std::size_t>(i)] ? 1 : 0;
    CHECK(wrong == 0);
}

TEST_CASE("graphs of several threads reduce together", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 10);
    Array<long> y(runtime, 10);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            Graph graph(runtime);
            for (int i = 0; i < 200; ++i) {
                graph.submit({}, reduce(x, 0, std::plus<>()), reduce(y, 0, std::plus<>(), Order::deterministic),
                             [](View<long> x, View<long> y) {
                                 add_one(x);
                                 add_one(y);
                             });
                if (i % 50 == 0) graph.submit({}, read(x), [](View<const long>) {});
            }
            graph.wait();
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(x.host_view()[9] == 600);
    CHECK(y.host_view()[9] == 600);
}

TEST_CASE("children reduce into what their parent holds, and the result is there when it completes", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 10);
    long seen = 0;
    for (int round = 0; round < 20; ++round) {
        runtime.submit({}, readwrite(x), [&](View<long> view) {
            for (int i = 0; i < 20; ++i) runtime.submit({}, reduce(x, 0, std::plus<>()), add_one);
            runtime.wait();
            seen = view[9];
            Array<long> own(runtime, 2);
            for (int i = 0; i < 20; ++i) {
                runtime.submit({}, reduce(x.rows(0, 5), 0, std::plus<>()), reduce(own, 0, std::plus<>()),
                               [](View<long> x, View<long> own) {
                                   add_one(x);
                                   add_one(own);
                               });
            }
        });
        runtime.submit({}, commute(x.rows(0, 5)),
                       [&](View<long>) { runtime.submit({}, reduce(x.rows(2, 4), 0, std::plus<>()), add_one); });
    }
    const View<long> result = x.host_view();
    CHECK(seen == 400);
    CHECK(result[0] == 800);
    CHECK(result[3] == 820);
    CHECK(result[9] == 400);
}

TEST_CASE("a task that overwrites the array does not wait for a reduction") {
    const Watchdog watchdog("renaming");
    Runtime runtime(Setting{"priority", 2}.config());
    Array<long> x(runtime, 1);
    Gate gate;
    runtime.submit({}, reduce(x, 0, std::plus<>()), [&](View<long> x) {
        gate.pass();
        ++x[0];
    });
    gate.await_arrival();
    std::promise<void> overwritten;
    runtime.submit({}, write(x), [&](View<long> x) {
        x[0] = 7;
        overwritten.set_value();
    });
    overwritten.get_future().wait();
    gate.open();
    CHECK(x.host_view()[0] == 7);
}

TEST_CASE("a program that submits and blocks elsewhere gets its result") {
    const Watchdog watchdog("stand-in");
    Runtime runtime(Setting{"priority", 1}.config());
    Array<long> x(runtime, 1);
    for (int round = 0; round < 20; ++round) {
        std::promise<void> reduced;
        std::promise<long> result;
        runtime.submit({}, reduce(x, 0, std::plus<>()), [&](View<long> x) {
            ++x[0];
            reduced.set_value();
        });
        reduced.get_future().wait();
        runtime.submit({}, read(x), [&](View<const long> x) { result.set_value(x[0]); });
        CHECK(result.get_future().get() == round + 1);
    }
    runtime.wait();
}

TEST_CASE("tasks reduce into data that GPUs use", "[sanitize]") {
    const Watchdog watchdog("reductions and GPUs");
    Runtime runtime(small_machine(2));
    Array<long> x(runtime, 100);
    const auto add_there = [](View<long> x) { add_one(x); };
    for (int round = 0; round < 10; ++round) {
        runtime.submit({.place = Place::gpu(round % 2)}, readwrite(x), add_there, cuda([](Stream, View<long>) {}));
        for (int i = 0; i < 10; ++i) {
            runtime.submit({}, reduce(x, 0, std::plus<>()), add_one, cuda([](Stream, View<long>) {}));
        }
        if (round % 3 == 0) runtime.wait();
    }
    CHECK(x.host_view()[99] == 110);
}

TEST_CASE("a kernel without views gets no copy, and an empty region depends on nothing") {
    const Watchdog watchdog("no copies");
    Runtime runtime(Setting{"priority", 2}.config());
    Array<long> x(runtime, 4);
    copies_made = 0;
    int runs = 0;
    for (int i = 0; i < 10; ++i) runtime.submit({}, reduce(x, make_zeros, add_views), [&] { ++runs; });
    runtime.submit({}, reduce(x.rows(2, 2), make_zeros, add_views), [&](View<long> x) { runs += x.empty() ? 1 : 100; });
    runtime.wait();
    CHECK(runs == 11);
    CHECK(copies_made == 0);
}
