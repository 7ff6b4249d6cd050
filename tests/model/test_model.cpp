// The models of models.hpp: none has a wrong schedule, and seeded mistakes are found.
#include <cstdlib>
#include <string>
#include <typeinfo>

#include "tests/common/catch.hpp"
#include "tests/model/models.hpp"

using namespace basalt_model;

namespace {

constexpr std::uint64_t sample = 20'000;
constexpr std::uint64_t soak = 1'000'000;

template <class Model>
Outcome explore(const Options& options) {
    return Checker::get().explore<Model>(options);
}

template <class Model>
void holds(std::uint64_t schedules) {
    const Outcome outcome = explore<Model>({.schedules = schedules});
    INFO(outcome.failure);
    CHECK(outcome.failure.empty());
}

/// The seeded mistake is found within CI's sample.
template <class Model>
void finds(const Weakened& weakened) {
    INFO(typeid(Model).name() << ' ' << weakened.function);
    const Outcome outcome = explore<Model>({.schedules = sample, .weakened = weakened});
    CHECK_FALSE(outcome.failure.empty());
}

template <class Model>
bool exhausted(int preemptions) {
    const Outcome outcome = explore<Model>({.schedules = 3'000'000, .preemptions = preemptions});
    INFO(outcome.failure);
    CHECK(outcome.failure.empty());
    return outcome.complete;
}

}  // namespace

// of the barrier's rounds there are too many schedules
#define BASALT_SMALL_MODELS                                                                                           \
    SpinLockModel, SchedulerModel<PriorityStealing>, SchedulerModel<Fifo>, ReplayModel, SuccessorModel, ParkingModel, \
        BrokenBarrierModel, OutsidePlaceModel, StandInModel
#define BASALT_MODELS BASALT_SMALL_MODELS, BarrierModel

TEMPLATE_TEST_CASE("a sample of schedules is right", "[model]", BASALT_MODELS) { holds<TestType>(sample); }

TEMPLATE_TEST_CASE("a million schedules are right", "[.soak]", BASALT_MODELS) { holds<TestType>(soak); }

TEMPLATE_TEST_CASE("all schedules with one preemption are right", "[model]", BASALT_SMALL_MODELS) {
    CHECK(exhausted<TestType>(1));
}

TEMPLATE_TEST_CASE("all schedules with two preemptions are right", "[.soak]", BASALT_SMALL_MODELS) {
    CHECK(exhausted<TestType>(2));
}

TEST_CASE("a failing schedule runs again from its seed", "[model]") {
    const Options options{.schedules = sample, .weakened = Weakened{"ParkingLot::anyone_parked", Access::fence}};
    const std::string failure = explore<ParkingModel>(options).failure;
    CHECK(failure.find("deadlock") == 0);
    const std::string name = "BASALT_MODEL_SEED=";
    const std::size_t seed = failure.find(name);
    REQUIRE(seed != std::string::npos);
    const std::size_t begin = seed + name.size();
    setenv("BASALT_MODEL_SEED", failure.substr(begin, failure.find('\n', begin) - begin).c_str(), 1);
    const std::string again = explore<ParkingModel>(options).failure;
    unsetenv("BASALT_MODEL_SEED");
    CHECK(again == failure);
}

TEST_CASE("the checker allows what weak memory allows and nothing that C++ forbids", "[model]") {
    using std::memory_order_acquire;
    using std::memory_order_release;
    using std::memory_order_seq_cst;
    CHECK_FALSE(explore<StoreBuffering<relaxed, false>>({.preemptions = 4}).failure.empty());
    CHECK(exhausted<StoreBuffering<relaxed, true>>(4));
    CHECK(exhausted<StoreBuffering<memory_order_seq_cst, false>>(4));
    CHECK(exhausted<MessagePassing<memory_order_release, memory_order_acquire>>(4));
    CHECK_FALSE(explore<MessagePassing<relaxed, memory_order_acquire>>({.preemptions = 4}).failure.empty());
    CHECK_FALSE(explore<MessagePassing<memory_order_release, relaxed>>({.preemptions = 4}).failure.empty());
}

TEST_CASE("a seeded wrong memory order is found", "[model]") {
    finds<SpinLockModel>({"SpinLock::unlock", Access::store});
    finds<SpinLockModel>({"SpinLock::lock", Access::rmw});
    finds<SpinLockModel>({"SpinLock::try_lock", Access::rmw});
    finds<SchedulerModel<PriorityStealing>>({"SpinLock::unlock", Access::store});
    finds<SchedulerModel<Fifo>>({"SpinLock::unlock", Access::store});
    finds<ReplayModel>({"SpinLock::lock", Access::rmw});
    finds<SuccessorModel>({"Task::push_edge", Access::rmw});
    finds<SuccessorModel>({"Task::push_edge", Access::failed_compare});
    finds<SuccessorModel>({"Task::close_successors", Access::rmw, std::memory_order_acquire});
    finds<SuccessorModel>({"Task::close_successors", Access::rmw, std::memory_order_release});
    finds<SuccessorModel>({"Task::let_go", Access::rmw, std::memory_order_acquire});
    finds<SuccessorModel>({"Task::let_go", Access::rmw, std::memory_order_release});
    finds<ParkingModel>({"ParkingLot::anyone_parked", Access::fence});
    finds<ParkingModel>({"ParkingLot::announce", Access::fence});
    finds<BarrierModel>({"TeamBarrier::wait", Access::rmw, std::memory_order_acquire});
    finds<BarrierModel>({"TeamBarrier::wait", Access::rmw, std::memory_order_release});
    finds<BarrierModel>({"TeamBarrier::next_round", Access::rmw});
    finds<BarrierModel>({"wait_while_equal", Access::load});
    finds<BrokenBarrierModel>({"TeamBarrier::drop", Access::rmw});
    finds<OutsidePlaceModel>({"OutsidePlace::try_take", Access::rmw});
    finds<OutsidePlaceModel>({"OutsidePlace::leave", Access::store});
    finds<StandInModel>({"OutsidePlace::park_stand_in", Access::fence});
    finds<StandInModel>({"ParkingLot::anyone_parked", Access::fence});
}
