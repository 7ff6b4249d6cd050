#include "runtime/engine/runtime_access.hpp"

#include <string>

#include "runtime/engine/engine.hpp"
#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

struct RuntimeAccess {
    static Engine& engine(const Runtime& runtime) { return *runtime.engine_; }
};

namespace {

Engine& engine_of(const Runtime& runtime) { return RuntimeAccess::engine(runtime); }

}  // namespace

const Gpus& gpus_of(const Runtime& runtime) { return engine_of(runtime).gpus(); }
GpuData& gpu_data(const Runtime& runtime) { return engine_of(runtime).gpu_data(); }
GpuMemory& gpu_memory(const Runtime& runtime) { return engine_of(runtime).gpu_memory(); }
HostCopies& host_copies(const Runtime& runtime) { return engine_of(runtime).host_copies(); }
BeforeWait& before_wait(const Runtime& runtime) { return engine_of(runtime).before_wait(); }
BeforeWait& before_end(const Runtime& runtime) { return engine_of(runtime).before_end(); }
TraceRecorder& trace_of(const Runtime& runtime) { return engine_of(runtime).trace(); }
HostPool& pinned_memory(const Runtime& runtime) { return engine_of(runtime).pinned(); }
HostPool& workspaces(const Runtime& runtime) { return engine_of(runtime).workspaces(); }
const RunModels* models_of(const Runtime& runtime) { return engine_of(runtime).models(); }
std::shared_ptr<GraphState> make_graph(Runtime& runtime, int priority) {
    return engine_of(runtime).user_graphs().make(runtime, priority);
}
bool inside_task(const Runtime& runtime) { return engine_of(runtime).inside_task(); }

DatumHandle create_datum(Runtime& runtime, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                         Storage storage, std::string_view name) {
    DataRegistry& registry = engine_of(runtime).data();
    Datum* datum = registry.create(base, element_size, rows, cols, storage, name);
    return {registry, datum, datum->generation.load(std::memory_order_relaxed)};
}

void destroy_datum(DataRegistry& registry, Datum* datum, std::uint32_t generation) noexcept {
    // the registry is gone where its runtime has ended, which ended the registration as well
    if (datum->is(generation)) registry.destroy(datum);
}

namespace {

/// The handle's datum. Throws UsageError where it has none any more.
Datum& datum_of(const DatumHandle& handle) {
    if (handle.get() == nullptr) throw UsageError("the array or matrix is empty or was released");
    if (!handle.get()->is(handle.generation())) {
        const std::string name = DatumPool::of_process().name_of_former(*handle.get(), handle.generation());
        throw UsageError("the Runtime of the array or matrix" + (name.empty() ? "" : " '" + name + "'") +
                         " has ended, and with it what the array held");
    }
    return *handle.get();
}

}  // namespace

void* wait_datum(const DatumHandle& handle) {
    Datum& datum = datum_of(handle);
    handle.registry()->wait(datum);
    return datum.current->base;
}

void* wait_datum_to_overwrite(const DatumHandle& handle) {
    Datum& datum = datum_of(handle);
    handle.registry()->wait_to_overwrite(datum);
    return datum.current->base;
}

}  // namespace basalt::detail
