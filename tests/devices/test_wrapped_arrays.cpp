// Arrays of the user's own memory that tasks on GPUs use: between wait() and the next submission they are the user's.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/gate.hpp"
#include "tests/common/mentions.hpp"
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

namespace {

/// A graph writes 42 to a wrapped array on GPU 0, and then something fails there: the GPU in another graph's kernel, or
/// the copy home.
struct LostArray {
    explicit LostArray(bool copy_fails) {
        Emulation emulation;
        (copy_fails ? emulation.failing_copy : emulation.failing_kernel) = copy_fails ? 1 : 2;
        emulation.failures_are_sticky = !copy_fails;
        runtime = DeviceSetting{.emulation = emulation}.runtime();
        x = Array<int>::wrap(*runtime, memory.data(), 4, "mine");
        a.emplace(*runtime);
        b.emplace(*runtime);
        const auto set = [](View<int> v) { v[0] = 42; };
        const auto none = cuda([](Stream) {});
        const TaskHandle written = a->submit({.name = "set", .place = Place::gpu(0)}, write(x), set, none);
        basalt_tests::comes_true([&] { return written.done(); });
        if (copy_fails) return;
        Array<int> other(*runtime, 4);
        const TaskHandle failed = b->submit({.name = "fail", .place = Place::gpu(0)}, write(other), set, none);
        basalt_tests::comes_true([&] { return failed.done(); });
    }

    std::vector<int> memory = std::vector<int>(4, 1);
    std::unique_ptr<Runtime> runtime;
    Array<int> x;
    std::optional<Graph> a, b;
};

/// What wait() throws; empty: nothing.
std::string error_of_wait(Graph& graph) {
    try {
        graph.wait();
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("a wait tells that a wrapped array did not get its contents, whichever graph waits first", "[sanitize]") {
    const Watchdog watchdog;
    for (const bool copy_fails : {false, true}) {
        for (const bool own_graph_first : {true, false}) {
            INFO((copy_fails ? "copy" : "kernel") << (own_graph_first ? ", own graph first" : ", other graph first"));
            LostArray lost(copy_fails);
            Graph& first = own_graph_first ? *lost.a : *lost.b;
            Graph& second = own_graph_first ? *lost.b : *lost.a;
            const std::string one = error_of_wait(first), two = error_of_wait(second);
            CHECK(!one.empty());
            CHECK(!two.empty());
            CHECK(basalt_tests::mentions(own_graph_first ? one : two, "mine"));
            CHECK(lost.memory[0] == 1);
            Graph later(*lost.runtime);
            CHECK(error_of_wait(later).empty());
            for (Graph* graph : {&*lost.a, &*lost.b}) {  // each is told once
                error_of_wait(*graph);
                CHECK(error_of_wait(*graph).empty());
            }
        }
    }
}

TEST_CASE("the runtime's own wait tells of wrapped arrays that did not get their contents") {
    const Watchdog watchdog;
    LostArray lost(false);
    std::string text;
    try {
        lost.runtime->wait();
    } catch (const DataError& error) {
        text = error.what();
    }
    CHECK(basalt_tests::mentions(text, "the memory of 'mine' does not hold its contents"));
    CHECK_THROWS_AS(lost.x.host_view(), Error);
}
