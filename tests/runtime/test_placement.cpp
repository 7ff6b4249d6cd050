// Which place a policy chooses, with given times: what the plan expects, what models make of measured times, and what
// the library's policies and those of a program choose. Nothing here depends on a clock.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "basalt/policy.hpp"
#include "basalt/runtime.hpp"
#include "runtime/placement/place_chooser.hpp"
#include "runtime/placement/place_plan.hpp"
#include "runtime/placement/task_models.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"

using namespace basalt;
using namespace basalt::detail;
using basalt_tests::error_of;
using basalt_tests::mentions;
using basalt_tests::small_machine;

namespace {

constexpr Node cores = host_node, fast = 1, slow = 2;
constexpr PlannedCopy there{};

PlaceOffer offer(Place place, double free_in, double data_in, std::optional<double> seconds, std::size_t tried = 1) {
    PlaceOffer made;
    made.place = place;
    made.free_in = free_in;
    made.data_in = data_in;
    made.seconds = seconds;
    made.tried = tried;
    return made;
}

std::size_t choice(const std::string& policy, const std::vector<PlaceOffer>& offers) {
    return make_policy(policy)->choose({"task", 0, 0, offers});
}

/// A machine with four cores, a GPU, and one of half its speed, whose tasks take exactly the times given. Tasks are
/// submitted at time 0, chosen by heft, and run as the plan says.
class Simulation {
  public:
    /// Seconds on the cores, on the fast GPU and on the slow one.
    using Times = std::array<double, 3>;

    /// Returns the node. `after`: when its data are ready, `copies`: nanoseconds of copying for each node.
    Node submit(const Times& seconds, PlacePlan::Time after = 0, std::array<PlacePlan::Time, 3> copies = {}) {
        std::vector<PlaceOffer> offers;
        const auto copy = [&](Node node) {
            return PlannedCopy{after, copies[static_cast<std::size_t>(node)], node == slow ? 1 : 0};
        };
        for (const Node node : {cores, fast, slow}) {
            const PlannedCopy needed = copy(node);
            const Place place = node == cores ? Place::cpu() : Place::gpu(node - 1);
            offers.push_back(offer(place, 1e-9 * static_cast<double>(plan_.free_at(node, 0)),
                                   1e-9 * static_cast<double>(plan_.data_at({&needed, 1}, 0)),
                                   seconds[static_cast<std::size_t>(node)]));
        }
        const auto node = static_cast<Node>(choice("heft", offers));
        const PlannedCopy needed = copy(node);
        const auto duration = static_cast<PlacePlan::Time>(seconds[static_cast<std::size_t>(node)] * 1e9);
        last_finish_ = plan_.add(node, {&needed, 1}, duration, 0).finish;
        end_ = std::max(end_, last_finish_);
        return node;
    }
    PlacePlan::Time last_finish() const { return last_finish_; }
    double seconds() const { return 1e-9 * static_cast<double>(end_); }

  private:
    PlacePlan plan_{{4, 1, 1}};
    PlacePlan::Time last_finish_ = 0;
    PlacePlan::Time end_ = 0;
};

}  // namespace

TEST_CASE("a plan puts each task behind the others and behind its data") {
    PlacePlan plan({2, 1});
    CHECK(plan.idle());
    CHECK(plan.add(cores, {&there, 1}, 10, 100).finish == 110);
    CHECK(plan.free_at(cores, 100) == 100);  // the other core
    CHECK(plan.add(cores, {&there, 1}, 30, 100).finish == 130);
    CHECK(plan.free_at(cores, 100) == 110);
    // copies of one link follow each other, and overlap with what runs
    const std::array<PlannedCopy, 2> copies{PlannedCopy{105, 7, 0}, PlannedCopy{0, 3, 0}};
    CHECK(plan.data_at(copies, 100) == 115);
    CHECK(plan.add(fast, copies, 5, 100).finish == 120);
    CHECK(plan.data_at(copies, 100) == 125);
    CHECK(plan.queued(cores) == 2);
    CHECK_FALSE(plan.idle());
}

