// What a runtime with emulated GPUs refuses, and what happens where their memory is short.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

TEST_CASE("what a GPU task cannot have is refused, saying why, and the runtime goes on") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*runtime, 10);
    const auto refused = [&](Place place, auto... kernels) {
        return error_of<UsageError>(
            [&] { runtime->submit({.name = "odd", .place = place}, readwrite(x), kernels...); });
    };
    const auto on_core = [](View<int>) {};
    const auto real_gpu = cuda([](Stream, View<int>) {});
    const auto any_gpu = gpu_kernel([](Stream, View<int>) {});

    CHECK(refused(Place::gpu(2), on_core, real_gpu) == "task 'odd': Place::gpu(2); the runtime has 2 GPUs");
    CHECK(refused(Place::gpu(-1), on_core, real_gpu) == "task 'odd': Place::gpu(-1); the runtime has 2 GPUs");
    CHECK(mentions(refused(Place::gpu(0), on_core), "without a cuda kernel"));
    CHECK(mentions(refused(Place::gpu(0), real_gpu), "an emulated GPU needs the task's CPU kernel"));
    CHECK(mentions(refused(Place::any(), real_gpu), "cuda kernel only"));
    CHECK(mentions(refused(Place::cpu(), any_gpu), "cuda kernel only"));
    CHECK(mentions(error_of<UsageError>([&] { runtime->prefetch(x, Place::gpu(2)); }), "prefetch: Place::gpu(2)"));
    CHECK(mentions(error_of<UsageError>([&] { runtime->prefetch(x, Place::gpu(-3)); }), "prefetch: Place::gpu(-3)"));
    CHECK(mentions(error_of<UsageError>([&] { runtime->prefetch(x, Place::any()); }), "prefetch: Place::any()"));

    std::string inside;
    runtime->submit({.name = "parent"}, readwrite(x), [&](View<int>) {
        inside = error_of<UsageError>(
            [&] { runtime->submit({.name = "child", .place = Place::gpu(0)}, readwrite(x), Add{1}, cuda(Add{1})); });
    });
    runtime->wait();
    CHECK(mentions(inside, "task 'child': placed on a GPU inside a task"));

    const auto with_one = DeviceSetting{.gpus = 1}.runtime();
    Array<int> y(*with_one, 10);
    CHECK(error_of<UsageError>([&] { with_one->prefetch(y, Place::gpu(1)); }) ==
          "prefetch: Place::gpu(1); the runtime has 1 GPU");
    const auto without = DeviceSetting{.gpus = 0}.runtime();
    const auto needs_gpu = gpu_kernel([](Stream) {});
    CHECK(mentions(error_of<UsageError>([&] { without->submit({.name = "odd"}, needs_gpu); }), "there is no GPU"));
    CHECK(mentions(error_of<UsageError>([&] { without->submit({.name = "odd", .place = Place::gpu(0)}, needs_gpu); }),
                   "Place::gpu(0); the runtime has 0 GPUs"));
    check_usable(*runtime);
}

TEST_CASE("a GPU kernel that uses the runtime is told that it must not") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 1}.runtime();
    Array<int> x(*runtime, 10);
    const auto told = [&](auto misuse) {
        runtime->submit({.name = "odd", .place = Place::gpu(0)}, write(x),
                        gpu_kernel([misuse](Stream, View<int>) { misuse(); }));
        return error_of<TaskError>([&] { runtime->wait(); });
    };
    const std::string why = "inside its GPU kernel";
    CHECK(mentions(told([&] { runtime->submit({}, [] {}); }), why));
    CHECK(mentions(told([&] { Array<int> y(*runtime, 10); }), why));
    CHECK(mentions(told([&] { runtime->prefetch(x, Place::cpu()); }), why));
    CHECK(mentions(told([&] { x.host_view(); }), why));
    check_usable(*runtime);
}

TEST_CASE("settings of devices out of range are refused, naming them") {
    const auto refused = [](auto change) {
        Config config;
        change(config);
        return error_of<UsageError>([&] { Runtime runtime(config); });
    };
    CHECK(mentions(refused([](Config& c) { c.gpus = -2; }), "Config::gpus"));
    CHECK(mentions(refused([](Config& c) { c.gpus = Config::most_gpus + 1; }), "Config::gpus"));
    CHECK(mentions(refused([](Config& c) { c.emulation.gpus = -1; }), "Config::emulation.gpus"));
    CHECK(mentions(refused([](Config& c) { c.emulation.gpus = Config::most_gpus + 1; }), "Config::emulation.gpus"));
    const auto refused_of_two = [&](auto change) {
        return refused([&](Config& c) {
            c.emulation.gpus = 2;
            change(c);
        });
    };
    for (const int gpu : {-1, 2}) {
        CHECK(mentions(refused_of_two([&](Config& c) { c.emulation.failing_gpu = gpu; }), "allowed is 0 to 1"));
    }
    CHECK(mentions(refused_of_two([](Config& c) { c.emulation.longest_delay = -1ns; }), "longest_delay = -1 ns"));
    constexpr std::size_t more_than_any_host = std::size_t{1} << 60;
    CHECK(mentions(refused_of_two([](Config& c) { c.emulation.memory = more_than_any_host; }),
                   "Config::emulation.memory = 1152921504606846976"));
    CHECK(mentions(refused_of_two([](Config& c) { c.gpu_memory = more_than_any_host; }), "Config::gpu_memory"));
}

