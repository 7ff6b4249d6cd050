#include "runtime/engine/placement.hpp"

#include <string>

namespace basalt::detail {

namespace {

[[noreturn]] void refuse(const TaskOptions& options, const std::string& why) {
    throw UsageError("task '" + std::string(options.name.c_str()) + "': " + why);
}

[[noreturn]] void refuse_lost(const char* task, const Device& device, const char* others = "") {
    const std::string why = " is lost after an earlier error";
    throw DeviceError("task '" + std::string(task) + "': " + device.name() + why + others, device.index(),
                      DeviceFault::device_lost);
}

/// Commuting tasks run in any order, so program order would not tell where the data are: data that move are accessed in
/// program order.
void order_commuting(Task& task, Node node) {
    BoundAccess* access = task.access_begin();
    bool commutes = false;
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        const bool moves = node != host_node || access[i].version->residency != nullptr;
        if (moves && access[i].mode == AccessMode::commute) access[i].mode = AccessMode::readwrite;
        commutes = commutes || access[i].mode == AccessMode::commute;
    }
    task.commutes = commutes;
}

}  // namespace

/// The node of the GPU that the options name. Throws UsageError where the task cannot run there.
Node Placement::check_gpu(const Scope& scope, const TaskOptions& options, const KernelOps& ops) const {
    const int gpu = options.place.gpu_number();
    if (!gpus_.has(gpu)) refuse(options, gpus_.no_such_gpu(gpu));
    if (ops.run_on_device == nullptr) refuse(options, "placed on a GPU but without a cuda kernel");
    if (ops.reduction != nullptr) {
        refuse(options,
               "placed on a GPU with a reduce() access; such tasks run on CPU cores, with Place::cpu() or "
               "Place::any() and a CPU kernel");
    }
    if (options.threads.max > 1) {
        refuse(options, "a gang that is placed on a GPU; gangs run on CPU cores, with Place::cpu() or Place::any()");
    }
    if (scope.owner != nullptr) {
        refuse(options, "placed on a GPU inside a task; tasks submitted there run on CPU cores");
    }
    const Device& device = gpus_.device(gpu);
    if (device.emulated() && !ops.emulates) refuse(options, "an emulated GPU needs the task's CPU kernel");
    if (device.lost()) refuse_lost(options.name.c_str(), device);
    return node_of_device(gpu);
}

bool Placement::may_use_gpus(const TaskBuilder& task, const Scope& scope, const TaskOptions& options,
                             const KernelOps& ops) const {
    return ops.run_on_device != nullptr && gpus_.count() > 0 && scope.owner == nullptr && !task.task().gang &&
           options.place.is_any() && ops.reduction == nullptr && (ops.emulates || !gpus_.device(0).emulated());
}

/// Of a task that may run on the cores, on the first `gpus` GPUs, or on both. Throws DeviceError where only lost GPUs
/// are left.
Node Placement::ask_policy(TaskBuilder& task, const TaskOptions& options, const KernelOps& ops, int gpus) {
    nodes_.clear();
    if (ops.run != nullptr) nodes_.push_back(host_node);
    std::optional<Node> too_small;
    for (int gpu = 0; gpu < gpus; ++gpu) {
        const Node node = node_of_device(gpu);
        if (gpus_.device(gpu).lost()) continue;
        if (coherence_->may_fit(task, node)) {
            nodes_.push_back(node);
        } else {
            too_small = node;
        }
    }
    if (nodes_.empty() && too_small) return *too_small;  // whose error tells the sizes
    if (nodes_.empty()) refuse_lost(options.name.c_str(), gpus_.device(0), ", and so is every other GPU");
    return chooser_->choose(task, options, nodes_);
}

/// The node that the options and kernels allow. Throws UsageError where there is none.
Node Placement::choose_node(TaskBuilder& task, const Scope& scope, const TaskOptions& options, const KernelOps& ops) {
    const bool observed = chooser_ != nullptr && scope.owner == nullptr;
    if (options.place.is_gpu()) {
        const Node node = check_gpu(scope, options, ops);
        return observed ? chooser_->choose(task, options, {&node, 1}) : node;
    }
    const bool may_use_gpu = may_use_gpus(task, scope, options, ops);
    if (observed && (may_use_gpu || ops.run != nullptr)) {
        return ask_policy(task, options, ops, may_use_gpu ? gpus_.count() : 0);
    }
    if (may_use_gpu) {
        const auto device = coherence_->choose_device(task.access_begin(), task.access_count());
        if (device) return node_of_device(*device);
        if (ops.run == nullptr) refuse_lost(options.name.c_str(), gpus_.device(0), ", and so is every other GPU");
    }
    if (ops.run == nullptr && ops.reduction != nullptr) {
        refuse(options, "it has a reduce() access and a cuda kernel only; such tasks need a CPU kernel");
    }
    if (ops.run == nullptr) refuse(options, "it has a cuda kernel only, and there is no GPU that may run it here");
    return host_node;
}

void Placement::check(const Scope& scope, const TaskOptions& options, const KernelOps& ops) const {
    if (options.place.is_gpu()) {
        check_gpu(scope, options, ops);
        return;
    }
    const bool no_gpu = gpus_.count() == 0 || options.place.is_cpu() || scope.owner != nullptr ||
                        (gpus_.device(0).emulated() && !ops.emulates);
    if (ops.run == nullptr && no_gpu) {
        refuse(options, "it has a cuda kernel only, and there is no GPU that may run it here");
    }
}

void Placement::place(TaskBuilder& task, const Scope& scope, const TaskOptions& options, const KernelOps& ops,
                      void** bases) {
    const Node node = choose_node(task, scope, options, ops);
    if (coherence_ == nullptr || scope.owner != nullptr) return;
    order_commuting(task.task(), node);
    if (node != host_node) {
        DeviceWork& work =
            task.run_on(device_of_node(node), options.priority > 0 ? StreamRole::urgent_compute : StreamRole::compute,
                        static_cast<std::uint8_t>(node));
        work.any_stream = ops.any_stream;
    }
    coherence_->prepare(task, node, bases);
}

DeviceWork& Placement::place_on_stream(TaskBuilder& task, int device, StreamRole role, void** bases,
                                       std::uint32_t at_home) {
    const Device& where = gpus_.device(device);
    if (where.lost()) refuse_lost(task.task().name, where);
    const Node node = node_of_device(device);
    task.keep_at_home(at_home);
    DeviceWork& work = task.run_on(device, role, at_home > 0 ? Task::several_nodes : static_cast<std::uint8_t>(node));
    coherence_->prepare(task, node, bases);
    return work;
}

void Placement::bring_home(TaskBuilder& task, Version& version) {
    if (!version.residency) return;
    void* base = version.base;
    coherence_->prepare(task, host_node, &base);
}

}  // namespace basalt::detail
