// Statistics of tasks by name.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/runtime.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"

using namespace basalt;
using namespace std::chrono_literals;
using basalt_tests::small_machine;
using basalt_tests::Watchdog;

namespace {

Config measured(int gpus = 0) {
    Config config = small_machine(gpus);
    config.statistics = true;
    return config;
}

TaskStatistics of(const Runtime& rt, const std::string& name) {
    const std::vector<TaskStatistics> names = rt.statistics().by_name;
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& s) { return s.name == name; });
    REQUIRE(found != names.end());
    return *found;
}

}  // namespace

TEST_CASE("tasks are counted and timed by name") {
    const Watchdog watchdog;
    Runtime rt(measured());
    for (int i = 0; i < 20; ++i) rt.submit({.name = "short"}, [] {});
    for (int i = 0; i < 3; ++i) {
        rt.submit({.name = TaskName::intern("long")}, [i] { std::this_thread::sleep_for((i + 1) * 2ms); });
    }
    rt.submit({.name = "gang", .threads = {2, 2}}, [](const Team&) {});
    rt.wait();
    const std::vector<TaskStatistics> names = rt.statistics().by_name;
    REQUIRE(names.size() == 3);
    CHECK(std::is_sorted(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
    CHECK(of(rt, "short").count == 20);
    CHECK(of(rt, "gang").count == 1);
    const TaskStatistics statistics = of(rt, "long");
    CHECK(statistics.count == 3);
    CHECK(statistics.failed == 0);
    CHECK(statistics.cancelled == 0);
    CHECK(statistics.min_seconds >= 0.002);
    CHECK(statistics.max_seconds >= 0.006);
    CHECK(statistics.total_seconds >= 0.012);
    CHECK(statistics.mean_seconds() == Approx(statistics.total_seconds / 3));
    CHECK(statistics.cores.count == 3);
    CHECK(statistics.cores.seconds == Approx(statistics.total_seconds));
    CHECK(statistics.gpus.empty());
    CHECK(Runtime(small_machine()).statistics().by_name.empty());
}

TEST_CASE("the time of a task is without that of tasks that ran while it waited") {
    const Watchdog watchdog;
    Config config = measured();
    config.workers = 1;
    Runtime rt(config);
    rt.submit({.name = "parent"}, [&] {
        for (int i = 0; i < 4; ++i) rt.submit({.name = "child"}, [] { std::this_thread::sleep_for(20ms); });
        rt.wait();
    });
    rt.wait();
    CHECK(of(rt, "child").total_seconds >= 0.08);
    CHECK(of(rt, "parent").total_seconds < of(rt, "child").total_seconds / 2);
}

TEST_CASE("failed and cancelled tasks are counted, and GPUs apart", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(measured(2));
    Array<int> x(rt, 1), y(rt, 1);
    const auto nothing = [](View<int>) {};
    for (int i = 0; i < 3; ++i) {
        rt.submit({.name = "both", .place = Place::gpu(i % 2)}, readwrite(x), nothing, cuda([](Stream) {}));
    }
    rt.submit({.name = "both", .place = Place::cpu()}, readwrite(x), nothing, cuda([](Stream) {}));
    rt.wait();
    const TaskStatistics both = of(rt, "both");
    CHECK(both.count == 4);
    CHECK(both.cores.count == 1);
    REQUIRE(both.gpus.size() == 2);
    CHECK(both.gpus[0].count == 2);
    CHECK(both.gpus[1].count == 1);
    CHECK(both.cores.seconds + both.gpus[0].seconds + both.gpus[1].seconds == Approx(both.total_seconds));

    Graph graph(rt);
    const int device = GENERATE(0, 1);
    const Place place = device == 1 ? Place::gpu(0) : Place::cpu();
    const auto bad = [](View<int>) { throw std::runtime_error("no"); };
    graph.submit({.name = "bad", .place = place}, write(y), bad, cuda([](Stream) {}));
    graph.submit({.name = "after it", .place = place}, readwrite(y), nothing, cuda([](Stream) {}));
    CHECK_THROWS_AS(graph.wait(), TaskError);
    CHECK(of(rt, "bad").failed == 1);
    CHECK(of(rt, "bad").count == 1);
    if (device == 0) {  // a device may have begun with it before its predecessor is known to have failed
        CHECK(of(rt, "after it").count == 0);
        CHECK(of(rt, "after it").cancelled == 1);
    }
}

TEST_CASE("statistics may be asked for while tasks run", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(measured());
    std::thread reader([&] {
        for (int i = 0; i < 200; ++i) {
            for (const TaskStatistics& statistics : rt.statistics().by_name) {
                if (statistics.count > 0 && statistics.min_seconds > statistics.max_seconds) std::abort();
            }
        }
    });
    for (int i = 0; i < 5000; ++i) rt.submit({.name = i % 2 == 0 ? TaskName("even") : TaskName("odd")}, [] {});
    rt.wait();
    reader.join();
    CHECK(of(rt, "even").count == 2500);
    CHECK(of(rt, "odd").count == 2500);
}
