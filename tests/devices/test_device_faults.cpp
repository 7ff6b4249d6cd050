// What errors of an emulated GPU name: the task whose launch failed, the one that failed in its stream's turn, and
// after a fault that no call was told of those that may have faulted.
#include <atomic>
#include <regex>
#include <string>
#include <vector>

#include "basalt/graph.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

/// Without the line of the source file, and without the call that happened to be the first one to meet the fault.
std::string comparable(const std::string& text) {
    const std::string without_lines = std::regex_replace(text, std::regex(R"( \(\w+\.cpp:\d+\))"), "");
    return std::regex_replace(without_lines, std::regex("gpu 0: [a-z_]+: the device is lost: "), "");
}

template <class Wait>
std::string text_of_error(const Wait& wait) {
    try {
        wait();
    } catch (const TaskError& error) {
        CHECK(error.device() == "gpu 0");
        return comparable(error.what());
    }
    return "no error";
}

std::unique_ptr<Runtime> faulty_runtime(const Emulation& emulation, int streams) {
    return DeviceSetting{.emulation = emulation, .gpu_streams = streams}.runtime();
}

const auto nothing = [](Stream, View<int>) {};
const std::string faulted = "gpu 0: launch: a kernel faulted, as the emulation was asked for";

}  // namespace

TEST_CASE("an error names the task whose launch failed, in the midst of others on any number of streams",
          "[sanitize]") {
    const Watchdog watchdog;
    for (const int streams : {1, 3, 8}) {
        for (const std::uint64_t failing : {6, 7}) {  // in the call, and in the stream's turn
            for (const bool sticky : {false, true}) {
                CAPTURE(streams, failing, sticky);
                Emulation emulation;
                emulation.failing_kernel = failing;
                emulation.failures_are_sticky = sticky;
                const auto runtime = faulty_runtime(emulation, streams);
                Gate gate;
                runtime->submit({.place = Place::gpu(0)}, user_kernel([&](Stream) { gate.pass(); }));
                std::vector<Array<int>> data;
                for (int i = 2; i <= 12; ++i) {
                    const Array<int>& x = data.emplace_back(*runtime, 10, "x");
                    const TaskOptions options{.name = "work", .tile = {i, 3}, .step = i / 2, .place = Place::gpu(0)};
                    runtime->submit(options, write(x), user_kernel(nothing));
                }
                gate.open();
                const std::string number = std::to_string(failing);
                CHECK(text_of_error([&] { runtime->wait(); }) ==
                      "task work(" + number + ",3) of step 3 failed on gpu 0: gpu 0: launch: call " + number +
                          " fails, as the emulation was asked for [write x rows [0, 10)]");
                runtime->wait();
            }
        }
    }
}

TEST_CASE("after a silent fault an error names the task that faulted, not what is behind it in its stream",
          "[sanitize]") {
    const Watchdog watchdog;
    for (const int streams : {1, 8}) {
        CAPTURE(streams);
        const auto runtime = faulty_runtime({.faulting_kernel = 3}, streams);
        Array<int> x(*runtime, 10, "x");
        const auto submit = [&](int tile) {
            runtime->submit({.name = "link", .tile = {tile}, .step = 9, .place = Place::gpu(0)}, readwrite(x),
                            user_kernel(nothing));
        };
        runtime->submit({.place = Place::gpu(0)}, write(x), user_kernel(nothing));
        submit(2);
        runtime->wait();
        Gate gate;  // a lost GPU would refuse the later ones
        runtime->submit({.place = Place::cpu()}, readwrite(x), [&](View<int>) { gate.pass(); });
        for (int tile = 3; tile < 20; ++tile) submit(tile);
        gate.open();
        CHECK(text_of_error([&] { runtime->wait(); }) ==
              "task link(3) of step 9 failed on gpu 0: " + faulted +
                  "; it is the first task of stream 'compute' that did not complete [readwrite x rows [0, 10)]");
        CHECK_THROWS_AS(runtime->submit({.place = Place::gpu(0)}, user_kernel([](Stream) {})), DeviceError);
        runtime->wait();
    }
}

TEST_CASE("after a silent fault with several streams at work, an error names all tasks that may have faulted",
          "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = faulty_runtime({.faulting_kernel = 5}, 8);
    Array<int> x(*runtime, 10, "x"), y(*runtime, 10, "y"), z(*runtime, 10, "z");
    Gate gates[2];
    const auto options = [](int tile) {
        return TaskOptions{.name = "work", .tile = {tile}, .step = 4, .place = Place::gpu(0)};
    };
    runtime->submit(options(0), write(x), user_kernel([&](Stream, View<int>) { gates[0].pass(); }));
    gates[0].await_arrival();
    runtime->submit(options(1), write(y), user_kernel([&](Stream, View<int>) { gates[1].pass(); }));
    gates[1].await_arrival();
    // behind the first one, in its stream and in another: they have not begun
    for (int i = 2; i < 4; ++i) runtime->submit(options(i), read(x), user_kernel([](Stream, View<const int>) {}));
    REQUIRE(comes_true([&] { return statistics(*runtime, 0).kernels == 4; }));
    runtime->submit(options(4), write(z), user_kernel(nothing));
    CHECK(comes_true([&] { return basalt::detail::gpus_of(*runtime).device(0).lost(); }));
    for (Gate& gate : gates) gate.open();
    CHECK(text_of_error([&] { runtime->wait(); }) ==
          "task work(0) of step 4 failed on gpu 0: " + faulted +
              "; it is the first task of stream 'compute' that did not complete. On other streams that is work(1) "
              "('compute 2'), work(4) ('compute 4'). One of them failed; CUDA_LAUNCH_BLOCKING=1 in the environment "
              "tells which one [write x rows [0, 10)]");
    runtime->wait();
}

TEST_CASE("graphs whose tasks did not fault are told that the GPU was lost before", "[sanitize]") {
    const Watchdog watchdog;
    const auto runtime = faulty_runtime({.faulting_kernel = 2}, 1);
    Graph faulty(*runtime), other(*runtime);
    Array<int> x(*runtime, 10, "x"), y(*runtime, 10, "y");
    faulty.submit({.name = "fine", .place = Place::gpu(0)}, write(x), user_kernel(nothing));
    faulty.wait();
    // the later one is submitted before the GPU is lost, which would refuse it, and waits until it is
    Gate gate;
    runtime->submit({.place = Place::cpu()}, write(y), [&](View<int>) { gate.pass(); });
    other.submit({.name = "later", .place = Place::gpu(0)}, readwrite(y), user_kernel(nothing));
    faulty.submit({.name = "faulty", .tile = {7}, .place = Place::gpu(0)}, write(x), user_kernel(nothing));
    CHECK(comes_true([&] { return basalt::detail::gpus_of(*runtime).device(0).lost(); }));
    gate.open();
    CHECK(text_of_error([&] { faulty.wait(); }) ==
          "task faulty(7) failed on gpu 0: " + faulted +
              "; it is the first task of stream 'compute' that did not complete [write x rows [0, 10)]");
    const std::string text = text_of_error([&] { other.wait(); });
    CAPTURE(text);
    CHECK(text.find("lost") != std::string::npos);
    CHECK(text.find("first task of stream") == std::string::npos);
    runtime->wait();
}
