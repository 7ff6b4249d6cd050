// What a runtime with GPUs has beside workers: devices, their drivers, and data that are moved on request.
#include <algorithm>
#include <mutex>
#include <string>

#include "basalt/machine.hpp"
#include "runtime/engine.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

void Engine::start_drivers() {
    pinned_ = std::make_unique<HostPool>(devices_, package_of_most_workers());
    if (devices_.empty()) return;
    coherence_ = std::make_unique<Coherence>(*this, devices_, config_.gpu_memory);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
        // nothing more of the graph is computed; the error follows when the driver gets there
        devices_[d]->on_failure([this] { root_.cancelled.store(true, std::memory_order_release); });
        drivers_.push_back(std::make_unique<Driver>(*this, *devices_[d], places() + static_cast<int>(d)));
    }
}

std::string Engine::no_such_gpu(int number) const {
    return "Place::gpu(" + std::to_string(number) + "); the runtime has " + std::to_string(gpus()) +
           (gpus() == 1 ? " GPU" : " GPUs");
}

int Engine::gpus_to_deal_to() const {
    const ThreadContext* context = context_of(this);
    if (context != nullptr && context->task != nullptr) return 0;
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->lost(); }) ? 0
                                                                                                            : gpus();
}

std::vector<DeviceInfo> Engine::device_infos() {
    std::vector<DeviceInfo> infos;
    const std::lock_guard guard(root_.lock);
    for (const auto& device : devices_) {
        infos.push_back({.name = device->name(),
                         .model = device->model(),
                         .memory = coherence_->capacity(node_of_device(device->index())),
                         .multiprocessors = device->multiprocessors(),
                         .emulated = device->emulated()});
    }
    return infos;
}

RunMachine Engine::run_machine() const {
    RunMachine machine{cpu_model(), places(), {}};
    for (std::size_t first = 0; first < devices_.size();) {
        const std::string& model = devices_[first]->model();
        std::size_t last = first;
        while (last < devices_.size() && devices_[last]->model() == model) ++last;
        machine.gpus += (first > 0 ? ", " : "") + std::to_string(last - first) + " x " + model;
        first = last;
    }
    if (config_.gpu_memory > 0) machine.gpus += ", " + std::to_string(config_.gpu_memory) + " bytes of each";
    return machine;
}

void Engine::prefetch(const AccessRecord& record, Place place, Coherence::Purpose purpose) {
    if (place.is_any()) throw UsageError("prefetch: Place::any(); allowed is Place::cpu() or Place::gpu(number)");
    if (coherence_ == nullptr || record.datum == nullptr) return;
    if (place.is_gpu() && !has_gpu(place.gpu_number())) {
        throw UsageError("prefetch: " + no_such_gpu(place.gpu_number()));
    }
    if (&current_scope() != &root_) return;  // inside a task the data are where they are
    const std::lock_guard guard(root_.lock);
    Version& version = *record.datum->current;
    if (record.datum->home_scope != root_.id) record.datum->home_scope = root_.id;
    if (place.is_cpu() && !version.residency) return;
    coherence_->prefetch(version, place.is_cpu() ? host_node : node_of_device(place.gpu_number()), purpose);
}

void Engine::broadcast(const AccessRecord& record, Coherence::Purpose purpose, bool by_source) {
    if (coherence_ == nullptr || record.datum == nullptr || &current_scope() != &root_) return;
    const std::lock_guard guard(root_.lock);
    if (record.datum->home_scope != root_.id) record.datum->home_scope = root_.id;
    std::vector<Node> nodes;
    for (int d = 0; d < gpus(); ++d) nodes.push_back(node_of_device(d));
    coherence_->broadcast(*record.datum->current, nodes, purpose, by_source);
}

void Engine::prepare_memory(int device, std::size_t bytes, std::size_t count) {
    const std::lock_guard guard(root_.lock);
    coherence_->prepare_memory(node_of_device(device), bytes, count);
}

bool Engine::has_memory_on(const Datum& datum, int device) {
    const std::lock_guard guard(root_.lock);
    const Residency* residency = datum.current->residency.get();
    return residency != nullptr && residency->replica_on(node_of_device(device)).memory != nullptr;
}

bool Engine::at_home(const Datum& datum) {
    const std::lock_guard guard(root_.lock);
    const Residency* residency = datum.current->residency.get();
    return residency == nullptr || residency->valid_on(host_node);
}

bool Engine::valid_on(const Datum& datum, int device) {
    const std::lock_guard guard(root_.lock);
    const Residency* residency = datum.current->residency.get();
    return residency != nullptr && residency->valid_on(node_of_device(device));
}

void Engine::leave(const Datum& datum, int device, Coherence::Purpose purpose) {
    const std::lock_guard guard(root_.lock);
    coherence_->leave(*datum.current, node_of_device(device), purpose);
}

std::size_t Engine::memory_of(int device) const {
    const std::lock_guard guard(root_.lock);
    return coherence_->capacity(node_of_device(device));
}

std::size_t Engine::memory_taken(int device) const {
    const std::lock_guard guard(root_.lock);
    return coherence_->taken(node_of_device(device));
}

std::size_t Engine::memory_in_use(int device) { return coherence_->in_use(node_of_device(device)); }

std::size_t Engine::most_in_use() {
    std::size_t most = 0;
    for (int d = 0; d < gpus(); ++d) most = std::max(most, coherence_->most_in_use(node_of_device(d)));
    return most;
}

void Engine::forget_most_in_use() {
    if (coherence_ != nullptr) coherence_->forget_most_in_use();
}

void Engine::adopt(const Datum& datum, int device, void* memory) {
    if (&current_scope() != &root_)
        throw UsageError("memory of a GPU is wrapped inside a task; allowed is outside of tasks");
    const std::lock_guard guard(root_.lock);
    coherence_->adopt(*datum.current, node_of_device(device), memory);
}

void Engine::dispatch(Task& task) { drivers_[static_cast<std::size_t>(task.on_device()->device)]->push(task); }

}  // namespace basalt::detail
