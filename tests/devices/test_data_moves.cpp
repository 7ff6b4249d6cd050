// Data that leave GPUs when the program says so, contents that it gives up, and memory that it pins.
#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/pinned_memory.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::Gate;
using basalt_tests::mentions;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

void fill_on(Runtime& rt, const Array<int>& x, int gpu, int value) {
    rt.submit(
        {.place = Place::gpu(gpu)}, write(x),
        [value](View<int> v) {
            for (Index i = 0; i < v.size(); ++i) v[i] = value;
        },
        cuda([](Stream, View<int>) {}));
}

bool holds(const Runtime& rt, const Array<int>& x, int gpu) {
    return detail::gpu_data(rt).has_memory_on(*x.region().datum, gpu);
}

}  // namespace

TEST_CASE("evicted data leave a GPU, and their only contents come home", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(2));
    Array<int> x(rt, 1000);
    fill_on(rt, x, 1, 42);
    rt.evict(x, Place::gpu(0));  // has none of it
    CHECK(holds(rt, x, 1));
    rt.evict(x, Place::gpu(1));
    rt.wait();
    CHECK_FALSE(holds(rt, x, 1));
    CHECK(x.host_view()[999] == 42);
    fill_on(rt, x, 1, 43);  // it may come back
    CHECK(x.host_view()[0] == 43);
    rt.submit({}, [&] { rt.evict(x, Place::gpu(0)); });  // inside a task: nothing
    rt.wait();
    CHECK(mentions(error_of<UsageError>([&] { rt.evict(x, Place::cpu()); }), "Place::gpu(number)"));
    CHECK(mentions(error_of<UsageError>([&] { rt.evict(x, Place::gpu(2)); }), "evict"));
    x.release();
    CHECK_THROWS_AS(rt.evict(x, Place::gpu(0)), UsageError);
}

TEST_CASE("invalidated contents of a GPU are not copied home", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(1));
    Array<int> x(rt, 1000);
    fill_on(rt, x, 0, 1);
    rt.wait();
    rt.start_trace();
    rt.invalidate(x);
    x.host_overwrite()[0] = 5;
    CHECK(x.host_view()[0] == 5);
    rt.wait();
    for (const TraceEvent& event : rt.take_trace().events) CHECK_FALSE(event.bytes > 0);
    fill_on(rt, x, 0, 2);
    rt.invalidate(x);
    fill_on(rt, x, 0, 3);
    CHECK(x.host_view()[999] == 3);
}

TEST_CASE("what a task overwrites on a GPU is valid, though one before it turns out not to have run", "[sanitize]") {
    for (const bool borrowed : {false, true}) {
        for (unsigned seed = 0; seed < 60; ++seed) {
            const Watchdog watchdog;
            Config config = small_machine(1);
            config.workers = 1;
            config.emulation.longest_delay = std::chrono::microseconds(5);
            config.emulation.seed = seed;
            Runtime rt(config);
            std::vector<int> memory(6);
            Array<int> x = borrowed ? Array<int>::wrap(rt, memory.data(), 6) : Array<int>(rt, 6);
            const Array<int> none(rt, 6), between(rt, 6);
            const Partition<int> blocks = borrowed ? Partition<int>() : x.split(1);  // or else x is renamed
            rt.invalidate(none);
            const auto copy = [&](const Array<int>& from, const Array<int>& to) {
                return rt.submit(
                    {.name = "copy", .place = Place::gpu(0)}, read(from), write(to),
                    [](View<const int> f, View<int> t) { t[0] = f[0]; },
                    cuda([](Stream, View<const int>, View<int>) {}));
            };
            copy(none, between);
            const TaskHandle dropped = copy(between, x);
            fill_on(rt, x, 0, 7);
            fill_on(rt, none, 0, 1);
            const TaskHandle last = rt.submit(
                {.place = Place::gpu(0)}, readwrite(x), [](View<int> v) { ++v[0]; }, cuda([](Stream, View<int>) {}));
            CHECK_THROWS_AS(rt.wait(), DataError);
            CHECK_THROWS_AS(dropped.wait(), DataError);
            CHECK_NOTHROW(last.wait());
            CHECK(x.host_view()[0] == 8);
        }
    }
}

TEST_CASE("between a task that fails on a GPU late and one that overwrites its data, readers fail", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(small_machine(1));
    std::vector<int> in_x(6), in_y(6), in_z(6);
    const Array<int> x = Array<int>::wrap(rt, in_x.data(), 6), y = Array<int>::wrap(rt, in_y.data(), 6);
    const Array<int> z = Array<int>::wrap(rt, in_z.data(), 6);
    Gate gate;
    Graph failing(rt), other(rt);
    const TaskOptions on_gpu{.place = Place::gpu(0)};
    const auto copy = [&](const Array<int>& from, const Array<int>& to) {
        return other.submit(
            on_gpu, read(from), write(to), [](View<const int> f, View<int> t) { t[0] = f[0]; },
            cuda([](Stream, View<const int>, View<int>) {}));
    };
    failing.submit(
        on_gpu, write(x),
        [&](View<int>) {
            gate.pass();
            throw std::runtime_error("late");
        },
        cuda([](Stream, View<int>) {}));
    const TaskHandle between = copy(x, y);
    other.submit(
        on_gpu, write(x), [](View<int> v) { v[0] = 7; }, cuda([](Stream, View<int>) {}));
    const TaskHandle behind = copy(x, z);
    gate.open();
    CHECK_THROWS_AS(failing.wait(), TaskError);
    CHECK_THROWS_AS(between.wait(), DataError);
    CHECK_NOTHROW(behind.wait());
    CHECK_THROWS_AS(y.host_view(), DataError);
    CHECK(z.host_view()[0] == 7);
    CHECK(x.host_view()[0] == 7);
    CHECK_THROWS_AS(other.wait(), DataError);
}

TEST_CASE("the program's memory is pinned as long as the PinnedMemory lives, and no longer than the runtime") {
    const Watchdog watchdog;
    std::vector<int> memory(5000, 1), other(5000);
    std::optional<Runtime> rt(std::in_place, small_machine(1));
    const auto is_pinned = [&](const std::vector<int>& m) {
        return detail::pinned_memory(*rt).is_pinned(m.data(), m.size() * sizeof(int));
    };
    {
        PinnedMemory pin = rt->pin(memory.data(), memory.size() * sizeof(int));
        CHECK(is_pinned(memory));
        const PinnedMemory moved = std::move(pin);
        CHECK(is_pinned(memory));
        CHECK(mentions(error_of<UsageError>([&] { rt->pin(memory.data(), 4); }), "pinned"));
        Array<int> x = Array<int>::wrap(*rt, memory.data(), 5000);
        fill_on(*rt, x, 0, 9);
        rt->wait();
        CHECK(memory[4999] == 9);
    }
    CHECK_FALSE(is_pinned(memory));
    CHECK_THROWS_AS(rt->pin(nullptr, 8), UsageError);
    rt->pin(nullptr, 0);
    const PinnedMemory outlives = rt->pin(other.data(), other.size() * sizeof(int));
    rt.reset();
    Runtime without_gpus(Config{.workers = 2});
    const PinnedMemory nothing = without_gpus.pin(other.data(), 8);
}
