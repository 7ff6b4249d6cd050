// Where a task runs, and what follows from it: submission's part that knows of devices.
#include <string>

#include "runtime/device/device_work.hpp"
#include "runtime/memory/coherence.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

namespace {

[[noreturn]] void refuse(const TaskOptions& options, const std::string& why) {
    throw UsageError("task '" + std::string(options.name.c_str()) + "': " + why);
}

[[noreturn]] void refuse_lost(const char* task, const Device& device, const char* others = "") {
    const std::string why = " is lost after an earlier error";
    throw DeviceError("task '" + std::string(task) + "': " + device.name() + why + others, device.index(), true);
}

}  // namespace

/// The node that the options and kernels allow. Throws UsageError where there is none.
Node TaskSubmission::choose_node(const TaskOptions& options, const KernelOps& ops) const {
    const bool inside = scope_.owner != nullptr;
    if (options.place.is_gpu()) {
        const int gpu = options.place.gpu_number();
        if (!engine_.has_gpu(gpu)) refuse(options, engine_.no_such_gpu(gpu));
        if (ops.run_on_device == nullptr) refuse(options, "placed on a GPU but without a cuda kernel");
        if (inside) refuse(options, "placed on a GPU inside a task; tasks submitted there run on CPU cores");
        const Device& device = engine_.device(gpu);
        if (device.emulated() && !ops.emulates) refuse(options, "an emulated GPU needs the task's CPU kernel");
        if (device.lost()) refuse_lost(options.name.c_str(), device);
        return node_of_device(gpu);
    }
    const bool may_use_gpu = ops.run_on_device != nullptr && engine_.gpus() > 0 && !inside && !task_->gang &&
                             options.place.is_any() && (ops.emulates || !engine_.device(0).emulated());
    if (may_use_gpu) {
        const int device = engine_.coherence_->choose_device(access_begin(), access_count());
        if (device >= 0) return node_of_device(device);
        if (ops.run == nullptr) refuse_lost(options.name.c_str(), engine_.device(0), ", and so is every other GPU");
    }
    if (ops.run == nullptr) refuse(options, "it has a cuda kernel only, and there is no GPU that may run it here");
    return host_node;
}

void TaskSubmission::make_device_task(int device, StreamRole role) {
    DeviceWork& work = engine_.device_works_.take();
    work.device = device;
    work.role = role;
    task_->device_work.store(&work, std::memory_order_relaxed);
}

void TaskSubmission::place(const TaskOptions& options, const KernelOps& ops, void** bases) {
    const Node node = choose_node(options, ops);
    if (engine_.coherence_ == nullptr || scope_.owner != nullptr) return;
    Task& task = *task_;
    // Commuting tasks run in any order, so program order would not tell where the data are: here it is kept.
    BoundAccess* access = task.access_begin();
    bool commutes = false;
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        const bool moves = node != host_node || access[i].version->residency != nullptr;
        if (moves && access[i].mode == AccessMode::commute) access[i].mode = AccessMode::readwrite;
        commutes = commutes || access[i].mode == AccessMode::commute;
    }
    task.commutes = commutes;
    task.node.store(static_cast<std::uint8_t>(node), std::memory_order_relaxed);
    if (node != host_node) {
        make_device_task(device_of_node(node), task.priority > 0 ? StreamRole::urgent_compute : StreamRole::compute);
    }
    engine_.coherence_->prepare(*this, node, bases);
}

DeviceWork& TaskSubmission::place_on_stream(int device, StreamRole role, void** bases, std::uint32_t at_home) {
    const Device& where = engine_.device(device);
    if (where.lost()) refuse_lost(task_->name, where);
    const Node node = node_of_device(device);
    at_home_ = at_home;
    task_->node.store(at_home > 0 ? Task::several_nodes : static_cast<std::uint8_t>(node), std::memory_order_relaxed);
    make_device_task(device, role);
    engine_.coherence_->prepare(*this, node, bases);
    return *task_->on_device();
}

DeviceWork& TaskSubmission::make_runtime_work(int device, StreamRole role, const char* name, int priority,
                                              const std::array<int, 3>& tile) {
    make_device_task(device, role);
    Task& task = *task_;
    task.on_device()->one_memory.store(false, std::memory_order_relaxed);
    task.kind = TaskKind::internal;
    task.node.store(Task::several_nodes, std::memory_order_relaxed);
    task.name = name;
    task.priority = priority;
    task.tile = tile;
    task.max_threads = task.min_threads = 1;
    return *task.on_device();
}

void TaskSubmission::bind_all_rows(Version& version, Index row_begin, Index row_end) {
    task_->accesses[0] =
        BoundAccess(&version, {version.datum, row_begin, row_end, 0, version.datum->cols, AccessMode::read});
    task_->access_count = 1;
}

/// The task finds the version's contents in the host's memory.
void TaskSubmission::bring_home(Version& version) {
    if (!version.residency) return;
    void* base = version.base;
    engine_.coherence_->prepare(*this, host_node, &base);
}

void TaskSubmission::release_device_work(Task& task) {
    DeviceWork* work = task.on_device();
    if (work == nullptr) return;
    task.device_work.store(nullptr, std::memory_order_relaxed);
    engine_.device_works_.give_back(*work);
}

}  // namespace basalt::detail
