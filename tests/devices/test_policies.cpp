// Policies that choose the places of tasks, in a runtime with emulated GPUs: their input, the questions they get, and
// that data are right wherever tasks run.
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/policy.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "base/machine.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/temporary_folder.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/devices/device_tasks.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::Random;
using basalt_tests::small_machine;
using basalt_tests::user_kernel;
using basalt_tests::Watchdog;

namespace {

/// A task as the policy of a test saw it.
struct Seen {
    std::string name;
    std::uint64_t size;
    std::vector<PlaceOffer> offers;
};

/// The policy "test", whose answers and wishes each test sets before it makes a runtime.
class TestPolicy final : public Policy {
  public:
    static inline Observed wants = Observed::none;
    static inline std::function<std::size_t(const TaskToPlace&)> answer;
    static inline std::vector<Seen> seen;

    static Config config(Observed observed, std::function<std::size_t(const TaskToPlace&)> chooses, int gpus = 2) {
        [[maybe_unused]] static const bool once = [] {
            register_policy("test", [] { return std::make_unique<TestPolicy>(); });
            return true;
        }();
        wants = observed;
        answer = std::move(chooses);
        seen.clear();
        Config config = small_machine(gpus);
        config.policy = "test";
        return config;
    }

    Observed observed() const override { return wants; }
    std::size_t choose(const TaskToPlace& task) override {
        seen.push_back({task.name, task.size, {task.offers.begin(), task.offers.end()}});
        return answer(task);
    }
};

constexpr int on_cores = -1;

/// Where the last task submitted by one of the functions below ran, after wait(): on_cores, or the GPU's number.
std::atomic<int> ran_on{-2};

auto told_by_cores() {
    return [](View<double> x) {
        ran_on = on_cores;
        x[0] += 1;
    };
}

auto told_by_gpus() {
    return cuda([](Stream, View<double>) {});
}

/// A task that adds 1 to x[0] and says where.
void submit_adding(Runtime& rt, Array<double>& x, const TaskOptions& options) {
    rt.submit(options, readwrite(x), told_by_cores(), user_kernel([](Stream stream, View<double> x) {
                  ran_on = stream.device();
                  x[0] += 1;
              }));
}

int where(Runtime& rt, Array<double>& x, const TaskOptions& options) {
    submit_adding(rt, x, options);
    rt.wait();
    return ran_on;
}

std::size_t last(const TaskToPlace& task) { return task.offers.size() - 1; }

}  // namespace

TEST_CASE("a policy of the program's own chooses among the places for which a task has a kernel") {
    std::size_t wanted = 0;
    Runtime rt(TestPolicy::config(Observed::none, [&](const TaskToPlace&) { return wanted; }));
    Array<double> x(rt, 100);
    x.host_view()[0] = 0;
    CHECK(where(rt, x, {.name = "first"}) == on_cores);
    wanted = 2;
    CHECK(where(rt, x, {.name = "second", .size = 7}) == 1);
    wanted = 1;
    CHECK(where(rt, x, {.name = "third"}) == 0);
    CHECK(x.host_view()[0] == 3);

    REQUIRE(TestPolicy::seen.size() == 3);
    const Seen& second = TestPolicy::seen[1];
    CHECK(second.name == "second");
    CHECK(second.size == 7);
    CHECK(TestPolicy::seen[0].size == 800);
    REQUIRE(second.offers.size() == 3);
    CHECK(second.offers[0].place == Place::cpu());
    CHECK(second.offers[2].place == Place::gpu(1));
    CHECK(second.offers[0].written_bytes_there == 800);
    CHECK(second.offers[2].bytes_there == 0);
    CHECK(TestPolicy::seen[2].offers[2].bytes_there == 800);
    CHECK(TestPolicy::seen[2].offers[0].bytes_there == 0);
}

TEST_CASE("a policy is asked where there is a choice, and about every task if it observes all") {
    const auto observed = GENERATE(Observed::none, Observed::choices, Observed::all);
    Runtime rt(TestPolicy::config(observed, last));
    Array<double> x(rt, 100);
    submit_adding(rt, x, {.name = "placed on a GPU", .place = Place::gpu(1)});
    submit_adding(rt, x, {.name = "placed on cores", .place = Place::cpu()});
    rt.submit({.name = "no cuda kernel"}, readwrite(x), [](View<double>) {});
    rt.submit({.name = "a gang", .threads = {1, 2}}, [](const Team&) {});
    CHECK(TestPolicy::seen.size() == (observed == Observed::all ? 4 : 0));
    for (const Seen& seen : TestPolicy::seen) CHECK(seen.offers.size() == 1);
    submit_adding(rt, x, {.name = "any"});
    rt.submit({.name = "parent"}, [&rt] {
        rt.submit(
            {.name = "child"}, [] {}, cuda([](Stream) {}));
    });
    rt.wait();
    CHECK(TestPolicy::seen.size() == (observed == Observed::all ? 6 : 1));
}

