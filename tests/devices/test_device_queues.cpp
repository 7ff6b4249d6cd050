// What is enqueued on emulated GPUs, how far ahead, and what does not wait behind it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

TEST_CASE("a task with a high priority does not wait for kernels that are queued on its device", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Array<int> x(*runtime, 1);
    Array<int> y(*runtime, 1);
    Gate gate;
    runtime->submit({.place = Place::gpu(0)}, readwrite(x), gpu_kernel([&](Stream, View<int>) { gate.pass(); }));
    gate.await_arrival();
    std::atomic<bool> ran{false};
    runtime->submit({.priority = 1, .place = Place::gpu(0)}, readwrite(y),
                    gpu_kernel([&](Stream, View<int>) { ran = true; }));
    CHECK(comes_true([&] { return ran.load(); }));
    gate.open();
    runtime->wait();
}

TEST_CASE("wait_for() comes back in time while a device is busy", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Gate gate;
    runtime->submit({.place = Place::gpu(0)}, gpu_kernel([&](Stream) { gate.pass(); }));
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(runtime->wait_for(20ms));
    CHECK(std::chrono::steady_clock::now() - begin >= 20ms);
    CHECK(std::chrono::steady_clock::now() - begin < 5s);
    gate.open();
    CHECK(runtime->wait_for(10s));
}

TEST_CASE("of new tasks a few are enqueued ahead, of known ones about half a second, and cancelling is prompt") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Gate gate;
    for (int i = 0; i < 100; ++i) {
        runtime->submit({.name = "new", .place = Place::gpu(0)}, gpu_kernel([&](Stream) { gate.pass(); }));
    }
    gate.await_arrival();
    std::this_thread::sleep_for(20ms);
    CHECK(statistics(*runtime, 0).kernels == 4);
    gate.open();
    runtime->wait();

    const std::uint64_t before = statistics(*runtime, 0).kernels;
    std::atomic<std::uint64_t> ran{0};
    for (int i = 0; i < 1000; ++i) {
        runtime->submit({.name = "ten milliseconds", .place = Place::gpu(0)}, gpu_kernel([&](Stream) {
                            std::this_thread::sleep_for(10ms);
                            ++ran;
                        }));
    }
    CHECK(comes_true([&] { return ran >= 10; }));
    const std::uint64_t ahead = statistics(*runtime, 0).kernels - before - ran;
    CHECK(ahead >= 10);
    CHECK(ahead <= 60);
    runtime->cancel();
    const auto begin = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(runtime->wait(), Cancelled);
    CHECK(std::chrono::steady_clock::now() - begin < 1s);
    CHECK(ran < 1000);
    check_usable(*runtime);
}

TEST_CASE("copies are not held up by a long queue of kernels", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Array<int> x(*runtime, 10);
    runtime->submit({.place = Place::gpu(0)}, readwrite(x), Add{1}, cuda(Add{0}));
    Gate gate;
    for (int i = 0; i < 100; ++i) {
        runtime->submit({.name = "new", .priority = 9, .place = Place::gpu(0)},
                        gpu_kernel([&](Stream) { gate.pass(); }));
    }
    gate.await_arrival();
    CHECK(x.host_view()[0] == 1);
    gate.open();
    runtime->wait();
}

TEST_CASE("copies that wait for kernels do not hold up others", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    constexpr int waiting = 10;
    std::vector<Array<int>> x;
    for (int i = 0; i < waiting; ++i) x.emplace_back(*runtime, 10);
    Array<int> y(*runtime, 10);
    Gate gate;
    std::atomic<int> read_x{0};
    std::atomic<bool> read_y{false};
    for (Array<int>& each : x) {
        runtime->submit({.name = "waits", .place = Place::gpu(0)}, readwrite(each),
                        gpu_kernel([&](Stream, View<int>) { gate.pass(); }));
        runtime->submit({.place = Place::cpu()}, read(each), [&](View<const int>) { ++read_x; });
    }
    gate.await_arrival();
    runtime->submit({.name = "does not", .priority = 1, .place = Place::gpu(0)}, readwrite(y),
                    gpu_kernel([](Stream, View<int>) {}));
    runtime->submit({.place = Place::cpu()}, read(y), [&](View<const int>) { read_y = true; });
    CHECK(comes_true([&] { return read_y.load(); }));
    CHECK(read_x == 0);
    gate.open();
    runtime->wait();
    CHECK(read_x == waiting);
}

TEST_CASE("a copy home runs while the kernel before it gives up the array", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Gate gate;
    std::atomic<int> read_x{0};
    auto x = std::make_shared<Array<int>>(*runtime, 10);
    runtime->submit({.place = Place::gpu(0)}, readwrite(*x),
                    gpu_kernel([x, &gate](Stream, View<int>) { gate.pass(); }));
    runtime->submit({.place = Place::cpu()}, read(*x), [&](View<const int>) { ++read_x; });
    gate.await_arrival();
    x.reset();  // the last one that has the array is the kernel, which the driver's thread destroys
    gate.open();
    runtime->wait();
    CHECK(read_x == 1);
}

TEST_CASE("an urgent copy finds few patient ones in front of it") {
    const Watchdog watchdog;
    Emulation slow;
    slow.longest_delay = std::chrono::milliseconds(2);
    const auto runtime = DeviceSetting{.emulation = slow, .trace = true}.runtime();
    constexpr int patient = 150;
    std::vector<Array<int>> data;
    for (int i = 0; i <= patient; ++i) data.emplace_back(*runtime, i < patient ? 10 : 20);
    for (int i = 0; i < patient; ++i) runtime->prefetch(data[static_cast<std::size_t>(i)], Place::gpu(0));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // enough to enqueue all of them
    runtime->prefetch(data.back(), Place::gpu(0), 1);
    runtime->wait();
    std::int64_t urgent_begin = 0;
    const Trace trace = runtime->take_trace();
    for (const TraceEvent& event : trace.events) {
        if (event.bytes == 20 * sizeof(int)) urgent_begin = event.begin_ns;
    }
    const auto behind = std::count_if(trace.events.begin(), trace.events.end(),
                                      [&](const TraceEvent& event) { return event.begin_ns > urgent_begin; });
    CHECK(behind > patient / 2);
}
