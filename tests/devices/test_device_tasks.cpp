// Tasks on emulated GPUs: where they run, how they follow each other without the host, and what moves and keeps their
// data.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

TEST_CASE("a GPU task gets views of the device's memory, and what it wrote comes home by itself", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    std::vector<int> mine(100, 1);
    auto x = Array<int>::wrap(*runtime, mine.data(), 100);
    Array<int> y(*runtime, 100);
    int* seen = nullptr;
    int device = -1;
    runtime->submit({.place = Place::gpu(1)}, read(x), write(y),
                    gpu_kernel([&](Stream stream, View<const int> x, View<int> y) {
                        device = stream.device();
                        seen = y.data();
                        for (Index i = 0; i < x.size(); ++i) y[i] = 2 * x[i] + static_cast<int>(i);
                    }));
    runtime->submit({.place = Place::cpu()}, readwrite(y.rows(50, 100)), Add{1000});
    const View<int> result = y.host_view();
    CHECK(device == 1);
    CHECK(seen != result.data());
    CHECK(result[49] == 51);
    CHECK(result[50] == 1052);
    runtime->wait();
}

TEST_CASE("GPU tasks with a list of accesses get their data's addresses on the device") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*runtime, 10);
    Array<int> y(*runtime, 10);
    for (int gpu : {0, 1, 0}) {
        AccessList list;
        list.read(x.rows(3, 3)).readwrite(x).readwrite(y.rows(5, 10));
        runtime->submit({.place = Place::gpu(gpu)}, list, gpu_kernel([](Stream, const Addresses& at) {
                            if (at[0] != nullptr) return;  // an empty region has none
                            ++static_cast<int*>(at[1])[9];
                            ++static_cast<int*>(at[2])[0];  // of the region
                        }));
    }
    CHECK(x.host_view()[9] == 3);
    CHECK(y.host_view()[5] == 3);
    runtime->wait();
}

TEST_CASE("tasks on devices follow each other without the host; what runs on cores waits for their end", "[sanitize]") {
    const int workers = GENERATE(1, 2);
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 3, .workers = workers}.runtime();
    Array<int> x(*runtime, 1000);
    Gate gate;
    std::atomic<int> on_devices{0};
    std::atomic<bool> on_core{false};
    runtime->submit({.place = Place::gpu(0)}, readwrite(x), gpu_kernel([&](Stream, View<int> x) {
                        gate.pass();
                        Add{1}(x);
                    }));
    for (int gpu : {1, 1, 2}) {
        runtime->submit({.place = Place::gpu(gpu)}, readwrite(x), gpu_kernel([&](Stream, View<int> x) {
                            ++on_devices;
                            Add{1}(x);
                        }));
    }
    runtime->submit({.place = Place::cpu()}, readwrite(x), [&](View<int> x) {
        on_core = true;
        Add{1}(x);
    });
    gate.await_arrival();
    // all of the chain is in the streams although its first kernel runs: kernels, and the copies in between
    CHECK(comes_true([&] { return statistics(*runtime, 1).kernels == 2 && statistics(*runtime, 2).kernels == 1; }));
    CHECK(statistics(*runtime, 0).copies_to_peers == 1);
    CHECK(statistics(*runtime, 1).copies_to_peers == 1);
    std::this_thread::sleep_for(20ms);
    CHECK(statistics(*runtime, 2).copies_to_host == 0);  // it would hold up other copies
    CHECK(on_devices == 0);
    CHECK_FALSE(on_core);
    gate.open();
    CHECK(x.host_view()[999] == 5);
    CHECK(on_core);
    CHECK(statistics(*runtime, 2).copies_to_host == 1);
    runtime->wait();
}

TEST_CASE("waits that are implied are not enqueued") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    std::vector<Array<int>> data;
    for (int i = 0; i < 50; ++i) data.emplace_back(*runtime, 10);
    Gate gate;
    runtime->submit({.place = Place::gpu(0)}, gpu_kernel([&](Stream) { gate.pass(); }));
    gate.await_arrival();
    for (const Array<int>& x : data) {
        runtime->submit({.name = "short", .place = Place::gpu(0)}, write(x),
                        gpu_kernel([](Stream, View<int> x) { x[0] = 1; }));
    }
    // of tasks that are new only a few are enqueued ahead; now these have a time
    gate.open();
    runtime->wait();
    CHECK(statistics(*runtime, 0).waits == 0);

    Gate second;
    runtime->submit({.place = Place::gpu(0)}, gpu_kernel([&](Stream) { second.pass(); }));
    second.await_arrival();
    AccessList all;
    for (const Array<int>& x : data) {
        runtime->submit({.name = "short", .place = Place::gpu(0)}, readwrite(x),
                        gpu_kernel([](Stream, View<int> x) { ++x[0]; }));
        all.read(x);
    }
    std::atomic<int> ran{0};
    // the other stream waits for the last of them and so for all, and that once
    for (int i = 0; i < 3; ++i) {
        runtime->submit({.name = "all", .priority = 1, .place = Place::gpu(0)}, all,
                        gpu_kernel([&](Stream) { ++ran; }));
    }
    CHECK(comes_true([&] { return statistics(*runtime, 0).kernels >= 52 + 50 + 3; }));
    CHECK(ran == 0);
    CHECK(statistics(*runtime, 0).waits == 1);
    CHECK(statistics(*runtime, 0).waits_dropped >= 2);
    second.open();
    runtime->wait();
    CHECK(ran == 3);
}

