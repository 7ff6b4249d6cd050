// Devices that fail: the k-th allocation, copy or kernel, with and without the loss of the device. The error is
// reported once and names what failed; what the failed graph did not write keeps its contents; nothing leaks; the
// runtime goes on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "basalt/matrix.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/host_copies.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/devices/failing_workload.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

TEST_CASE("a call that fails is reported once, spares what was not written and leaves the runtime usable",
          "[sanitize]") {
    check_calls(1, 3, 30, 1);
}

TEST_CASE(
    "each of the first calls that fails is reported once, spares what was not written and leaves the runtime usable",
    "[.soak]") {
    check_calls(1, 1, 200, 24);
}

TEST_CASE("when every GPU is lost, tasks run on the cores, and those that need a GPU are told why", "[sanitize]") {
    const Watchdog watchdog;
    Emulation emulation;
    emulation.failing_kernel = 1;
    emulation.failures_are_sticky = true;
    const auto runtime = DeviceSetting{.gpus = gpus, .emulation = emulation}.runtime();
    const auto fails = [](const auto& call, const char* why) {
        try {
            call();
            FAIL("no GPU is left");
        } catch (const DeviceError& error) {
            CHECK(error.sticky());
            CHECK(mentions(error.what(), why));
        }
    };
    Array<int> kept(*runtime, 100);
    Array<int> x(*runtime, 100);
    std::vector<Array<int>> lost;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        runtime->submit(
            {.place = Place::gpu(gpu)}, read(kept), write(lost.emplace_back(*runtime, 100)),
            [](View<const int>, View<int>) {}, cuda([](Stream) {}));
        CHECK_THROWS_AS(runtime->wait(), TaskError);
    }
    for (int i = 0; i < 3; ++i) runtime->submit({}, readwrite(x), Add{1}, cuda(Add{1}));
    runtime->submit({.place = Place::cpu()}, read(kept), readwrite(x),
                    [](View<const int> from, View<int> to) { to[99] += from[99]; });
    runtime->wait();
    CHECK(x.host_view()[99] == 3);
    fails([&] { runtime->submit({.name = "late", .place = Place::gpu(1)}, readwrite(x), Add{1}, cuda(Add{1})); },
          "task 'late': gpu 1 is lost after an earlier error");
    fails([&] { runtime->submit({.name = "late"}, readwrite(x), gpu_kernel(Add{1})); },
          "task 'late': gpu 0 is lost after an earlier error, and so is every other GPU");
    runtime->wait();
    CHECK(x.host_view()[99] == 3);
}

TEST_CASE("behind what fails in its stream's turn nothing is computed, on that GPU or another", "[sanitize]") {
    const Watchdog watchdog;
    for (const What what : {What::kernel, What::copy}) {
        CAPTURE(name_of(what));
        Emulation emulation;
        emulation.failing_gpu = 0;
        (what == What::kernel ? emulation.failing_kernel : emulation.failing_copy) = what == What::kernel ? 3 : 1;
        const auto runtime = DeviceSetting{.gpus = gpus, .emulation = emulation}.runtime();
        const auto nothing = gpu_kernel([](Stream, View<int>) {});
        std::atomic<int> computed{0};
        const auto counted = gpu_kernel([&computed](Stream, View<int>) { ++computed; });
        Array<int> x(*runtime, 100);
        Gate gate;
        runtime->submit({.place = Place::gpu(0)}, write(x), gpu_kernel([&gate](Stream, View<int>) { gate.pass(); }));
        runtime->submit({.place = Place::gpu(0)}, readwrite(x), nothing);
        if (what == What::kernel) {
            runtime->submit({.name = "fails", .place = Place::gpu(0)}, readwrite(x), nothing);
            runtime->submit({.place = Place::gpu(0)}, readwrite(x), counted);
        }
        runtime->submit({.place = Place::gpu(1)}, readwrite(x), counted);
        REQUIRE(comes_true([&] { return statistics(*runtime, 1).kernels == 1; }));  // all of it is in the streams
        gate.open();
        CHECK_THROWS_AS(runtime->wait(), TaskError);
        CHECK(computed == 0);
        CHECK_THROWS_AS(x.host_view(), DataError);
        runtime->submit({.place = Place::gpu(1)}, readwrite(x), counted);
        CHECK_THROWS_AS(runtime->wait(), DataError);
        CHECK(computed == 0);
        runtime->submit({.place = Place::gpu(1)}, write(x), counted);
        runtime->wait();
        CHECK(computed == 1);
    }
}

