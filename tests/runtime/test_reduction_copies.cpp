// The copies that tasks reduce into: how many there are, whose they are, and in which order they are combined.
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"
#include "tests/runtime/reduction_kernels.hpp"

using namespace basalt;
using basalt_tests::add_one;
using basalt_tests::add_views;
using basalt_tests::copies_made;
using basalt_tests::every_setting;
using basalt_tests::make_zeros;
using basalt_tests::mix;
using basalt_tests::Setting;
using basalt_tests::Watchdog;
using basalt_tests::WatchedSetting;

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
