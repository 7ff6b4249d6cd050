#include "runtime/engine/gpu_data.hpp"

#include <mutex>

#include "runtime/graph/access_binding.hpp"

namespace basalt::detail {

int GpuData::gpus_to_deal_to() const { return inside_task() || gpus_.any_lost() ? 0 : gpus_.count(); }

/// The datum's current version, which is level 0's from now on, and what its memory is used through. Under the root
/// scope's lock.
Version& GpuData::root_version(const AccessRecord& record, Purpose purpose) {
    Datum& datum = *record.datum;
    const std::uint64_t root = graph_.root().order.id;
    if (datum.home_order != root) datum.home_order = root;
    blocks_.make_current(graph_.root(), datum, ArrayBlocks::Contents::needed, purpose);
    return *datum.current;
}

void GpuData::prefetch(const AccessRecord& record, Place place, Purpose purpose) {
    if (place.is_any()) throw UsageError("prefetch: Place::any(); allowed is Place::cpu() or Place::gpu(number)");
    if (place.is_gpu() && !gpus_.has(place.gpu_number())) {
        throw UsageError("prefetch: " + gpus_.no_such_gpu(place.gpu_number()));
    }
    graph_.refuse_while_recording("prefetch()");
    const Scope& scope = graph_.current_scope();
    check_region(graph_, scope, record);
    if (coherence_ == nullptr || scope.owner != nullptr) return;  // inside a task the data are where they are
    const std::lock_guard guard(graph_.root().order.lock);
    Version& version = root_version(record, purpose);
    if (place.is_cpu() && !version.residency) return;
    coherence_->prefetch(version, place.is_cpu() ? host_node : node_of_device(place.gpu_number()), purpose);
}

void GpuData::broadcast(const AccessRecord& record, Purpose purpose, BroadcastRoute route) {
    graph_.refuse_while_recording("broadcast()");
    const Scope& scope = graph_.current_scope();
    check_region(graph_, scope, record);
    if (coherence_ == nullptr || scope.owner != nullptr) return;
    const std::lock_guard guard(graph_.root().order.lock);
    coherence_->broadcast(root_version(record, purpose), purpose, route);
}

void GpuData::evict(const AccessRecord& record, Place gpu) {
    if (!gpu.is_gpu()) throw UsageError("evict: allowed is Place::gpu(number)");
    if (!gpus_.has(gpu.gpu_number())) throw UsageError("evict: " + gpus_.no_such_gpu(gpu.gpu_number()));
    graph_.refuse_while_recording("evict()");
    const Scope& scope = graph_.current_scope();
    check_region(graph_, scope, record);
    if (scope.owner != nullptr) return;  // inside a task the data are where they are
    const std::lock_guard guard(graph_.root().order.lock);
    Residency* residency = root_version(record, {}).residency.get();
    if (residency != nullptr) coherence_->memory().leave(*residency, node_of_device(gpu.gpu_number()), {});
}

void GpuData::leave(const Datum& datum, int device, Purpose purpose) {
    const std::lock_guard guard(graph_.root().order.lock);
    Residency* residency = datum.current->residency.get();
    if (residency != nullptr) coherence_->memory().leave(*residency, node_of_device(device), purpose);
}

void GpuData::abandon(const Datum& datum) {
    const std::lock_guard guard(graph_.root().order.lock);
    datum.current->abandon();
}

void GpuData::adopt(const Datum& datum, int device, void* memory) {
    if (inside_task()) throw UsageError("memory of a GPU is wrapped inside a task; allowed is outside of tasks");
    const std::lock_guard guard(graph_.root().order.lock);
    coherence_->memory().adopt(coherence_->residency(*datum.current), node_of_device(device), memory);
}

bool GpuData::at_home(const Datum& datum) {
    const std::lock_guard guard(graph_.root().order.lock);
    const Residency* residency = datum.current->residency.get();
    return residency == nullptr || residency->valid_on(host_node);
}

bool GpuData::valid_on(const Datum& datum, int device) {
    const std::lock_guard guard(graph_.root().order.lock);
    const Residency* residency = datum.current->residency.get();
    return residency != nullptr && residency->valid_on(node_of_device(device));
}

bool GpuData::has_memory_on(const Datum& datum, int device) {
    const std::lock_guard guard(graph_.root().order.lock);
    const Residency* residency = datum.current->residency.get();
    return residency != nullptr && residency->replica_on(node_of_device(device)).memory != nullptr;
}

}  // namespace basalt::detail