TEST_CASE("what a policy throws leaves submit, as does an offer that does not exist") {
    std::size_t wanted = 3;
    Runtime rt(TestPolicy::config(Observed::all, [&](const TaskToPlace&) -> std::size_t {
        if (wanted == 4) throw std::runtime_error("no idea");
        return wanted;
    }));
    Array<double> x(rt, 10);
    x.host_view()[0] = 0;
    CHECK(error_of<UsageError>([&] { submit_adding(rt, x, {.name = "add"}); }) ==
          "policy 'test' chooses offer 3 for task 'add'; allowed is 0 to 2");
    wanted = 4;
    CHECK_THROWS_AS(submit_adding(rt, x, {.name = "add"}), std::runtime_error);
    wanted = 1;
    CHECK(where(rt, x, {.name = "add"}) == 0);
    CHECK(x.host_view()[0] == 1);
}

TEST_CASE("a policy may not use the runtime", "[sanitize]") {
    const Watchdog watchdog;
    Runtime* runtime = nullptr;
    Array<double>* other = nullptr;
    std::vector<std::string> refused;
    Runtime rt(TestPolicy::config(Observed::all, [&](const TaskToPlace&) -> std::size_t {
        refused = {error_of<UsageError>([&] { runtime->submit({}, [] {}); }),
                   error_of<UsageError>([&] { runtime->wait(); }), error_of<UsageError>([&] { other->host_view(); })};
        return 1;
    }));
    Array<double> x(rt, 10);
    Array<double> y(rt, 10);
    runtime = &rt;
    other = &y;
    CHECK(where(rt, x, {.name = "add"}) == 0);
    CHECK(refused.size() == 3);
    for (const std::string& why : refused) CHECK(mentions(why, "'add'"));
}

TEST_CASE("a policy that observes tasks sees queues and learnt times", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(TestPolicy::config(Observed::choices, last, 1));
    Array<double> x(rt, 10);
    std::atomic<bool> go{false};
    const auto wait_for_go = [&go](View<double>) { go.wait(false); };
    for (int i = 0; i < 3; ++i) {
        rt.submit({.name = "held"}, readwrite(x), wait_for_go,
                  user_kernel([wait_for_go](Stream, View<double> x) { wait_for_go(x); }));
    }
    REQUIRE(TestPolicy::seen.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto& offers = TestPolicy::seen[i].offers;
        CHECK(offers[1].queued == i);
        CHECK(offers[1].tried == i);
        CHECK_FALSE(offers[1].seconds);
        CHECK(offers[0].queued == 0);
        CHECK(offers[0].at_once == 2);
        CHECK((offers[1].copy_seconds > 0) == (i == 0));
    }
    go = true;
    go.notify_all();
    rt.wait();
    submit_adding(rt, x, {.name = "held"});
    const auto& offers = TestPolicy::seen.back().offers;
    CHECK(offers[1].queued == 0);
    CHECK(offers[1].seconds.value_or(0) > 0);
    CHECK_FALSE(offers[0].seconds);
    rt.wait();
}

TEST_CASE("tasks that fail, or never run, leave the queue and tell no time", "[sanitize]") {
    const Watchdog watchdog;
    Runtime rt(TestPolicy::config(Observed::all, last, 1));
    Array<double> x(rt, 10), y(rt, 10);
    const auto fail = [](View<double>) { throw std::runtime_error("failed"); };
    rt.submit({.name = "failing", .place = Place::cpu()}, readwrite(x), fail, told_by_gpus());
    for (int i = 0; i < 100; ++i) submit_adding(rt, x, {.name = "dropped"});
    CHECK_THROWS_AS(rt.wait(), TaskError);
    x.host_overwrite();
    submit_adding(rt, y, {.name = "failing", .place = Place::cpu()});
    submit_adding(rt, y, {.name = "dropped"});
    const auto size = TestPolicy::seen.size();
    const PlaceOffer& failed = TestPolicy::seen[size - 2].offers[0];
    CHECK(failed.queued == 0);
    CHECK(failed.tried == 0);
    CHECK_FALSE(failed.seconds);
    for (const PlaceOffer& dropped : TestPolicy::seen[size - 1].offers) {
        CHECK(dropped.tried == 0);
        CHECK_FALSE(dropped.seconds);
    }
    rt.wait();
}

TEST_CASE("a GPU that is too small for a task's data is not offered") {
    Config config = TestPolicy::config(Observed::none, last, 1);
    config.gpu_memory = std::size_t{1} << 20;
    config.emulation.memory = config.gpu_memory;
    Runtime rt(config);
    Array<double> small(rt, 100), large(rt, Index{1} << 20);
    CHECK(where(rt, large, {.name = "large"}) == on_cores);
    CHECK(where(rt, small, {.name = "small"}) == 0);
    REQUIRE(TestPolicy::seen.size() == 1);  // for the large one there was no choice
    CHECK(TestPolicy::seen.front().offers.size() == 2);
    const auto gpu_alone = [&] {
        rt.submit({.name = "gpu alone"}, readwrite(large), user_kernel([](Stream, View<double>) {}));
    };
    CHECK(mentions(error_of<DeviceError>(gpu_alone), "needs 8388608 bytes of gpu 0 at once"));
}