TEST_CASE("what only a lost GPU had is never read again, until it is written", "[sanitize]") {
    const Watchdog watchdog;
    Emulation emulation;
    emulation.failing_kernel = 3;
    emulation.failures_are_sticky = true;
    const auto runtime = DeviceSetting{.gpus = 1, .emulation = emulation}.runtime();
    Array<int> a(*runtime, 4, "a"), b(*runtime, 4, "b"), sum(*runtime, 1, "sum");
    const auto fill = [](View<int> x) { std::fill_n(x.data(), x.size(), 42); };
    const auto gpu = Place::gpu(0);
    runtime->submit({.name = "make a", .place = gpu}, write(a), fill, cuda([](Stream) {}));
    runtime->wait();
    runtime->submit({.name = "make b", .place = gpu}, write(b), fill, cuda([](Stream) {}));
    runtime->submit(
        {.name = "faults", .place = gpu}, read(a), readwrite(b), [](View<const int>, View<int>) {},
        cuda([](Stream) {}));
    CHECK_THROWS_AS(runtime->wait(), TaskError);

    CHECK(mentions(error_of<DataError>([&] { a.host_view(); }), "'a' rows [0, 4) has no valid contents: gpu 0"));
    CHECK(mentions(error_of<DataError>([&] { b.host_view(); }),
                   " failed on gpu 0"));  // faults, or make b if it was not known to have ended
    std::atomic<int> ran{0};
    runtime->submit({.name = "sum", .place = Place::cpu()}, read(a), write(sum),
                    [&](View<const int>, View<int>) { ++ran; });
    CHECK(mentions(error_of<DataError>([&] { runtime->wait(); }), "task sum did not run: 'a' rows [0, 4)"));
    CHECK(ran == 0);
    runtime->submit({}, write(a), fill);
    runtime->submit({}, read(a), write(sum), [&](View<const int> a, View<int> sum) { sum[0] = a[0] + a[3]; });
    CHECK(sum.host_view()[0] == 84);
    runtime->wait();
}

TEST_CASE("after the loss of a GPU a system of equations is solved by the cores") {
    const Watchdog watchdog;
    const Failing failing{What::kernel, 1, true, 1};
    const auto runtime = DeviceSetting{.gpus = gpus, .emulation = failing.emulation()}.runtime();
    Array<int> x(*runtime, 100);
    runtime->submit({.place = Place::gpu(1)}, readwrite(x), Add{1}, cuda(Add{1}));
    CHECK_THROWS_AS(runtime->wait(), TaskError);

    constexpr Index n = 2048;  // that GPUs would get
    std::vector<float> a(n * n);
    std::vector<float> b(n, 6);
    std::vector<Index> pivots(n);
    for (std::size_t i = 0; i < n; ++i) a[i * n + i] = 2;
    CHECK(basalt::solve(*runtime, n, 1, a.data(), n, pivots.data(), b.data(), n) == 0);
    CHECK(std::count(b.begin(), b.end(), 3.0F) == n);
    CHECK(statistics(*runtime, 0).kernels == 0);

    Matrix<double> generated(*runtime, 10, 10);
    CHECK_NOTHROW(generated.fill(make_generator<double>("hpl", 10, 10), Place::any()));
    CHECK_NOTHROW(runtime->wait());
}
