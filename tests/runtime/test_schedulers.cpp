// What every policy promises: no task is lost or returned twice; and what each one adds.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "basalt/error.hpp"
#include "base/topology.hpp"
#include "runtime/execution/neighbours.hpp"
#include "runtime/execution/parking.hpp"
#include "runtime/execution/ready_tasks.hpp"
#include "runtime/execution/scheduler.hpp"
#include "runtime/graph/scope.hpp"
#include "runtime/graph/task.hpp"
#include "runtime/graph/worker.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/runtime_settings.hpp"
#include "tests/common/watchdog.hpp"
#include "tests/runtime/random_graph/random.hpp"

using namespace basalt;
using namespace basalt::detail;
using basalt_tests::Random;
using basalt_tests::Watchdog;

namespace {

std::vector<Task> make_tasks(std::size_t count) { return std::vector<Task>(count); }

std::size_t number_of(const Task* task, const std::vector<Task>& tasks) {
    return static_cast<std::size_t>(task - tasks.data());
}

std::vector<std::size_t> pop_all(Scheduler& scheduler, int place, const std::vector<Task>& tasks) {
    std::vector<std::size_t> order;
    while (Task* task = scheduler.pop(place).task) order.push_back(number_of(task, tasks));
    return order;
}

}  // namespace

TEST_CASE("an unknown policy is refused with the names that are allowed") {
    CHECK(scheduler_names() == std::vector<std::string>{"priority", "fifo"});
    try {
        make_scheduler("lottery", 2);
        FAIL("no exception");
    } catch (const UsageError& error) {
        CAPTURE(error.what());
        CHECK(basalt_tests::mentions(error.what(), "lottery"));
        CHECK(basalt_tests::mentions(error.what(), "priority, fifo"));
    }
}

TEST_CASE("a policy returns every task once and then is empty") {
    const std::string name = GENERATE(from_range(scheduler_names()));
    const int places = GENERATE(1, 2, 8);
    CAPTURE(name, places);
    const auto scheduler = make_scheduler(name, places);
    CHECK(scheduler->empty());
    CHECK(scheduler->pop(0).task == nullptr);

    std::vector<Task> tasks = make_tasks(5000);
    std::vector<int> seen(tasks.size(), 0);
    Random random(7);
    std::size_t pushed = 0;
    std::size_t popped = 0;
    auto took = [&](Task* task) {
        if (task == nullptr) return;
        ++seen[number_of(task, tasks)];
        ++popped;
    };
    while (pushed < tasks.size()) {
        std::optional<int> place;  // none: a thread that only pushes
        if (const int number = random.between(-1, places - 1); number >= 0) place = number;
        std::vector<Task*> batch;
        for (int i = random.between(1, 40); i > 0 && pushed < tasks.size(); --i) {
            tasks[pushed].priority = random.between(-3, 3) * (random.one_in(50) ? 1000 : 1);
            batch.push_back(&tasks[pushed++]);
        }
        if (place && random.one_in(3)) {
            took(scheduler->exchange(*place, batch.back()));
            batch.pop_back();
        }
        if (!batch.empty()) scheduler->push(place, batch.data(), batch.size());
        for (int i = random.between(0, 30); i > 0; --i) took(scheduler->pop(random.between(0, places - 1)).task);
    }
    while (popped < pushed) {
        Task* task = scheduler->pop(random.between(0, places - 1)).task;
        REQUIRE(task != nullptr);
        took(task);
    }
    CHECK(scheduler->empty());
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(tasks.size()));
}

TEST_CASE("a policy returns every task once when all places push and pop at the same time", "[sanitize]") {
    const std::string name = GENERATE(from_range(scheduler_names()));
    const int places = GENERATE(2, 8);
    CAPTURE(name, places);
    const Watchdog watchdog;
    const auto scheduler = make_scheduler(name, places);
    constexpr std::size_t each = 3000;
    std::vector<Task> tasks = make_tasks(each * static_cast<std::size_t>(places));
    std::vector<std::atomic<int>> seen(tasks.size());
    std::atomic<std::size_t> popped{0};
    std::vector<std::thread> threads;
    for (int place = 0; place < places; ++place) {
        threads.emplace_back([&, place] {
            Random random(static_cast<std::uint64_t>(place));
            auto took = [&](Task* task) {
                if (task == nullptr) return std::this_thread::yield();
                ++seen[number_of(task, tasks)];
                ++popped;
            };
            for (std::size_t i = 0; i < each; ++i) {
                Task* task = &tasks[static_cast<std::size_t>(place) * each + i];
                task->priority = random.between(0, 3);
                if (random.one_in(4)) {
                    took(scheduler->exchange(place, task));
                } else {
                    scheduler->push(place, &task, 1);
                }
                if (random.one_in(2)) took(scheduler->pop(place).task);
            }
            while (popped < tasks.size()) took(scheduler->pop(place).task);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(scheduler->empty());
    CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
}

TEST_CASE("fifo runs tasks in the order in which they became ready, whatever their priority") {
    const auto scheduler = make_scheduler("fifo", 2);
    std::vector<Task> tasks = make_tasks(4);
    tasks[3].priority = 9;
    Task* all[] = {&tasks[0], &tasks[1], &tasks[2], &tasks[3]};
    scheduler->push(0, all, 2);
    scheduler->push(1, all + 2, 1);
    CHECK(scheduler->exchange(0, all[3]) == all[0]);
    CHECK(pop_all(*scheduler, 1, tasks) == std::vector<std::size_t>{1, 2, 3});
}

TEST_CASE("priority work stealing runs the highest priority first and of equals the newest") {
    const auto scheduler = make_scheduler("priority", 2);
    std::vector<Task> tasks = make_tasks(5);
    const int priorities[] = {0, 5, -2, 5, 0};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].priority = priorities[i];
        Task* task = &tasks[i];
        scheduler->push(0, &task, 1);
    }
    CHECK(pop_all(*scheduler, 0, tasks) == std::vector<std::size_t>{3, 1, 4, 0, 2});
}

TEST_CASE("priorities hold again after the queue ran empty") {
    const auto scheduler = make_scheduler("priority", 1);
    std::vector<Task> tasks = make_tasks(3);
    const int priorities[] = {5, 3, 4};
    for (std::size_t i = 0; i < 3; ++i) tasks[i].priority = priorities[i];
    Task* all[] = {&tasks[0], &tasks[1], &tasks[2]};
    scheduler->push(0, all, 1);
    CHECK(scheduler->pop(0).task == all[0]);
    scheduler->push(0, all + 1, 2);
    CHECK(scheduler->pop(0).task == all[2]);
    CHECK(scheduler->pop(0).task == all[1]);
    CHECK(scheduler->pop(0).task == nullptr);
}

TEST_CASE("a place that runs dry steals the oldest of the highest priority and leaves half") {
    const auto scheduler = make_scheduler("priority", 2);
    std::vector<Task> tasks = make_tasks(5);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        tasks[i].priority = i < 4 ? 1 : 0;
        Task* task = &tasks[i];
        scheduler->push(0, &task, 1);
    }
    CHECK(number_of(scheduler->pop(1).task, tasks) == 0);
    CHECK(number_of(scheduler->pop(1).task, tasks) == 1);
    CHECK(pop_all(*scheduler, 0, tasks) == std::vector<std::size_t>{3, 2, 4});
}

