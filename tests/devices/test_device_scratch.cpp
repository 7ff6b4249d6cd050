// Scratch memory of tasks on emulated GPUs, and what a stream gives to kernels besides.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine/gpu_memory.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

int* ints(Stream stream, std::size_t count) { return static_cast<int*>(stream.scratch(count * sizeof(int))); }

std::size_t in_use(Runtime& runtime) { return basalt::detail::gpu_memory(runtime).in_use(0); }

}  // namespace

TEST_CASE("scratch memory is the task's own, aligned, and passed on along a stream", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    Array<int> x(*runtime, 1);
    runtime->submit({.place = Place::gpu(0)}, write(x), user_kernel([](Stream, View<int> x) { x[0] = 0; }));
    std::atomic<int> wrong{0};
    const auto submit = [&] {
        runtime->submit({.place = Place::gpu(0)}, readwrite(x), user_kernel([&](Stream stream, View<int> x) {
                            std::vector<int*> blocks;
                            for (const std::size_t count : {1, 1000, 300}) {
                                int* const block = ints(stream, count);
                                wrong += reinterpret_cast<std::uintptr_t>(block) % 512 != 0;
                                std::fill_n(block, count, static_cast<int>(blocks.size()));
                                blocks.push_back(block);
                            }
                            wrong += stream.scratch(0) != nullptr;
                            wrong += blocks[0][0] != 0 || blocks[1][999] != 1 || blocks[2][299] != 2;
                            x[0] += blocks[1][500];
                        }));
    };
    for (int i = 0; i < 3; ++i) submit();
    runtime->wait();
    const std::size_t held = in_use(*runtime);
    for (int i = 0; i < 200; ++i) submit();
    runtime->wait();
    CHECK(wrong == 0);
    CHECK(x.host_view()[0] == 203);
    CHECK(in_use(*runtime) == held);
}

TEST_CASE("tasks on different streams have different scratch memory", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{}.runtime();
    constexpr std::size_t count = 5000;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 300; ++i) {
        runtime->submit({.priority = i % 2, .place = Place::gpu(0)}, user_kernel([&wrong, i](Stream stream) {
                            int* const block = ints(stream, count);
                            std::fill_n(block, count, i);
                            std::this_thread::yield();
                            wrong += std::count(block, block + count, i) != static_cast<std::ptrdiff_t>(count);
                        }));
    }
    runtime->wait();
    CHECK(wrong == 0);
}

TEST_CASE("data get the memory of scratch that is no longer used, and wait for its last user", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpu_memory = 64 << 10}.runtime();
    Gate gate;
    std::atomic<int> wrong{0};
    runtime->submit({.place = Place::gpu(0)}, user_kernel([&](Stream stream) {
                        int* const block = ints(stream, 8 << 10);  // half of it
                        std::fill_n(block, 8 << 10, 7);
                        gate.pass();
                        wrong += std::count(block, block + (8 << 10), 7) != 8 << 10;
                    }));
    gate.await_arrival();
    Array<int> large(*runtime, 12 << 10);  // three quarters
    std::atomic<bool> ran{false};
    runtime->submit({.place = Place::gpu(0)}, write(large), user_kernel([&](Stream, View<int> x) {
                        std::fill_n(x.data(), x.size(), 1);
                        ran = true;
                    }));
    CHECK_FALSE(ran);
    gate.open();
    CHECK(large.host_view()[0] == 1);
    CHECK(wrong == 0);
}

TEST_CASE("scratch memory that data leave no room for is refused with the numbers") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpu_memory = 64 << 10}.runtime();
    Array<int> data(*runtime, 12 << 10);
    runtime->submit({.place = Place::gpu(0)}, write(data), user_kernel([](Stream, View<int> x) { x[0] = 5; }));
    runtime->submit({.name = "greedy", .tile = {1}, .place = Place::gpu(0)}, read(data),
                    user_kernel([](Stream stream, View<const int>) { stream.scratch(20'000); }));
    try {
        runtime->wait();
        FAIL("there is no such memory");
    } catch (const TaskError& error) {
        CHECK(error.task() == "greedy(1)");
        CHECK(mentions(error.what(),
                       "20000 bytes of scratch memory: the runtime may use 65536 bytes of gpu 0, of which data have "
                       "49152 and scratch memory 0; an array that the task writes would displace other data"));
        try {
            std::rethrow_exception(error.cause());
        } catch (const DeviceError& cause) {
            CHECK(cause.out_of_memory());
        }
    }
    CHECK(data.host_view()[0] == 5);
    runtime->submit({.place = Place::gpu(0)}, user_kernel([](Stream stream) { stream.scratch(10'000); }));
    runtime->wait();
}

TEST_CASE("outside of a task a stream has no scratch memory, and on an emulated GPU no handles") {
    const auto devices = basalt::detail::make_emulated_devices({.gpus = 1});
    devices[0]->launch(basalt::detail::StreamRole::compute, [](Stream stream) {
        CHECK(stream.blas() == nullptr);
        CHECK(stream.solver() == nullptr);
        CHECK_THROWS_AS(stream.scratch(1), UsageError);
    });
    devices[0]->synchronize();
}
