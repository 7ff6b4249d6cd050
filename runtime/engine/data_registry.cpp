#include "runtime/engine/data_registry.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "runtime/graph/access_binding.hpp"
#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

bool is_addressable(const DataRegistry::Elements& e) {
    const auto most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (e.rows < 0 || e.cols < 0 || e.cols > most_datum_columns) return false;
    return e.rows == 0 || e.cols == 0 || e.element_size == 0 ||
           static_cast<std::size_t>(e.rows) <= most / e.element_size / static_cast<std::size_t>(e.ld);
}

}  // namespace

Datum* DataRegistry::create(const Elements& elements, Storage storage, std::string_view name) {
    if (!is_addressable(elements)) {
        const Index cols = elements.cols, rows = elements.rows;
        throw UsageError(std::string(name) + ": " + std::to_string(elements.by_columns ? cols : rows) + " x " +
                         std::to_string(elements.by_columns ? rows : cols) +
                         " elements; allowed are sizes from 0 to what memory can address");
    }
    DatumOwner datum(&DatumPool::of_process().take(graph_, name));
    datum->element_size = elements.element_size;
    datum->rows = elements.rows;
    datum->cols = elements.cols;
    datum->ld = elements.ld;
    datum->by_columns = elements.by_columns;
    // a token may delete itself behind its last user, as what the runtime owns; that of no bytes is never renamed
    datum->renameable = storage == Storage::owned || storage == Storage::none;
    datum->scratch = storage == Storage::scratch;
    datum->borrowed = storage == Storage::borrowed;
    if (storage != Storage::owned && elements.base == nullptr && datum->bytes() > 0) {
        throw UsageError(std::string(name) + ": the pointer is null but the size is not 0");
    }
    datum->current->datum = datum.get();
    datum->current->base = elements.base;
    if (storage == Storage::owned) {
        datum->current->owned = HostBuffer(datum->bytes());
        datum->current->base = datum->current->owned.data();
    }
    if (storage == Storage::none) datum->current->base = datum.get();  // any address: null stands for an empty access
    datum->home_order = graph_.current_scope().order.id;
    return datum.release();
}

Datum* DataRegistry::create_object(std::shared_ptr<void> value, std::string_view name) {
    Datum* datum = create({value.get(), 0, 1, 1, 1}, Storage::none, name);
    datum->current->base = value.get();
    datum->object = std::move(value);
    return datum;
}

/// A block in the memory of `whole`; it belongs to no partition yet.
DatumOwner DataRegistry::make_block(const Datum& whole, const ArrayPart& part, const std::string& name) const {
    DatumOwner block(&DatumPool::of_process().take(graph_, name));
    block->element_size = whole.element_size;
    block->rows = part.row_end - part.row_begin;
    block->cols = static_cast<std::int32_t>(part.col_end - part.col_begin);
    block->ld = whole.ld;
    block->by_columns = whole.by_columns;
    block->borrowed = whole.borrowed;
    block->first_row = part.row_begin;
    block->first_col = part.col_begin;
    block->current->datum = block.get();
    return block;
}