TEST_CASE("a plan moves by what its processor is behind or ahead", "[sanitize]") {
    PlacePlan plan({1});
    std::vector<PlacePlan::Time> shares;
    for (int i = 0; i < 10; ++i) shares.push_back(plan.add(cores, {&there, 1}, 100, 0).share);
    CHECK(plan.free_at(cores, 0) == 1000);
    // at 200, eight are through: two are left
    for (int i = 0; i < 8; ++i) plan.leave(cores, shares[static_cast<std::size_t>(i)]);
    CHECK(plan.free_at(cores, 200) == 400);
    // at 10000 those have not completed: one runs, the other one is still to come
    CHECK(plan.free_at(cores, 10'000) == 10'100);
    plan.leave(cores, shares[8]);
    plan.leave(cores, shares[9]);
    CHECK(plan.free_at(cores, 10'000) == 10'000);
    CHECK(plan.idle());
}

TEST_CASE("heft chooses the earliest finish: the queue, the data and the kernel's time") {
    const Place cpu = Place::cpu(), gpu = Place::gpu(0);
    CHECK(choice("heft", {offer(cpu, 0, 0, 5.0), offer(gpu, 0, 0, 1.0)}) == 1);
    CHECK(choice("heft", {offer(cpu, 0, 0, 5.0), offer(gpu, 4.5, 0, 1.0)}) == 0);    // the queue
    CHECK(choice("heft", {offer(cpu, 0, 0, 5.0), offer(gpu, 0, 4.5, 1.0)}) == 0);    // the copies
    CHECK(choice("heft", {offer(cpu, 0, 0, 5.0), offer(gpu, 3.5, 3.5, 1.0)}) == 1);  // both at the same time
    CHECK(choice("heft", {offer(cpu, 9, 9, 5.0), offer(gpu, 8, 9, 1.0), offer(Place::gpu(1), 0, 9, 0.5)}) == 2);
    // equal: where the data are
    PlaceOffer owner = offer(gpu, 0, 0, 1.0);
    owner.bytes_there = 1;
    CHECK(choice("heft", {offer(cpu, 0, 0, 1.0), owner}) == 1);
}

TEST_CASE("heft tries each kind of processor once, and until it knows the times goes to the GPUs") {
    const auto unknown = std::nullopt;
    const Place cpu = Place::cpu(), gpu = Place::gpu(0), other = Place::gpu(1);
    CHECK(choice("heft", {offer(cpu, 0, 0, unknown, 0), offer(gpu, 0, 0, unknown, 0)}) == 0);
    CHECK(choice("heft", {offer(cpu, 0, 0, unknown), offer(gpu, 0, 0, unknown, 0)}) == 1);
    CHECK(choice("heft", {offer(cpu, 0, 0, 1.0), offer(gpu, 9, 9, unknown, 0)}) == 1);
    CHECK(choice("heft", {offer(cpu, 0, 0, unknown), offer(gpu, 2, 0, unknown), offer(other, 1, 0, unknown)}) == 2);
    CHECK(choice("heft", {offer(cpu, 0, 0, 1.0), offer(gpu, 2, 0, 7.0), offer(other, 1, 0, unknown)}) == 2);
    CHECK(choice("heft", {offer(cpu, 0, 0, unknown)}) == 0);
}

TEST_CASE("heft in simulated time: kinds of tasks go where they are fast, and none is idle", "[sanitize]") {
    Simulation run;
    std::array<int, 3> products{}, panels{};
    // products are 8 times as fast on the fast GPU as on a core, panels 4 times slower
    for (int i = 0; i < 120; ++i) {
        ++products[static_cast<std::size_t>(run.submit({8, 1, 2}))];
        if (i % 4 == 0) ++panels[static_cast<std::size_t>(run.submit({1, 4, 8}))];
    }
    CHECK(panels[cores] == 30);
    CHECK(products[fast] > products[slow]);
    CHECK(products[slow] > products[cores]);
    CHECK(products[cores] > 0);
    // together they do 1 + 1/2 + 4/8 products a second, and the panels take from the cores what 30/8 products would
    const double least = (120 + 30.0 / 8) / 2;
    CHECK(run.seconds() >= least);
    CHECK(run.seconds() <= 1.1 * least);
}

TEST_CASE("heft in simulated time: a chain stays where its data are unless the kernel gains more than the copy") {
    Simulation run;
    // a step takes 2 seconds on a core, 1 on the GPU; moving costs 3
    for (int step = 0; step < 5; ++step)
        CHECK(run.submit({2, 1, 2}, run.last_finish(), {0, 3'000'000'000, 3'000'000'000}) == cores);
    CHECK(run.submit({9, 1, 2}, run.last_finish(), {0, 3'000'000'000, 3'000'000'000}) == fast);
    CHECK(run.submit({2, 1, 2}, run.last_finish(), {3'000'000'000, 0, 3'000'000'000}) == fast);
}

TEST_CASE("owner goes where most of what a task writes is") {
    PlaceOffer cpu{.place = Place::cpu(), .bytes_there = 100, .written_bytes_there = 10};
    PlaceOffer gpu{.place = Place::gpu(0), .bytes_there = 50, .written_bytes_there = 20};
    CHECK(choice("owner", {cpu, gpu}) == 1);
    cpu.written_bytes_there = 20;
    CHECK(choice("owner", {cpu, gpu}) == 0);  // of equals, where most of all data are
    gpu.bytes_there = 100;
    CHECK(choice("owner", {cpu, gpu}) == 0);
}

TEST_CASE("a learnt time is a median without the first run") {
    LearntTimes times;
    CHECK(times.seconds() == 0);
    times.add(50);  // warms up
    CHECK(times.seconds() == 50);
    times.add(1);
    CHECK(times.seconds() == 1);
    for (const double seconds : {1.1, 90.0, 1.2, 80.0, 1.3}) times.add(seconds);
    CHECK(times.seconds() == 1.2);
    for (std::size_t i = 0; i < LearntTimes::most; ++i) times.add(3);  // the machine has become slower
    CHECK(times.seconds() == 3);
    times.add(0);
    CHECK(times.kept().size() == LearntTimes::most);
    CHECK(times.kept().back() > 0);
}

TEST_CASE("times are learnt by name, size and kind of processor; sizes near measured ones are estimated") {
    TaskModels models({"cores", "a GPU"});
    const auto seconds = [&](const char* name, std::uint64_t size, std::size_t kind) {
        return TaskModels::seconds(models.find(name, size), size, kind).value_or(0);
    };
    const auto learn = [&](const char* name, std::uint64_t size, std::size_t kind, double time) {
        models.find(name, size).model.kinds[kind].restore({time});
    };
    CHECK(seconds("update", 1000, 0) == 0);
    learn("update", 1000, 0, 2.0);
    CHECK(seconds("update", 1000, 0) == 2.0);
    CHECK(seconds("update", 1010, 0) == 2.0);
    CHECK(seconds("update", 1000, 1) == 0);
    CHECK(seconds("panel", 1000, 0) == 0);
    CHECK(seconds("update", 1200, 0) == Approx(2.4));
    CHECK(seconds("update", 850, 0) == Approx(1.7));
    CHECK(seconds("update", 2000, 0) == 0);
    learn("update", 4000, 0, 32.0);
    CHECK(seconds("update", 2000, 0) == Approx(8.0));  // it grows with the square
    CHECK(seconds("update", 9000, 0) == 0);
    learn("nothing", 0, 1, 1e-6);
    CHECK(seconds("nothing", 0, 1) == 1e-6);

    TaskModels later({"a GPU", "cores"});  // other numbers for the same kinds
    later.restore(models.runs());
    CHECK(TaskModels::seconds(later.find("update", 4000), 4000, 1) == 32.0);
    CHECK(TaskModels::seconds(later.find("nothing", 0), 0, 0) == 1e-6);
    CHECK_FALSE(TaskModels::seconds(later.find("update", 4000), 4000, 0));
}

TEST_CASE("policies have names; those that do not exist are refused, with and without GPUs") {
    const auto names = policy_names();
    REQUIRE(names.size() >= 3);
    CHECK(std::vector<std::string>(names.begin(), names.begin() + 3) ==
          std::vector<std::string>{"gpu", "heft", "owner"});
    for (const int gpus : {0, 1}) {
        Config config = small_machine(gpus);
        config.policy = "lottery";
        const std::string text = error_of<UsageError>([&] { const Runtime runtime(config); });
        CHECK(mentions(text, "lottery"));
        CHECK(mentions(text, "gpu, heft, owner"));
    }
    CHECK(mentions(error_of<UsageError>([] { register_policy("", [] { return nullptr; }); }), "empty"));
    CHECK(
        mentions(error_of<UsageError>([] { register_policy("none", nullptr); }), "factory of policy 'none' is empty"));
    CHECK(mentions(error_of<UsageError>([] { register_policy("heft", [] { return nullptr; }); }), "'heft' already"));
    register_policy("void", [] { return nullptr; });
    Config config = small_machine(1);
    config.policy = "void";
    CHECK(mentions(error_of<UsageError>([&] { const Runtime runtime(config); }), "'void' returns none"));
}