TEST_CASE("a place steals from its cache's cores first, then from its socket's, then from the others") {
    // two sockets of two caches of two cores
    const Neighbours::Paths paths{{0, 1, 10, 100}, {0, 1, 10, 101}, {0, 1, 11, 102}, {0, 1, 11, 103},
                                  {0, 2, 12, 104}, {0, 2, 12, 105}, {0, 2, 13, 106}, {0, 2, 13, 107}};
    const Neighbours places(paths);
    CHECK(places.groups_of(0) == std::vector<Neighbours::Group>{{1}, {2, 3}, {4, 5, 6, 7}});
    CHECK(places.groups_of(5) == std::vector<Neighbours::Group>{{4}, {6, 7}, {0, 1, 2, 3}});
    CHECK(Neighbours(3).groups_of(1) == std::vector<Neighbours::Group>{{2, 0}});
    CHECK(Neighbours(1).groups_of(0).empty());
}

// Run under HWLOC_SYNTHETIC, which makes a machine of two sockets, each with two caches of two cores.
TEST_CASE("stealing goes by the machine", "[.eight_cores]") {
    Neighbours::Paths paths;
    for (int place = 0; place < 8; ++place) paths.push_back(path_to(place));
    const auto scheduler = make_scheduler("priority", Neighbours(paths));
    std::vector<Task> tasks = make_tasks(8);
    for (const int place : {7, 2, 5, 3, 6, 1, 4}) {
        Task* task = &tasks[static_cast<std::size_t>(place)];
        scheduler->push(place, &task, 1);
    }
    std::vector<std::size_t> order = pop_all(*scheduler, 0, tasks);
    REQUIRE(order.size() == 7);
    CHECK(order[0] == 1);
    CHECK(order == std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7});
    // place 5 shares its cache with 4, its socket with 6 and 7
    for (const int place : {0, 1, 2, 3, 4, 6, 7}) {
        Task* task = &tasks[static_cast<std::size_t>(place)];
        scheduler->push(place, &task, 1);
    }
    order = pop_all(*scheduler, 5, tasks);
    CHECK(order == std::vector<std::size_t>{4, 6, 7, 0, 1, 2, 3});
}

TEST_CASE("a task that just became ready runs at once unless a more urgent one waits") {
    const auto scheduler = make_scheduler("priority", 1);
    std::vector<Task> tasks = make_tasks(3);
    tasks[0].priority = 1;
    tasks[1].priority = 1;
    tasks[2].priority = 2;
    Task* waiting = &tasks[0];
    scheduler->push(0, &waiting, 1);
    CHECK(scheduler->exchange(0, &tasks[1]) == &tasks[1]);
    Task* urgent = &tasks[2];
    scheduler->push(0, &urgent, 1);
    CHECK(scheduler->exchange(0, &tasks[1]) == &tasks[2]);
    CHECK(pop_all(*scheduler, 0, tasks) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("a thread that steals several tasks wakes a sleeper for those that it does not run") {
    ParkingLot parking;
    ReadyTasks ready("priority", 3, parking);
    Scope scope(1);
    std::vector<Task> tasks = make_tasks(4);
    std::vector<Task*> all;
    for (Task& task : tasks) {
        task.scope = &scope;
        all.push_back(&task);
    }
    const Worker owner(0, 0);
    ready.push(all.data(), all.size(), &owner);
    ParkingLot::Sleeper sleeper;  // it looked for work while the tasks were in no queue
    parking.announce(sleeper);
    Worker thief(1, 0);
    CHECK(number_of(ready.pop(thief, 0), tasks) == 0);
    CHECK(sleeper.woken);
    CHECK(number_of(ready.pop(thief, 0), tasks) == 1);
}
