// Tasks on emulated GPUs: where they run, how they follow each other without the host, what moves their data, and what
// the runtime refuses.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.hpp"
#include "tests/device_tasks.hpp"
#include "tests/gate.hpp"
#include "tests/mentions.hpp"
#include "tests/watchdog.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace std::chrono_literals;

namespace {

/// What the call throws.
template <class Error, class Call>
std::string refusal(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

void check_usable(Runtime& runtime) {
    Array<int> x(runtime, 10);
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu)
        runtime.submit({.place = Place::gpu(gpu)}, readwrite(x), Add{1}, cuda(Add{1}));
    runtime.submit({}, readwrite(x), Add{1});
    runtime.wait();
    CHECK(x.host_view()[9] == runtime.gpus() + 1);
}

std::uint64_t copies(Runtime& runtime) {
    std::uint64_t sum = 0;
    for (int gpu = 0; gpu < runtime.gpus(); ++gpu) {
        const auto s = statistics(runtime, gpu);
        sum += s.copies_from_host + s.copies_to_host + s.copies_to_peers;
    }
    return sum;
}

}  // namespace

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
                            ++static_cast<int*>(at[2])[5];
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
    CHECK(comes_true([&] { return statistics(*runtime, 2).copies_to_host == 1; }));
    std::this_thread::sleep_for(20ms);
    CHECK(on_devices == 0);
    CHECK_FALSE(on_core);
    gate.open();
    CHECK(x.host_view()[999] == 5);
    CHECK(on_core);
    runtime->wait();
}

TEST_CASE("a task with a high priority does not wait for kernels that are queued on its device") {
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
    for (int gpu : {0, 1}) CHECK(runtime->engine().memory_in_use(gpu) == 0);
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
    for (int gpu : {0, 1}) CHECK(runtime->engine().memory_in_use(gpu) == 0);
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
        CHECK(runtime->engine().memory_in_use(0) == 0);
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

TEST_CASE("wait_for() comes back in time while a device is busy") {
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

TEST_CASE("copies are not held up by a long queue of kernels") {
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

TEST_CASE("the trace has rows for devices and copy engines, and nothing begins before what it waited for ends") {
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
                {.name = "work", .priority = i % 2, .tile = {i, -1, -1}, .step = i / 10, .place = place}, read(y),
                readwrite(x), [](View<const int>, View<int> x) { ++x[0]; }, cuda([](Stream) {}));
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
            CHECK(row.device == (number % 5 == 4 ? -1 : number % 3));
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

TEST_CASE("a copy belongs to the step of the task that needs it, or its memory, or of whoever asked for it") {
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
        if (event.kind == TraceKind::copy) ++copies[event.step];
    }
    CHECK(copies == std::map<int, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 2}, {7, 1}, {8, 1}});
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

TEST_CASE("what a GPU task cannot have is refused, saying why, and the runtime goes on") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 2}.runtime();
    Array<int> x(*runtime, 10);
    const auto refused = [&](Place place, auto... kernels) {
        return refusal<UsageError>([&] { runtime->submit({.name = "odd", .place = place}, readwrite(x), kernels...); });
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
    CHECK(mentions(refusal<UsageError>([&] { runtime->prefetch(x, Place::gpu(2)); }), "prefetch: Place::gpu(2)"));
    CHECK(mentions(refusal<UsageError>([&] { runtime->prefetch(x, Place::gpu(-3)); }), "prefetch: Place::gpu(-3)"));
    CHECK(mentions(refusal<UsageError>([&] { runtime->prefetch(x, Place::any()); }), "prefetch: Place::any()"));

    std::string inside;
    runtime->submit({.name = "parent"}, readwrite(x), [&](View<int>) {
        inside = refusal<UsageError>(
            [&] { runtime->submit({.name = "child", .place = Place::gpu(0)}, readwrite(x), Add{1}, cuda(Add{1})); });
    });
    runtime->wait();
    CHECK(mentions(inside, "task 'child': placed on a GPU inside a task"));

    const auto with_one = DeviceSetting{.gpus = 1}.runtime();
    Array<int> y(*with_one, 10);
    CHECK(refusal<UsageError>([&] { with_one->prefetch(y, Place::gpu(1)); }) ==
          "prefetch: Place::gpu(1); the runtime has 1 GPU");
    const auto without = DeviceSetting{.gpus = 0}.runtime();
    const auto needs_gpu = gpu_kernel([](Stream) {});
    CHECK(mentions(refusal<UsageError>([&] { without->submit({.name = "odd"}, needs_gpu); }), "there is no GPU"));
    CHECK(mentions(refusal<UsageError>([&] { without->submit({.name = "odd", .place = Place::gpu(0)}, needs_gpu); }),
                   "Place::gpu(0); the runtime has 0 GPUs"));
    check_usable(*runtime);
}

TEST_CASE("a GPU kernel that uses the runtime is told that it must not") {
    const Watchdog watchdog;
    const auto runtime = DeviceSetting{.gpus = 1}.runtime();
    Array<int> x(*runtime, 10);
    const auto told = [&](auto misuse) {
        runtime->submit({.name = "odd", .place = Place::gpu(0)}, readwrite(x),
                        gpu_kernel([misuse](Stream, View<int>) { misuse(); }));
        return refusal<TaskError>([&] { runtime->wait(); });
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
        return refusal<UsageError>([&] { Runtime runtime(config); });
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
    for (const int gpu : {-2, 2}) {
        CHECK(mentions(refused_of_two([&](Config& c) { c.emulation.failing_gpu = gpu; }), "allowed is -1 to 1"));
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
    // three pieces of 4096 bytes
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
        runtime->submit({.name = "greedy", .tile = {4, 2, -1}, .place = Place::gpu(0)}, list,
                        gpu_kernel([](Stream, const Addresses& at) {
                            for (void* x : at) static_cast<int*>(x)[1023] += 100;
                        }));
    };
    const std::string why = refusal<DeviceError>([&] { submit_all_of(4); });
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
    CHECK(mentions(refusal<DeviceError>([&] {
                       runtime->submit({.name = "whole", .place = Place::gpu(0)}, readwrite(large), Add{1},
                                       cuda(Add{1}));
                   }),
                   "task whole needs 40448 bytes"));
    CHECK(large.host_view()[9999] == 0);
    check_usable(*runtime);
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
    CHECK(use(3, true) == 1);  // in the place of 2: a copy, and used before 1
    CHECK(use(1, false) == 0);
    CHECK(use(0, false) == 0);  // the only one: it stayed although it was used long ago
    CHECK(use(2, true) == 1);   // in the place of 1
    CHECK(use(1, false) == 2);  // in the place of 3, which goes home first
    CHECK(data[3].host_view()[0] == 1);
    runtime->wait();
}
