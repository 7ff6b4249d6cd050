// Arrays of the user's own memory that tasks on GPUs use: between wait() and the next submission they are the user's.
#include <vector>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"

using namespace basalt;
using basalt_tests::DeviceSetting;
using basalt_tests::Watchdog;

TEST_CASE("a wrapped array is current after wait(), and what the host writes then is seen by GPUs", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 2}.runtime();
    std::vector<int> memory(4, 1);
    auto x = Array<int>::wrap(*rt, memory.data(), 4);
    const auto add_on = [&](int gpu) {
        rt->submit(
            {.name = "add", .place = Place::gpu(gpu)}, readwrite(x), [](View<int> v) { v[0]++; }, cuda([](Stream) {}));
    };
    for (int round = 0; round < 50; ++round) {
        memory[0] = 10 * round;
        add_on(round % 2);
        add_on(1);
        rt->wait();
        REQUIRE(memory[0] == 10 * round + 2);
    }
    int seen = 0;
    const auto look = [&] {
        rt->submit(
            {.place = Place::gpu(0)}, read(x), [&](View<const int> v) { seen = v[0]; }, cuda([](Stream) {}));
        rt->wait();
        return seen;
    };
    CHECK(look() == 492);
    memory[0] = -1;  // also where the GPU had only read it
    CHECK(look() == -1);
    CHECK(x.host_view()[0] == -1);
}

TEST_CASE("parts of a wrapped array that cores and GPUs write are all home after wait()", "[sanitize]") {
    const Watchdog watchdog;
    const auto rt = DeviceSetting{.gpus = 1}.runtime();
    std::vector<int> memory(6, 0);
    std::vector<int> later(6, 0);
    auto x = Array<int>::wrap(*rt, memory.data(), 6);
    const auto add = [](View<int> v) {
        for (Index i = 0; i < v.size(); ++i) ++v[i];
    };
    for (int round = 1; round <= 5; ++round) {
        rt->submit({.place = Place::gpu(0)}, readwrite(x.rows(0, 3)), add, cuda([](Stream) {}));
        rt->submit({.place = Place::cpu()}, readwrite(x.rows(3, 6)), add);
        rt->submit({.place = Place::gpu(0)}, readwrite(x.rows(2, 4)), add, cuda([](Stream) {}));
        rt->wait();
        REQUIRE(memory == std::vector<int>{round, round, 2 * round, 2 * round, round, round});
    }
    {
        auto y = Array<int>::wrap(*rt, later.data(), 6);
        rt->submit({.place = Place::gpu(0)}, readwrite(y), add, cuda([](Stream) {}));
    }
    CHECK(later[5] == 1);
    rt->wait();
}