TEST_CASE("emulated GPUs have what Config::gpu_memory lets the runtime use") {
    Emulation small;
    small.memory = 1 << 20;
    CHECK(DeviceSetting{.gpu_memory = 3 << 20, .emulation = small}.runtime()->devices()[0].memory == 3 << 20);
    CHECK(DeviceSetting{.gpu_memory = 1 << 19, .emulation = small}.runtime()->devices()[0].memory == 1 << 19);
}

TEST_CASE("what never fits is refused when it is submitted, naming task and bytes; what just fits runs", "[sanitize]") {
    const bool other_work = GENERATE(false, true);
    const Watchdog watchdog;
    // room for three arrays of 4096 bytes
    const auto runtime = DeviceSetting{.gpus = 1, .gpu_memory = 12'288, .emulation = {.longest_delay = 50us}}.runtime();
    std::vector<Array<int>> data;
    for (int i = 0; i < 5; ++i) data.emplace_back(*runtime, 1024);
    if (other_work) {
        for (int i = 0; i < 20; ++i) {
            runtime->submit({.place = Place::gpu(0)}, readwrite(data[static_cast<std::size_t>(i % 5)]), Add{1},
                            cuda(Add{0}));
        }
    }
    const auto submit_all_of = [&](std::size_t count) {
        AccessList list;
        for (std::size_t i = 0; i < count; ++i) list.readwrite(data[i]);
        runtime->submit({.name = "greedy", .tile = {4, 2}, .place = Place::gpu(0)}, list,
                        gpu_kernel([](Stream, const Addresses& at) {
                            for (void* x : at) static_cast<int*>(x)[1023] += 100;
                        }));
    };
    const std::string why = error_of<DeviceError>([&] { submit_all_of(4); });
    CHECK(why == "task greedy(4,2) needs 16384 bytes of gpu 0 at once; the runtime may use 12288");
    submit_all_of(3);
    runtime->prefetch(data[4], Place::gpu(0));
    submit_all_of(3);
    runtime->wait();
    for (std::size_t i = 0; i < 5; ++i) CHECK(data[i].host_view()[1023] == (other_work ? 4 : 0) + (i < 3 ? 200 : 0));
    // the list may name a datum as often as it likes
    AccessList repeated;
    for (int i = 0; i < 10; ++i) repeated.readwrite(data[0].rows(i, i + 1));
    runtime->submit({.place = Place::gpu(0)}, repeated, gpu_kernel([](Stream) {}));
    // a datum that is too large by itself stays at home and is prefetched nowhere
    Array<int> large(*runtime, 10'000);
    runtime->prefetch(large, Place::gpu(0));
    runtime->broadcast(large.region());
    CHECK(mentions(error_of<DeviceError>([&] {
                       runtime->submit({.name = "whole", .place = Place::gpu(0)}, readwrite(large), Add{1},
                                       cuda(Add{1}));
                   }),
                   "task whole needs 40448 bytes"));
    CHECK(large.host_view()[9999] == 0);
    check_usable(*runtime);
}

TEST_CASE("the data used longest ago make room, copies before the only ones") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 1, .gpu_memory = 12'288}.runtime();
    std::vector<Array<int>> data;
    for (int i = 0; i < 4; ++i) data.emplace_back(*runtime, 1024);
    const auto use = [&](std::size_t i, bool writes) {
        const std::uint64_t before = copies(*runtime);
        if (writes) {
            runtime->submit({.place = Place::gpu(0)}, readwrite(data[i]), Add{1}, cuda(Add{0}));
        } else {
            runtime->submit(
                {.place = Place::gpu(0)}, read(data[i]), [](View<const int>) {}, cuda([](Stream) {}));
        }
        runtime->wait();
        return copies(*runtime) - before;
    };
    CHECK(use(0, true) == 1);
    CHECK(use(1, false) == 1);
    CHECK(use(2, false) == 1);
    CHECK(use(1, false) == 0);
    CHECK(use(3, true) == 1);  // replaces 2: a copy, and used before 1
    CHECK(use(1, false) == 0);
    CHECK(use(0, false) == 0);  // the only one: it stayed although it was used long ago
    CHECK(use(2, true) == 1);   // replaces 1
    CHECK(use(1, false) == 2);  // replaces 3, which is written back first
    CHECK(data[3].host_view()[0] == 1);
    runtime->wait();
}
