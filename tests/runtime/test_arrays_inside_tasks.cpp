// Data that live or die inside tasks.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/runtime_settings.hpp"

using namespace basalt;
using basalt_tests::every_setting;
using basalt_tests::Gate;
using basalt_tests::WatchedSetting;

TEST_CASE("a task may use arrays of its own, and wait for one of them alone") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> sum{0};
    for (int i = 0; i < 20; ++i) {
        runtime.submit({}, [&] {
            Array<int> local(runtime, 2);
            for (int k = 0; k < 10; ++k) {
                runtime.submit({}, write(local), [k](View<int> x) { x[0] = k; });
                runtime.submit({}, read(local), [&](View<const int> x) { sum += x[0]; });
            }
            sum += 1000 * local.host_view()[0];
        });
    }
    runtime.wait();
    CHECK(sum == 20 * (45 + 9000));
}

TEST_CASE("destroying an array waits for the tasks that use it") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> ran{0};
    auto slow = [&](View<int> x) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ran += ++x[0] > 0;
    };
    {
        Array<int> x(runtime, 1);
        for (int i = 0; i < 10; ++i) runtime.submit({}, readwrite(x), slow);
    }
    CHECK(ran == 10);
    std::vector<int> memory(1, 0);
    Array<int> borrowed = Array<int>::wrap(runtime, memory.data(), 1);
    for (int i = 0; i < 10; ++i) runtime.submit({}, readwrite(borrowed), slow);
    borrowed.release();
    CHECK(memory[0] == 10);
    CHECK(borrowed.size() == 0);
}

TEST_CASE("an array that a kernel owns dies with the kernel") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) {
        auto scratch = std::make_shared<Array<int>>(runtime, 5);
        const auto first = write(*scratch);
        runtime.submit({}, first, [&, scratch](View<int> x) {
            x[0] = 1;
            ++ran;
        });
        const auto second = read(*scratch);
        runtime.submit({}, second, [&, scratch = std::move(scratch)](View<const int> x) { ran += x[0]; });
    }
    runtime.wait();
    CHECK(ran == 40);
}

TEST_CASE("the last reference to an array may go inside a task, one that uses it or another") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    Runtime runtime(setting.config());
    std::atomic<int> sum{0};
    for (int i = 0; i < 20; ++i) {
        auto x = std::make_unique<Array<int>>(runtime, 1);
        for (int k = 0; k < 3; ++k) {  // older versions, with readers that take their time
            runtime.submit({}, write(*x), [k](View<int> x) { x[0] = k; });
            runtime.submit({}, read(*x), [&](View<const int> x) {
                std::this_thread::yield();
                sum += x[0];
            });
        }
        const auto access = readwrite(*x);
        if (i % 2 == 0) {
            runtime.submit({}, access, [x = std::move(x)](View<int>) mutable { x.reset(); });
        } else {
            runtime.submit({}, [x = std::move(x)]() mutable { x.reset(); });
        }
    }
    runtime.wait();
    CHECK(sum == 60);
}

TEST_CASE("dropping an array inside a task never waits for tasks that wait for that task") {
    const WatchedSetting setting(GENERATE(from_range(every_setting())));
    const bool in_closure = GENERATE(false, true);
    CAPTURE(in_closure);
    Gate gate;
    Runtime runtime(setting.config());
    Array<int> order(runtime, 1);
    auto x = std::make_unique<Array<int>>(runtime, 1);
    const auto access = readwrite(*x);
    std::atomic<int> seen{0};
    runtime.submit({}, readwrite(order), [&, x = std::move(x), in_closure](View<int>) mutable {
        gate.pass();
        if (in_closure) {
            // on top of this very task, which waits, another one is run and destroyed
            runtime.submit({}, [x = std::move(x)] {});
            runtime.wait();
        } else {
            x.reset();
        }
    });
    gate.await_arrival();
    runtime.submit({}, access, readwrite(order), [&](View<int> x, View<int>) { seen = ++x[0]; });
    gate.open();
    runtime.wait();
    CHECK(seen == 1);
}

TEST_CASE("host_view waits for its own array and not for others' tasks") {
    const WatchedSetting setting(GENERATE(from_range(every_setting({2, 3, 4, 8}))));
    Gate gate;
    Runtime runtime(setting.config());
    Array<int> x(runtime, 1);
    runtime.submit({.name = "long"}, [&] { gate.pass(); });
    gate.await_arrival();
    for (int i = 0; i < 5; ++i) {
        runtime.submit({}, readwrite(x), [](View<int> x) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            ++x[0];
        });
        CHECK(x.host_view()[0] == i + 1);
    }
    gate.open();
    runtime.wait();
}