TEST_CASE("what was prefetched or broadcast needs no copy any more", "[sanitize]") {
    const bool peers = GENERATE(true, false);
    const bool from_device = GENERATE(true, false);
    CAPTURE(peers, from_device);
    const Watchdog watchdog;
    const auto runtime =
        DeviceSetting{.gpus = 4, .emulation = {.peer_access = peers, .longest_delay = 100us}}.runtime();
    Array<int> x(*runtime, 100'000);
    Array<int> y(*runtime, 100);
    if (from_device) {
        runtime->submit({.place = Place::gpu(2)}, readwrite(x), Add{1}, cuda(Add{0}));
    } else {
        runtime->submit({}, readwrite(x), Add{1});
    }
    runtime->submit({}, readwrite(y), Add{1});
    runtime->broadcast(x.region());
    runtime->prefetch(y, Place::gpu(3));
    runtime->wait();
    const std::uint64_t before = copies(*runtime);
    std::atomic<int> right{0};
    for (int gpu = 0; gpu < 4; ++gpu) {
        runtime->submit({.place = Place::gpu(gpu)}, read(x), gpu_kernel([&](Stream, View<const int> x) {
                            bool all = true;
                            for (Index i = 0; i < x.size(); ++i) all = all && x[i] == 1;
                            right += all;
                        }));
    }
    runtime->submit({.place = Place::gpu(3)}, read(y),
                    gpu_kernel([&](Stream, View<const int> y) { right += y[99] == 1; }));
    runtime->wait();
    CHECK(right == 5);
    CHECK(copies(*runtime) == before);
    // home again, ahead of the task that needs it
    runtime->submit({.place = Place::gpu(3)}, readwrite(y), Add{1}, cuda(Add{0}));
    runtime->prefetch(y, Place::cpu());
    runtime->wait();
    CHECK(copies(*runtime) == before + 1);
    runtime->submit({.place = Place::cpu()}, read(y), [&](View<const int> y) { right += y[99] == 2; });
    runtime->wait();
    CHECK(right == 6);
    CHECK(copies(*runtime) == before + 1);
}

TEST_CASE("where a task runs: with its data, else where least was given, and on cores without a GPU kernel") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 3}.runtime();
    std::vector<Array<int>> data;
    for (int i = 0; i < 3; ++i) data.emplace_back(*runtime, 1000);
    std::vector<int> ran_on;
    const auto where = gpu_kernel([&](Stream stream, View<int>) { ran_on.push_back(stream.device()); });
    for (const Array<int>& x : data) {
        runtime->submit({}, readwrite(x), where);
        runtime->wait();
    }
    CHECK(ran_on == std::vector{0, 1, 2});
    ran_on.clear();
    for (int i : {1, 1, 0, 2, 1}) {
        runtime->submit({}, readwrite(data[static_cast<std::size_t>(i)]), where);
        runtime->wait();
    }
    CHECK(ran_on == std::vector{1, 1, 0, 2, 1});
    std::atomic<int> on_cores{0};
    runtime->submit({}, readwrite(data[0]), [&](View<int>) { ++on_cores; });
    runtime->submit(
        {.place = Place::cpu()}, readwrite(data[0]), [&](View<int>) { ++on_cores; }, cuda([](Stream, View<int>) {}));
    runtime->submit(
        {.threads = {1, 2}}, readwrite(data[0]), [&](const Team& team, View<int>) { on_cores += team.rank() == 0; },
        cuda([](Stream, View<int>) {}));
    runtime->wait();
    CHECK(on_cores == 3);
    CHECK(ran_on.size() == 5);
}

