#include "runtime/engine/data_registry.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/spdlog.h>

#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

bool is_addressable(std::size_t element_size, Index rows, std::int32_t cols) {
    constexpr std::int32_t most_columns = 1 << 28;
    const auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (rows < 0 || cols < 0 || cols > most_columns) return false;
    return rows == 0 || cols == 0 ||
           static_cast<std::size_t>(rows) <= most / element_size / static_cast<std::size_t>(cols);
}

}  // namespace

Datum* DataRegistry::create(void* base, std::size_t element_size, Index rows, std::int32_t cols, Storage storage,
                            std::string_view name) {
    if (!is_addressable(element_size, rows, cols)) {
        throw UsageError(std::string(name) + ": " + std::to_string(rows) + " x " + std::to_string(cols) +
                         " elements; allowed are sizes from 0 to what memory can address");
    }
    DatumOwner datum(&DatumPool::of_process().take(graph_, name));
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
    datum->home_order = graph_.current_scope().order.id;
    return datum.release();
}

/// The scope at home in which the datum's users are recorded: the calling thread's, one around it, or level 0
/// when it was made in a task that has ended.
Scope& DataRegistry::home_of(const Datum& datum) {
    for (Scope* scope = &graph_.current_scope(); scope != nullptr; scope = scope->parent) {
        if (scope->order.id == datum.home_order) return *scope;
    }
    return graph_.root();
}

/// Whether a task that the calling thread is inside of uses the datum.
bool DataRegistry::used_around_here(const Datum& datum) const {
    const auto uses = [&](const Task& task) {
        const BoundAccess* access = task.access_begin();
        return std::any_of(access, access + task.access_count,
                           [&](const BoundAccess& a) { return a.version->datum == &datum; });
    };
    for (const ThreadContext* context = ThreadContext::of(graph_); context != nullptr; context = context->outer()) {
        for (const Task* task = context->task(); task != nullptr; task = task->scope->owner) {
            if (uses(*task)) return true;
        }
    }
    return false;
}

/// Whether the calling thread may wait for the datum's users: outside, or inside the task that made it,
/// whose children its users are. Elsewhere they may be waiting for what this thread is inside of.
bool DataRegistry::may_wait_here(const Datum& datum) {
    const ThreadContext* context = ThreadContext::of(graph_);
    return context == nullptr || (context->task() != nullptr && graph_.current_scope().order.id == datum.home_order);
}

/// The datum's home, if it is where the calling thread is.
Scope& DataRegistry::check_may_wait(const Datum& datum) {
    Scope& home = home_of(datum);
    if (&home != &graph_.current_scope()) {
        throw UsageError("waiting for " + datum.name +
                         " inside a task that did not create it: its users may be waiting for this very task");
    }
    return home;
}

void DataRegistry::wait(Datum& datum) {
    Scope& home = check_may_wait(datum);
    wait_at_home(datum, home, Submission::Contents::at_home);
    const std::lock_guard guard(home.order.lock);
    if (datum.current->residency) coherence_->check_home(*datum.current->residency);
    if (const auto missing = graph_.unwritten().missing(*datum.current)) throw DataError(*missing);
}

void DataRegistry::wait_to_overwrite(Datum& datum) {
    Scope& home = check_may_wait(datum);
    wait_at_home(datum, home, Submission::Contents::anywhere);
    const std::lock_guard guard(home.order.lock);
    graph_.unwritten().restore(*datum.current);
}

/// Waits behind every task that uses the datum: a task of our own that uses all of it. The thread helps with
/// tasks that may be in the way, at any level from the datum's on. Unless the contents are to be at home they are given
/// up.
void DataRegistry::wait_at_home(Datum& datum, Scope& home, Submission::Contents contents) {
    std::atomic<bool> done{false};
    {
        const std::lock_guard guard(home.order.lock);
        if (datum.home_order != home.order.id) datum.home_order = home.order.id;  // child tasks may be reading it
        if (contents == Submission::Contents::anywhere) datum.current->abandon();
        submission_.submit_internal(home, *datum.current, contents,
                                    [&done] { done.store(true, std::memory_order_release); });
    }
    const auto is_done = [&] {
        if (!done.load(std::memory_order_acquire)) return false;
        const std::lock_guard guard(datum.retired_lock);
        return datum.retired_versions == 0;
    };
    if (ThreadContext::of(graph_) != nullptr) {
        waiting_.help(home, is_done);
    } else {
        waiting_.help_outside(home, is_done);
    }
}

void DataRegistry::destroy(Datum* datum) noexcept {
    datum->end_registration();
    const ThreadContext* context = ThreadContext::of(graph_);
    if (context != nullptr && context->inside_device_kernel()) {
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
    if (used_here || (datum->renameable && !may_wait_here(*datum))) return destroy_when_unused(datum, home);
    const DatumOwner owned(datum);
    using Contents = Submission::Contents;
    try {
        wait_at_home(*datum, home, datum->borrowed ? Contents::at_home : Contents::anywhere);
    } catch (const DeviceError& error) {  // a lost device: what it held is gone, its users are still waited for
        spdlog::error("basalt: '{}' does not come home: {}", datum->name, error.what());
        wait_at_home(*datum, home, Contents::anywhere);
    }
    graph_.unwritten().forget(*datum->current);
}

/// Waiting here would never end: the datum deletes itself behind its last user.
void DataRegistry::destroy_when_unused(Datum* datum, Scope& home) {
    const std::lock_guard guard(home.order.lock);
    if (datum->home_order != home.order.id) datum->home_order = home.order.id;  // child tasks may be reading it
    datum->current->abandon();
    submission_.submit_internal(home, *datum->current, Submission::Contents::anywhere, [this, datum] {
        graph_.unwritten().forget(*datum->current);
        DatumPool::of_process().give_up(*datum);
    });
}

void DataRegistry::release_all() noexcept {
    for (Datum* datum : DatumPool::of_process().of(graph_)) {
        if (datum->is_registered()) destroy(datum);
    }
    // what was given up inside a task that used it: no task runs any more
    for (Datum* datum : DatumPool::of_process().of(graph_)) DatumPool::of_process().give_back(*datum);
}

}  // namespace basalt::detail
