#include "runtime/datum.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

#include <spdlog/spdlog.h>

#include "runtime/engine.hpp"

namespace basalt::detail {

Datum* Engine::create_datum(void* base, std::size_t element_size, Index rows, std::int32_t cols, Storage storage,
                            const char* name) {
    constexpr std::int32_t most_columns = 1 << 28;
    const auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (rows < 0 || cols < 0 || cols > most_columns ||
        (rows > 0 && cols > 0 &&
         static_cast<std::size_t>(rows) > most / element_size / static_cast<std::size_t>(cols))) {
        throw UsageError(std::string(name) + ": " + std::to_string(rows) + " x " + std::to_string(cols) +
                         " elements; allowed are sizes from 0 to what memory can address");
    }
    auto datum = std::make_unique<Datum>();
    datum->name = name;
    datum->element_size = element_size;
    datum->rows = rows;
    datum->cols = cols;
    datum->renameable = storage == Storage::owned;
    datum->scratch = storage == Storage::scratch;
    datum->borrowed = storage == Storage::borrowed;
    if (storage != Storage::owned && base == nullptr && datum->bytes() > 0) {
        throw UsageError(std::string(name) + ": the pointer is null but the size is not 0");
    }
    datum->current->datum = datum.get();
    datum->current->base = base;
    if (storage == Storage::owned) {
        datum->current->owned = HostBuffer(datum->bytes());
        datum->current->base = datum->current->owned.data();
    }
    datum->home_scope = current_scope().id;
    return datum.release();
}

/// The scope at home in which the datum's users are recorded: the calling thread's, one around it, or level 0
/// when it was made in a task that has ended.
Scope& Engine::home_of(const Datum& datum) {
    for (Scope* scope = &current_scope(); scope != nullptr; scope = scope->parent) {
        if (scope->id == datum.home_scope) return *scope;
    }
    return root_;
}

/// Whether a task that the calling thread is inside of uses the datum.
bool Engine::used_around_here(const Datum& datum) const {
    auto uses = [&](const Task& task) {
        const BoundAccess* access = task.access_begin();
        return std::any_of(access, access + task.access_count,
                           [&](const BoundAccess& a) { return a.version->datum == &datum; });
    };
    for (const ThreadContext* context = context_; context != nullptr; context = context->outer) {
        if (context->engine != this) continue;
        for (const Task* task = context->task; task != nullptr; task = task->scope->owner) {
            if (uses(*task)) return true;
        }
    }
    return false;
}

/// Whether the calling thread may wait for whoever uses the datum: outside, or inside the task that made it,
/// whose children its users are. Elsewhere they may be waiting for what this thread is inside of.
bool Engine::may_wait_here(const Datum& datum) {
    const ThreadContext* context = context_of(this);
    return context == nullptr || (context->task != nullptr && current_scope().id == datum.home_scope);
}

void Engine::destroy_datum(Datum* datum) noexcept {
    const ThreadContext* context = context_of(this);
    if (context != nullptr && context->task != nullptr && context->worker == nullptr) {
        spdlog::critical("basalt: '{}' is given up inside a GPU kernel; its registration is leaked", datum->name);
        return;
    }
    Scope& home = home_of(*datum);
    const bool used_here = used_around_here(*datum);
    if (used_here && !datum->renameable) {
        spdlog::critical("basalt: '{}' is given up inside a task that uses it; its registration is leaked",
                         datum->name);
        return;
    }
    if (!used_here && (!datum->renameable || may_wait_here(*datum))) {
        const std::unique_ptr<Datum> owned(datum);
        try {
            wait_datum(*datum, home, datum->borrowed);
        } catch (const DeviceError& error) {  // a lost device: what it held is gone, its users are still waited for
            spdlog::error("basalt: '{}' does not come home: {}", datum->name, error.what());
            wait_datum(*datum, home, false);
        }
        return;
    }
    const std::lock_guard guard(home.lock);
    if (datum->home_scope != home.id) datum->home_scope = home.id;  // child tasks may be reading it
    abandon(*datum->current);
    submit_internal(home, *datum->current, false, [datum] { datum->give_up(); });
}

void Datum::take_back(HostBuffer buffer) {
    std::unique_lock guard(retired_lock);
    spare_buffers.push_back(std::move(buffer));
    if (--retired_versions > 0 || !given_up) return;
    guard.unlock();
    delete this;
}

void Datum::give_up() {
    std::unique_lock guard(retired_lock);
    given_up = true;
    if (retired_versions > 0) return;
    guard.unlock();
    delete this;
}

Datum* create_datum(Engine& engine, void* base, std::size_t element_size, Index rows, std::int32_t cols,
                    Storage storage, const char* name) {
    return engine.create_datum(base, element_size, rows, cols, storage, name);
}

void destroy_datum(Engine& engine, Datum* datum) noexcept { engine.destroy_datum(datum); }

void* wait_datum(const DatumHandle& handle) {
    if (handle.get() == nullptr) throw UsageError("the array or matrix is empty or was released");
    handle.engine()->wait_datum(*handle.get());
    return handle.get()->current->base;
}

const char* default_name(const char* stem) {
    static std::atomic<std::uint64_t> number{0};
    return TaskName::intern(std::string(stem) + "#" + std::to_string(++number)).c_str();
}

}  // namespace basalt::detail
