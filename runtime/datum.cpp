#include "runtime/datum.hpp"

#include <limits>
#include <mutex>
#include <string>

#include "runtime/engine.hpp"

namespace basalt::detail {

Datum* Engine::create_datum(void* base, std::size_t element_size, Index rows, std::int32_t cols, Storage storage,
                            const char* name) {
    const auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (rows < 0 || cols < 0 ||
        (rows > 0 && cols > 0 && static_cast<std::size_t>(rows) > most / element_size / static_cast<std::size_t>(cols))) {
        throw UsageError(std::string(name) + ": " + std::to_string(rows) + " x " + std::to_string(cols) +
                         " elements; allowed are sizes from 0 to what memory can address");
    }
    auto datum = std::make_unique<Datum>();
    datum->name = name;
    datum->element_size = element_size;
    datum->rows = rows;
    datum->cols = cols;
    datum->renameable = storage == Storage::owned;
    if (storage != Storage::owned && base == nullptr && datum->bytes() > 0) {
        throw UsageError(std::string(name) + ": the pointer is null but the size is not 0");
    }
    datum->current = std::make_unique<Version>();
    datum->current->datum = datum.get();
    datum->current->base = base;
    if (storage == Storage::owned) {
        datum->current->owned = HostBuffer(datum->bytes());
        datum->current->base = datum->current->owned.data();
    }
    datum->home_scope = current_scope().id;
    return datum.release();
}

void Engine::destroy_datum(Datum* datum) noexcept {
    const std::unique_ptr<Datum> owned(datum);
    wait_datum(*datum);
}

Datum* create_datum(Engine& engine, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                    Storage storage, const char* name) {
    return engine.create_datum(base, element_size, rows, cols, storage, name);
}

void destroy_datum(Engine& engine, Datum* datum) noexcept { engine.destroy_datum(datum); }

void* wait_datum(Engine& engine, Datum* datum) {
    if (datum == nullptr) throw UsageError("the array or matrix is empty or was released");
    engine.wait_datum(*datum);
    return datum->current->base;
}

const char* default_name(const char* stem) { return stem; }

}  // namespace basalt::detail
