#include "schedulers/scheduler_of_program.hpp"

#include <algorithm>
#include <array>

#include "runtime/graph/task.hpp"

namespace basalt::detail {

ReadyTask SchedulerOfProgram::seen(Task& task) {
    ReadyTask ready;
    ready.name = task.name;
    ready.priority = task.priority;
    ready.tile = task.tile;
    ready.step = task.step.get();
    ready.task_ = &task;
    return ready;
}

SchedulerPlaces SchedulerOfProgram::places_of(const Neighbours& neighbours) {
    SchedulerPlaces places;
    for (int place = 0; place < neighbours.places(); ++place) {
        auto& groups = places.others.emplace_back();
        for (const Neighbours::Group& group : neighbours.groups_of(place))
            groups.emplace_back(group.begin(), group.end());
    }
    return places;
}

/// Wakes somebody each time: which queue a task went to is not known.
bool SchedulerOfProgram::push(std::optional<int> place, Task* const* tasks, std::size_t count) {
    constexpr std::size_t most = 64;
    std::array<ReadyTask, most> ready;
    for (std::size_t begin = 0; begin < count; begin += most) {
        const std::size_t part = std::min(most, count - begin);
        std::transform(tasks + begin, tasks + begin + part, ready.begin(), [](Task* task) { return seen(*task); });
        kept_.fetch_add(part, std::memory_order_release);
        own_->push(place, {ready.data(), part});
    }
    return true;
}

Scheduler::Found SchedulerOfProgram::pop(int place) {
    if (empty()) return {};
    const std::optional<ReadyTask> found = own_->pop(place);
    if (!found) return {};
    kept_.fetch_sub(1, std::memory_order_release);
    return {found->task_};
}

Task* SchedulerOfProgram::exchange(int place, Task* candidate) {
    kept_.fetch_add(1, std::memory_order_release);
    const std::optional<ReadyTask> next = own_->exchange(place, seen(*candidate));
    if (!next) return nullptr;
    kept_.fetch_sub(1, std::memory_order_release);
    return next->task_;
}

}  // namespace basalt::detail
