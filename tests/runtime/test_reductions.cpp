// Tasks that reduce into private copies: what comes out, when it is there, how many copies there are, and errors.
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using basalt_tests::comes_true;
using basalt_tests::error_of;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::mix;
using basalt_tests::Random;
using basalt_tests::Setting;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

namespace {

constexpr auto largest = [](long a, long b) { return a > b ? a : b; };

void add_one(View<long> x) {
    for (Index i = 0; i < x.size(); ++i) ++x[i];
}

/// Copies that exist, and the most that did. Functions of reductions have no state.
std::atomic<int> copies_made{0};

constexpr auto make_zeros = [](View<long> copy) {
    ++copies_made;
    for (Index i = 0; i < copy.rows(); ++i) copy[i] = 0;
};
constexpr auto add_views = [](View<long> into, View<const long> from) {
    for (Index i = 0; i < into.rows(); ++i) into[i] += from[i];
};

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

TEST_CASE("deterministic reductions have the same bits with any number of workers") {
    const Watchdog watchdog("deterministic reductions");
    std::vector<std::uint64_t> first;
    for (const Setting& setting : every_setting()) {
        for (int round = 0; round < 3; ++round) {
            Runtime runtime(setting.config());
            Array<double> x(runtime, 3);
            for (std::uint64_t t = 0; t < 500; ++t) {
                const double value = std::ldexp(static_cast<double>(mix(t) >> 11), static_cast<int>(mix(t) % 90) - 80);
                runtime.submit({}, reduce(x, 0.0, std::plus<>(), Order::deterministic), [value](View<double> x) {
                    for (Index i = 0; i < x.size(); ++i) x[i] += value / static_cast<double>(i + 1);
                });
            }
            const View<double> result = x.host_view();
            std::vector<std::uint64_t> bits;
            for (Index i = 0; i < 3; ++i) bits.push_back(std::bit_cast<std::uint64_t>(result[i]));
            if (first.empty()) first = bits;
            CHECK(bits == first);
        }
    }
}

TEST_CASE("there are at most 32 copies of a deterministic reduction") {
    const Watchdog watchdog("copies");
    Runtime runtime(Setting{"priority", 4}.config());
    Array<long> x(runtime, 8);
    copies_made = 0;
    for (int t = 0; t < 1000; ++t) runtime.submit({}, reduce(x, make_zeros, add_views, Order::deterministic), add_one);
    CHECK(x.host_view()[7] == 1000);
    CHECK(copies_made == 32);
}

TEST_CASE("large copies are combined by several tasks", "[sanitize]") {
    const Order order = GENERATE(Order::any, Order::deterministic);
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 4}))));
    Runtime runtime(setting.config());
    constexpr Index n = 20'000;
    Array<long> x(runtime, n);
    for (int round = 0; round < 3; ++round) {
        for (int t = 0; t < 50; ++t) runtime.submit({}, reduce(x, 0, std::plus<>(), order), add_one);
        runtime.submit({}, readwrite(x.rows(0, 1)), [](View<long> x) { ++x[0]; });
    }
    const View<long> result = x.host_view();
    CHECK(result[0] == 153);
    CHECK(result[n - 1] == 150);
}

TEST_CASE("members of a gang reduce into copies of their own", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 4}))));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    std::atomic<long> members{0};
    for (int t = 0; t < 100; ++t) {
        runtime.submit({.threads = {1, 4}}, reduce(x, 0, std::plus<>()), [&](const Team&, View<long> x) {
            ++x[0];
            ++members;
        });
    }
    CHECK(x.host_view()[0] == members);
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

TEST_CASE("threads that stand in for tasks in wait_for() reduce into copies of their own", "[sanitize]") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({1, 2}))));
    Runtime runtime(setting.config());
    Array<long> x(runtime, 1);
    constexpr int tasks = 300;
    runtime.submit({}, write(x), [](View<long> x) { x[0] = 1; });
    runtime.submit({.name = "parent"}, readwrite(x), [&](View<long>) {
        for (int i = 0; i < 3; ++i) {
            runtime.submit({.name = "waits", .priority = 1}, [&] {
                runtime.submit({}, [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
                while (!runtime.wait_for(std::chrono::milliseconds(1))) {
                }
            });
        }
        for (int i = 0; i < tasks; ++i) {
            runtime.submit({.name = "adds"}, reduce(x, 0, std::plus<>()), [](View<long> x) {
                const long before = x[0];  // two threads that share a copy would lose additions
                std::this_thread::sleep_for(std::chrono::microseconds(20));
                x[0] = before + 1;
            });
        }
        while (!runtime.wait_for(std::chrono::milliseconds(1))) {
        }
    });
    runtime.wait();
    CHECK(x.host_view()[0] == 1 + tasks);
}
