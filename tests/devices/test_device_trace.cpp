// The trace of tasks and copies on emulated GPUs.
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

TEST_CASE("the trace has a row for each worker and GPU, and for copy engines that copied") {
    const auto runtime = DeviceSetting{.gpus = 2, .trace = true}.runtime();
    const Array<int> x(*runtime, 10);
    runtime->submit(
        {.place = Place::gpu(1)}, readwrite(x), [](View<int> x) { ++x[0]; }, cuda([](Stream) {}));
    runtime->wait();
    const auto names = [&] {
        std::vector<std::string> names;
        for (const TraceRow& row : runtime->take_trace().rows) {
            if (row.kind != TraceRowKind::cpu) names.push_back(row.name);
        }
        return names;
    };
    CHECK(names() == std::vector<std::string>{"gpu 0", "gpu 0 urgent compute", "gpu 1", "gpu 1 urgent compute",
                                              "gpu 1 from host"});
    CHECK(x.host_view()[0] == 1);
    CHECK(names() ==
          std::vector<std::string>{"gpu 0", "gpu 0 urgent compute", "gpu 1", "gpu 1 urgent compute", "gpu 1 to host"});
}

TEST_CASE("the trace has rows for devices and copy engines, and nothing begins before what it waited for ends",
          "[sanitize]") {
    const bool peers = GENERATE(true, false);
    const Watchdog watchdog;
    const auto runtime =
        DeviceSetting{
            .gpus = 3, .gpu_memory = 40'000, .emulation = {.peer_access = peers, .longest_delay = 50us}, .trace = true}
            .runtime();
    constexpr int tasks = 300;
    {
        std::vector<Array<int>> data;
        for (int i = 0; i < 6; ++i) data.emplace_back(*runtime, 4000);
        for (int i = 0; i < tasks; ++i) {
            const auto& x = data[static_cast<std::size_t>(i * 7 % 6)];
            const auto& y = data[static_cast<std::size_t>(i * 5 % 3)];
            const Place place = i % 5 == 4 ? Place::cpu() : Place::gpu(i % 3);
            runtime->submit(
                {.name = "work", .priority = i % 2, .tile = {i}, .step = i / 10, .place = place}, read(y), readwrite(x),
                [](View<const int>, View<int> x) { ++x[0]; }, cuda([](Stream) {}));
            if (i % 20 == 0) runtime->broadcast(y.region());
        }
        runtime->wait();
    }
    const Trace trace = runtime->take_trace();
    std::map<std::uint64_t, const TraceEvent*> by_id;
    int works = 0;
    std::int64_t copied = 0;
    for (const TraceEvent& event : trace.events) {
        CHECK(event.end_ns >= event.begin_ns);
        CHECK(by_id.emplace(event.id, &event).second);
        const TraceRow& row = trace.rows[static_cast<std::size_t>(event.row)];
        CHECK((event.kind == TraceKind::copy) == (row.kind == TraceRowKind::copy));
        works += event.name == "work";
        if (event.name == "work") {
            const int number = std::stoi(event.detail);
            CHECK(row.device == (number % 5 == 4 ? std::nullopt : std::optional(number % 3)));
            CHECK(event.step == number / 10);
        } else {
            CHECK(event.bytes > 0);
            copied += event.bytes;
        }
    }
    CHECK(works == tasks);
    CHECK(copied > 0);
    int known = 0;
    for (const TraceEvent& event : trace.events) {
        for (const std::uint64_t id : event.after) {
            const auto before = by_id.find(id);
            if (before == by_id.end()) continue;  // the runtime's own
            ++known;
            CHECK(before->second->end_ns <= event.begin_ns);
        }
    }
    CHECK(known > tasks);
}

TEST_CASE(
    "a copy belongs to the step of the task that needs its contents or its memory, or of the caller that requested "
    "it") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2, .gpu_memory = 40'000, .trace = true}.runtime();
    {
        std::vector<Array<int>> data;  // of which a GPU holds two
        for (int i = 0; i < 3; ++i) data.emplace_back(*runtime, 4000);
        const auto use = [&](int step, Place place, const Array<int>& x) {
            runtime->submit(
                {.name = "use", .step = step, .place = place}, readwrite(x), [](View<int> x) { ++x[0]; },
                cuda([](Stream) {}));
        };
        use(1, Place::gpu(0), data[0]);  // from the host
        use(2, Place::gpu(1), data[0]);  // from GPU 0
        use(3, Place::cpu(), data[0]);   // home
        // 6: and home with the first
        for (int i = 0; i < 3; ++i) use(4 + i, Place::gpu(1), data[static_cast<std::size_t>(i)]);
        runtime->prefetch(data[1], Place::gpu(0), 0, 7);
        runtime->broadcast(data[2].region(), 0, 8);
        runtime->wait();
    }
    std::map<int, int> copies;  // by step
    for (const TraceEvent& event : runtime->take_trace().events) {
        if (event.kind == TraceKind::copy) ++copies[event.step.value()];
    }
    CHECK(copies == std::map<int, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 2}, {7, 1}, {8, 1}});
}