TEST_CASE("a writer of a whole array on a device gets fresh memory instead of waiting for readers") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*runtime, 10);
    runtime->submit({.place = Place::gpu(0)}, readwrite(x), Add{1}, cuda(Add{0}));
    Gate gate;
    std::atomic<int> seen{0};
    std::atomic<bool> written{false};
    runtime->submit({.place = Place::gpu(1)}, read(x), gpu_kernel([&](Stream, View<const int> x) {
                        gate.pass();
                        seen = x[5];
                    }));
    gate.await_arrival();
    runtime->submit({.place = Place::gpu(0)}, write(x), gpu_kernel([&](Stream, View<int> x) {
                        for (Index i = 0; i < x.size(); ++i) x[i] = 7;
                        written = true;
                    }));
    CHECK(comes_true([&] { return written.load(); }));
    gate.open();
    CHECK(x.host_view()[5] == 7);
    CHECK(seen == 1);
    CHECK(runtime->statistics().renamed == 1);
    runtime->wait();
    x.release();
    for (int gpu : {0, 1}) CHECK(detail::gpu_memory(*runtime).in_use(gpu) == 0);
}

TEST_CASE("data that are given up while devices use them live until then, and leave no memory behind", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2, .emulation = {.longest_delay = 200us}}.runtime();
    std::vector<int> mine(1000);
    for (int round = 0; round < 20; ++round) {
        Array<int> x(*runtime, 1000);
        auto y = Array<int>::wrap(*runtime, mine.data(), 1000);
        for (int gpu : {0, 1}) {
            runtime->submit({.place = Place::gpu(gpu)}, readwrite(x), Add{1}, cuda(Add{0}));
            runtime->submit({.place = Place::gpu(gpu)}, readwrite(y), Add{1}, cuda(Add{0}));
        }
    }
    CHECK(mine[0] == 40);
    CHECK(mine[999] == 40);
    for (int gpu : {0, 1}) CHECK(detail::gpu_memory(*runtime).in_use(gpu) == 0);
    runtime->wait();
}

TEST_CASE("a kernel may be the last to hold what tasks on its device use", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 1, .workers = 1}.runtime();
    for (int round = 0; round < 20; ++round) {
        auto x = std::make_shared<Array<int>>(*runtime, 1000);
        Gate gate;
        runtime->submit({.place = Place::gpu(0)}, readwrite(*x),
                        gpu_kernel([x, &gate](Stream, View<int>) { gate.pass(); }));
        // these do not hold the array, and are not enqueued before the first has left
        for (int i = 0; i < 300; ++i) runtime->submit({.place = Place::gpu(0)}, readwrite(*x), Add{1}, cuda(Add{0}));
        x.reset();
        gate.open();
        runtime->wait();
        CHECK(detail::gpu_memory(*runtime).in_use(0) == 0);
    }
}

TEST_CASE("children of a task on the cores find what devices wrote, whatever comes later", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*runtime, 100);
    for (int round = 0; round < 20; ++round) {
        Gate gate;
        std::atomic<int> children{0};
        runtime->submit({.place = Place::gpu(0)}, readwrite(x), Add{1}, cuda(Add{0}));
        runtime->submit({.name = "parent"}, readwrite(x), [&](View<int>) {
            gate.pass();
            for (Index begin = 0; begin < 100; begin += 25) {
                runtime->submit({}, readwrite(x.rows(begin, begin + 25)), Add{1}, cuda(Add{100}));
                ++children;
            }
        });
        gate.await_arrival();
        runtime->submit({.place = Place::gpu(1)}, readwrite(x), Add{1}, cuda(Add{0}));
        gate.open();
        // for those who come now the data are on the device, though children work on them at home
        CHECK(comes_true([&] { return children == 4; }));
        const View<int> result = x.host_view();
        for (Index i : {0, 25, 99}) CHECK(result[i] == 3 * (round + 1));
    }
    runtime->wait();
}

TEST_CASE("a ring of GPUs begins behind its source") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 4}.runtime();
    Array<int> x(*runtime, 2 << 20);  // small data go to each from the source
    for (const int source : {0, 1, 3}) {
        runtime->submit({.place = Place::gpu(source)}, readwrite(x), Add{1}, cuda(Add{0}));
        runtime->wait();
        const auto sent = [&](int gpu) {
            const auto counts = statistics(*runtime, gpu);
            return counts.copies_to_peers + counts.relays_to_peers;
        };
        const std::vector<std::uint64_t> before{sent(0), sent(1), sent(2), sent(3)};
        runtime->broadcast(x.region());
        runtime->wait();
        for (int hop = 0; hop < 4; ++hop) {
            const int gpu = (source + hop) % 4;
            CHECK((sent(gpu) > before[static_cast<std::size_t>(gpu)]) == (hop < 3));
        }
    }
}
