#include "runtime/engine/runtime_access.hpp"

#include "runtime/engine/engine.hpp"

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
TraceRecorder& trace_of(const Runtime& runtime) { return engine_of(runtime).trace(); }
HostPool& pinned_memory(const Runtime& runtime) { return engine_of(runtime).pinned(); }
HostPool& workspaces(const Runtime& runtime) { return engine_of(runtime).workspaces(); }
const RunModels* models_of(const Runtime& runtime) { return engine_of(runtime).models(); }
std::shared_ptr<GraphState> make_graph(Runtime& runtime, int priority) {
    return engine_of(runtime).user_graphs().make(runtime, priority);
}
bool inside_task(const Runtime& runtime) { return engine_of(runtime).inside_task(); }

DatumHandle create_datum(Runtime& runtime, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                         Storage storage, const char* name) {
    DataRegistry& registry = engine_of(runtime).data();
    return {registry, registry.create(base, element_size, rows, cols, storage, name)};
}

void destroy_datum(DataRegistry& registry, Datum* datum) noexcept { registry.destroy(datum); }

void* wait_datum(const DatumHandle& handle) {
    if (handle.get() == nullptr) throw UsageError("the array or matrix is empty or was released");
    handle.registry()->wait(*handle.get());
    return handle.get()->current->base;
}

void* wait_datum_to_overwrite(const DatumHandle& handle) {
    if (handle.get() == nullptr) throw UsageError("the array or matrix is empty or was released");
    handle.registry()->wait_to_overwrite(*handle.get());
    return handle.get()->current->base;
}

}  // namespace basalt::detail