std::vector<Datum*> DataRegistry::split(Datum& whole, const Cuts& cuts) {
    Scope& home = home_of(whole);
    if (&home != &graph_.current_scope()) {
        throw UsageError("'" + whole.name +
                         "' is split inside a task that did not create it; allowed is to split it "
                         "where it was created, and its task may use the blocks");
    }
    std::vector<DatumOwner> blocks;
    for (std::size_t i = 0; i < cuts.block_rows(); ++i) {
        for (std::size_t j = 0; j < cuts.block_cols(); ++j) {
            const std::size_t row = whole.by_columns ? j : i, col = whole.by_columns ? i : j;
            const bool line = !whole.by_columns && whole.cols == 1;
            const std::string place =
                line ? "[" + std::to_string(row) + "]" : "(" + std::to_string(row) + "," + std::to_string(col) + ")";
            blocks.push_back(make_block(whole, {cuts.rows[i], cuts.rows[i + 1], cuts.cols[j], cuts.cols[j + 1]},
                                        whole.name + place));
        }
    }
    std::vector<Datum*> data(blocks.size());
    const std::lock_guard guard(home.order.lock);
    blocks_.add(whole, cuts, blocks);
    std::transform(blocks.begin(), blocks.end(), data.begin(), [](DatumOwner& block) { return block.release(); });
    return data;
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
    const auto is_part = [&](const Datum& used) {
        return &used == &datum || (used.whole != nullptr && used.whole->datum == &datum);
    };
    const auto uses = [&](const Task& task) {
        const BoundAccess* access = task.access_begin();
        return std::any_of(access, access + task.access_count,
                           [&](const BoundAccess& a) { return is_part(*a.version->datum); });
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
    graph_.refuse_while_recording("waiting for an array or matrix");
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

void DataRegistry::invalidate(const AccessRecord& record) {
    graph_.refuse_while_recording("invalidate()");
    const Scope& scope = graph_.current_scope();
    check_region(graph_, scope, record);
    Datum& datum = *record.datum;
    Scope& home = home_of(datum);
    if (&home != &scope) {
        throw UsageError("'" + datum.name +
                         "' is invalidated inside a task that did not create it; allowed is to do that where it was "
                         "created");
    }
    const std::lock_guard guard(home.order.lock);
    if (datum.home_order != home.order.id) datum.home_order = home.order.id;  // child tasks may be reading it
    make_current(datum, home, Submission::Contents::anywhere);
    Version& version = *datum.current;
    submission_.submit_internal(home, version, Submission::Contents::anywhere,
                                [this, &version] { graph_.unwritten().lose(version, "the program invalidated it"); });
}

/// Waits behind every task that uses the datum: a task of our own that uses all of it. The thread helps with
/// tasks that may be in the way, at any level from the datum's on. Unless the contents are to be at home they are given
/// up.
void DataRegistry::wait_at_home(Datum& datum, Scope& home, Submission::Contents contents) {
    std::atomic<bool> done{false};
    {
        const std::lock_guard guard(home.order.lock);
        if (datum.home_order != home.order.id) datum.home_order = home.order.id;  // child tasks may be reading it
        make_current(datum, home, contents);
        TaskBuilder::retire_former(graph_, home, datum);
        submission_.submit_internal(home, *datum.current, contents,
                                    [&done] { done.store(true, std::memory_order_release); });
    }
    const Waiters::Note note(waiting_.waiters(), ThreadContext::task_of(graph_),
                             [&] { return "for the users of '" + datum.name + "'"; });
    const auto is_done = [&] {
        if (!done.load(std::memory_order_acquire)) return false;
        const std::lock_guard guard(datum.retired_lock);
        return datum.retired_versions == 0;
    };
    if (ThreadContext::of(graph_) != nullptr) {
        // destructors wait here, and tasks refer to `done`: nothing may be thrown
        waiting_.help(home, is_done, {}, Waiting::StackEnd::run_on);
    } else {
        waiting_.help_outside(home, is_done);
    }
}

/// Gives the contents up if no task uses the datum any more, nor a former version of it: then there is nothing to wait
/// for. Completed tasks are seen with acquire, so that what they wrote is visible. Says no where it would take more to
/// know.
bool DataRegistry::abandon_if_unused(Datum& datum, Scope& home) {
    const std::lock_guard guard(home.order.lock);
    if (datum.home_order != home.order.id || datum.shares_memory || !datum.former.empty()) return false;
    if (in_use(graph_, *datum.current)) return false;
    {
        const std::lock_guard retired_guard(datum.retired_lock);
        if (datum.retired_versions > 0) return false;
    }
    datum.current->abandon();  // a thread that needs room on a device must not begin to save what ends now
    return true;
}

/// The datum's memory is used through it from now on. Unless the contents are to be at home they are given up.
void DataRegistry::make_current(Datum& datum, Scope& home, Submission::Contents contents) {
    const bool overwritten = contents == Submission::Contents::anywhere;
    if (overwritten) datum.current->abandon();
    using Contents = ArrayBlocks::Contents;
    blocks_.make_current(home, datum, overwritten ? Contents::overwritten : Contents::needed, {});
}

/// Of its blocks, too.
void DataRegistry::end_registration(Datum& datum, Scope& home) {
    const std::lock_guard guard(home.order.lock);
    datum.end_registration();
    if (datum.partitions) {
        datum.partitions->for_each([](Datum& block) {
            if (block.is_registered()) block.end_registration();
        });
    }
}

void DataRegistry::destroy_block(Datum& block) {
    Scope& home = home_of(*block.whole->datum);
    const std::lock_guard guard(home.order.lock);
    if (block.is_registered()) blocks_.release(home, block);
}

void DataRegistry::destroy(Datum* datum) noexcept {
    try {
        give_up(datum);
    } catch (const std::exception& error) {  // no memory, or a device is lost; the datum may be gone already
        spdlog::critical("basalt: a datum could not be given up: {}; what it holds may be leaked", error.what());
    } catch (...) {
        spdlog::critical("basalt: a datum could not be given up; what it holds may be leaked");
    }
}

void DataRegistry::give_up(Datum* datum) {
    const ThreadContext* context = ThreadContext::of(graph_);
    if (context != nullptr && context->is_closed()) {
        datum->end_registration();
        spdlog::critical("basalt: '{}' is given up inside a GPU kernel, hook or policy; its registration is leaked",
                         datum->name);
        return;
    }
    if (datum->whole != nullptr) return destroy_block(*datum);
    Scope& home = home_of(*datum);
    end_registration(*datum, home);
    const bool used_here = used_around_here(*datum);
    if (used_here && !datum->renameable) {
        spdlog::critical("basalt: '{}' is given up inside a task that uses it; its registration is leaked",
                         datum->name);
        return;
    }
    if (used_here || (datum->renameable && !may_wait_here(*datum))) return destroy_when_unused(datum, home);
    const DatumOwner owned(datum);
    using Contents = Submission::Contents;
    if (!datum->borrowed && abandon_if_unused(*datum, home)) return graph_.unwritten().forget(*datum->current);
    try {
        wait_at_home(*datum, home, datum->borrowed ? Contents::at_home : Contents::anywhere);
    } catch (const DeviceError& error) {  // a lost device: what it held is gone, its users are still waited for
        spdlog::error("basalt: '{}' does not come home: {}", datum->name, error.what());
        wait_at_home(*datum, home, Contents::anywhere);
    }
    graph_.unwritten().forget(*datum->current);
}

void DataRegistry::release_when_unused(Datum& datum) {
    if (datum.borrowed || datum.whole != nullptr) {
        throw UsageError("'" + datum.name +
                         "' is released without waiting for its users; allowed are arrays that the runtime owns");
    }
    graph_.refuse_while_recording("release_when_unused()");
    Scope& home = home_of(datum);
    end_registration(datum, home);
    destroy_when_unused(&datum, home);
}

/// The datum deletes itself behind its last user.
void DataRegistry::destroy_when_unused(Datum* datum, Scope& home) {
    const std::lock_guard guard(home.order.lock);
    if (datum->home_order != home.order.id) datum->home_order = home.order.id;  // child tasks may be reading it
    make_current(*datum, home, Submission::Contents::anywhere);
    TaskBuilder::retire_former(graph_, home, *datum);
    submission_.submit_internal(home, *datum->current, Submission::Contents::anywhere, [this, datum] {
        graph_.unwritten().forget(*datum->current);
        DatumPool::of_process().give_up(*datum);
    });
}

void DataRegistry::release_all() noexcept {
    for (Datum* datum : DatumPool::of_process().of(graph_)) {
        if (datum->is_registered() && datum->whole == nullptr) destroy(datum);
    }
    // what was given up inside a task that used it: no task runs any more
    for (Datum* datum : DatumPool::of_process().of(graph_)) {
        if (datum->graph == &graph_ && datum->whole == nullptr) DatumPool::of_process().give_back(*datum);
    }
}

}  // namespace basalt::detail