TEST_CASE("heft goes by the times of the models' file, and adds what it has learnt") {
    const basalt_tests::TemporaryFolder folder;
    Config config = small_machine(2);
    config.policy = "heft";
    config.models = folder.path("models.json");
    config.emulation.slowness = {1, 3};
    const RunMachine machine{cpu_model(), 1, {}};
    {
        Runtime rt(config);
        CHECK(rt.devices()[0].model != rt.devices()[1].model);
        Array<double> x(rt, 100);
        for (int i = 0; i < 6; ++i) submit_adding(rt, x, {.name = "add"});
        rt.wait();
    }
    const std::vector<TaskRuns> learnt = RunModels(config.models).task_runs(machine);
    CHECK(learnt.size() >= 2);
    for (const TaskRuns& runs : learnt) {
        CHECK(runs.task == "add");
        CHECK(runs.size == 800);
        CHECK_FALSE(runs.seconds.empty());
    }
    const std::vector<std::string> processors{"cores", "emulated GPU", "emulated GPU, 3 times slower"};
    for (int fastest = 0; fastest < 3; ++fastest) {
        std::vector<TaskRuns> runs;
        for (int i = 0; i < 3; ++i)
            runs.push_back({"add", 800, processors[static_cast<std::size_t>(i)], {i == fastest ? 1e-3 : 100}});
        RunModels(config.models).record_tasks(machine, runs);
        Runtime rt(config);
        Array<double> x(rt, 100);
        CHECK(where(rt, x, {.name = "add"}) == fastest - 1);
    }
}

TEST_CASE("heft runs an unknown task once on each kind of processor") {
    Config config = small_machine(2);
    config.policy = "heft";
    config.emulation.slowness = {1, 2};
    Runtime rt(config);
    Array<double> x(rt, 100);
    for (const int expected : {on_cores, 0, 1}) CHECK(where(rt, x, {.name = "unknown"}) == expected);

    Config alike = small_machine(2);
    alike.policy = "heft";
    Runtime two(alike);
    Array<double> y(two, 100);
    for (const int expected : {on_cores, 0}) CHECK(where(two, y, {.name = "unknown"}) == expected);
}

TEST_CASE("owner computes where the data are, and leaves them there") {
    Config config = small_machine(2);
    config.policy = "owner";
    Runtime rt(config);
    Array<double> x(rt, 100), y(rt, 100);
    CHECK(where(rt, x, {.name = "at home"}) == on_cores);
    CHECK(where(rt, x, {.name = "sent", .place = Place::gpu(1)}) == 1);
    CHECK(where(rt, x, {.name = "stays"}) == 1);
    CHECK(where(rt, y, {.name = "at home"}) == on_cores);
}

TEST_CASE("emulated GPUs that are slower than each other are refused where that cannot be") {
    const auto refused = [](std::vector<double> slowness, double rate) {
        Config config = small_machine(2);
        config.emulation.slowness = std::move(slowness);
        config.emulation.link_bytes_a_second = rate;
        return error_of<UsageError>([&] { const Runtime rt(config); });
    };
    CHECK(refused({1, 2.5}, 1e6) == "nothing was thrown");
    CHECK(mentions(refused({1}, 0), "slowness has 1 numbers; allowed is none, or one for each of the 2 GPUs"));
    CHECK(mentions(refused({1, 0.5}, 0), "slowness = 0.5"));
    CHECK(mentions(refused({}, -1), "link_bytes_a_second = -1"));
}

TEST_CASE("results are right wherever a policy has tasks run", "[sanitize]") {
    const std::string policy = GENERATE("heft", "owner", "gpu", "test");
    CAPTURE(policy);
    const Watchdog watchdog;
    Random places(3);
    Config config = TestPolicy::config(Observed::all, [&](const TaskToPlace& task) {
        return static_cast<std::size_t>(places.between(0, static_cast<int>(task.offers.size()) - 1));
    });
    config.policy = policy;
    config.window = 32;
    config.emulation.slowness = {1, 2};
    constexpr int arrays = 6, tasks = 400;
    std::array<double, arrays> expected{};
    Runtime rt(config);
    std::vector<Array<double>> data;
    for (int i = 0; i < arrays; ++i) {
        data.emplace_back(rt, 64);
        data.back().host_view()[0] = expected[static_cast<std::size_t>(i)] = i;
    }
    Random random(11);
    for (int i = 0; i < tasks; ++i) {
        const auto from = static_cast<std::size_t>(random.between(0, arrays - 1));
        const auto to = (from + static_cast<std::size_t>(random.between(1, arrays - 1))) % arrays;
        const auto add = [](View<const double> from, View<double> to) { to[0] = 0.5 * (from[0] + to[0]); };
        rt.submit({.name = i % 2 == 0 ? TaskName("even") : TaskName("odd"), .priority = i % 3}, read(data[from]),
                  readwrite(data[to]), add,
                  user_kernel([add](Stream, View<const double> from, View<double> to) { add(from, to); }));
        expected[to] = 0.5 * (expected[from] + expected[to]);
    }
    rt.wait();
    for (std::size_t i = 0; i < arrays; ++i) CHECK(data[i].host_view()[0] == expected[i]);
}
