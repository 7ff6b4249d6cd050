#include "runtime/observe/observers.hpp"

#include <exception>
#include <map>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/process.hpp"

namespace basalt::detail {

namespace {

TaskInfo info_of(const Task& task) {
    return {.name = task.name,
            .tile = task.tile,
            .step = task.step.get(),
            .priority = task.priority,
            .id = TraceRecorder::id_of(task),
            .worker = std::nullopt,
            .device = std::nullopt};
}

TaskInfo info_on_cores(const Task& task, const Worker& worker) {
    TaskInfo info = info_of(task);
    info.worker = worker.place;
    return info;
}

TaskInfo info_on_device(const Task& task, int device) {
    TaskInfo info = info_of(task);
    info.device = device;
    return info;
}

constexpr double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace

Observers::Observers(TaskGraph& graph, TraceRecorder& trace, const Config& config, int gpus)
    : graph_(graph),
      trace_(trace),
      hooks_(config.hooks),
      statistics_(config.statistics),
      on_(hooks_ != nullptr || statistics_ || config.watchdog.count() > 0),
      places_(static_cast<std::size_t>(config.workers) + 1),
      devices_(static_cast<std::size_t>(gpus)) {}

void Observers::end_child(const Task& task) {
    if (ProcessMark::left_by() == Left::by_exit) return;
    spdlog::critical(
        "basalt: task '{}' forked, and its kernel has returned in the child process; allowed there is to end it by "
        "exec, _exit() or exit()",
        task_label(task));
    spdlog::default_logger()->flush();
    std::terminate();
}

/// Inside a callback the runtime is refused as inside a kernel of a GPU.
void Observers::call(HookCall function, Task& task, const TaskInfo& info) const {
    const ThreadContext inside(graph_, nullptr, &task, &task);
    (hooks_.get()->*function)(info);
}

void Observers::started(Task& task, Worker& worker, Run& run) {
    if (left()) {
        worker.running.store(nullptr, std::memory_order_relaxed);  // no thread needs to wait for this one
        stay_until_exit();
    }
    if (hooks_ != nullptr) call(&TaskHooks::task_started, task, info_on_cores(task, worker));
    run.outer_inside = std::exchange(worker.inside_ns, 0);
    run.begin = TraceRecorder::now();
    run.outer_task = worker.running_task.load(std::memory_order_relaxed);
    run.outer_since = worker.running_since.load(std::memory_order_relaxed);
    worker.running_since.store(run.begin, std::memory_order_relaxed);
    worker.running_task.store(packed(task.ref()), std::memory_order_relaxed);
}

void Observers::ended(Task& task, Worker& worker, const Run& run, TaskEnd end) {
    const std::int64_t took = TraceRecorder::now() - run.begin;
    if (trace_.enabled() && !task.gang) trace_.record(worker.place, task, run.begin);
    if (statistics_) {
        places_[static_cast<std::size_t>(worker.place)].add(task.name, seconds(took - worker.inside_ns), end);
    }
    worker.inside_ns = run.outer_inside + took;
    worker.running_since.store(run.outer_since, std::memory_order_relaxed);
    worker.running_task.store(run.outer_task, std::memory_order_relaxed);
    worker.kernels.store(worker.kernels.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (hooks_ == nullptr) return;
    TaskInfo info = info_on_cores(task, worker);
    info.failed = end == TaskEnd::failed;
    call(&TaskHooks::task_ended, task, info);
}

void Observers::device_started(Task& task, int device) {
    if (hooks_ != nullptr) call(&TaskHooks::task_started, task, info_on_device(task, device));
}

void Observers::device_ended(Task& task, int device, std::int64_t ns, TaskEnd end) {
    if (statistics_) devices_[static_cast<std::size_t>(device)].add(task.name, seconds(ns), end);
    if (hooks_ == nullptr) return;
    TaskInfo info = info_on_device(task, device);
    info.failed = end == TaskEnd::failed;
    call(&TaskHooks::task_ended, task, info);
}

std::vector<TaskStatistics> Observers::by_name() const {
    std::map<std::string, TaskStatistics, std::less<>> names;
    for (const TaskTimes& times : places_) times.add_to(names, std::nullopt, devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        devices_[i].add_to(names, static_cast<int>(i), devices_.size());
    }
    dropped_.add_to(names, std::nullopt, devices_.size());
    std::vector<TaskStatistics> result;
    for (auto& [name, statistics] : names) result.push_back(std::move(statistics));
    return result;
}

}  // namespace basalt::detail
