#include "runtime/engine/runtime_access.hpp"

#include <algorithm>
#include <string>

#include "runtime/engine/engine.hpp"
#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

struct RuntimeAccess {
    static Engine& engine(const Runtime& runtime) { return *runtime.engine_; }
};

/// Throws UsageError where the runtime was left behind, see ProcessMark.
Engine& engine_of(const Runtime& runtime) {
    Engine& engine = RuntimeAccess::engine(runtime);
    engine.require_current();
    return engine;
}

namespace {

DatumHandle handle_of(DataRegistry& registry, Datum* datum) {
    return {registry, datum, datum->generation.load(std::memory_order_relaxed)};
}

/// The handle's datum. Throws UsageError where it has none any more.
Datum& datum_of(const DatumHandle& handle) {
    if (handle.get() == nullptr) throw UsageError("the array or matrix is empty or was released");
    if (!handle.get()->is(handle.generation())) {
        const std::string name = DatumPool::of_process().name_of_former(*handle.get(), handle.generation());
        if (DatumPool::of_process().was_left(*handle.get())) {
            ProcessMark::refuse_left("array or matrix '" + name + "' cannot be used");
        }
        throw UsageError("the Runtime of the array or matrix" + (name.empty() ? "" : " '" + name + "'") +
                         " has ended, and with it what the array held");
    }
    return *handle.get();
}

}  // namespace

const Gpus& gpus_of(const Runtime& runtime) { return engine_of(runtime).gpus(); }
GpuData& gpu_data(const Runtime& runtime) { return engine_of(runtime).gpu_data(); }
GpuMemory& gpu_memory(const Runtime& runtime) { return engine_of(runtime).gpu_memory(); }
HostCopies& host_copies(const Runtime& runtime) { return engine_of(runtime).host_copies(); }
BeforeWait& before_wait(const Runtime& runtime) { return engine_of(runtime).before_wait(); }
BeforeWait& before_end(const Runtime& runtime) { return engine_of(runtime).before_end(); }
TraceRecorder& trace_of(const Runtime& runtime) { return engine_of(runtime).trace(); }
RecordedRuns& recorded_runs(const Runtime& runtime) { return engine_of(runtime).recorded_runs(); }
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
    return handle_of(registry, registry.create({base, element_size, rows, cols, cols}, storage, name));
}

DatumHandle create_object(Runtime& runtime, std::shared_ptr<void> value, std::string_view name) {
    DataRegistry& registry = engine_of(runtime).data();
    return handle_of(registry, registry.create_object(std::move(value), name));
}

DatumHandle create_columns(Runtime& runtime, void* base, std::size_t element_size, Index rows, Index cols, Index ld,
                           Storage storage, std::string_view name) {
    if (rows < 0 || rows > most_datum_columns || ld < std::max<Index>(rows, 1)) {
        throw UsageError(std::string(name) + ": " + std::to_string(rows) + " rows with ld = " + std::to_string(ld) +
                         "; allowed are 0 to " + std::to_string(most_datum_columns) + " rows, and ld >= max(1, rows)");
    }
    DataRegistry& registry = engine_of(runtime).data();
    return handle_of(registry, registry.create({.base = base,
                                                .element_size = element_size,
                                                .rows = cols,
                                                .cols = static_cast<std::int32_t>(rows),
                                                .ld = ld,
                                                .by_columns = true},
                                               storage, name));
}

BlockHandles split_datum(const DatumHandle& whole, const std::vector<Index>& row_cuts,
                         const std::vector<Index>& col_cuts) {
    Datum& datum = datum_of(whole);
    BlockHandles result;
    result.blocks.reserve((row_cuts.size() - 1) * (col_cuts.size() - 1));
    for (Datum* block : whole.registry()->split(datum, {row_cuts, col_cuts})) {
        result.blocks.push_back(handle_of(*whole.registry(), block));
    }
    result.base = datum.current->base;
    return result;
}

void destroy_datum(DataRegistry& registry, Datum* datum, std::uint32_t generation) noexcept {
    // the registry is gone where its runtime has ended, which ended the registration as well
    if (datum->is(generation)) registry.destroy(datum);
}

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

void release_datum_when_unused(DatumHandle& handle) {
    Datum& datum = datum_of(handle);
    handle.registry()->release_when_unused(datum);
    handle.detach();
}

}  // namespace basalt::detail
