#include "runtime/submission.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

namespace basalt::detail {

namespace {

struct Nothing {
    void operator()() const {}
};
using NothingOps = PlainOps<Nothing, NoKernel>;

bool writes(AccessMode mode) { return mode != AccessMode::read; }

bool is_empty(const AccessRecord& r) { return r.row_begin == r.row_end || r.col_begin == r.col_end; }

std::string describe(const AccessRecord& r) {
    return std::string(r.datum->name) + " rows [" + std::to_string(r.row_begin) + ", " + std::to_string(r.row_end) +
           ") columns [" + std::to_string(r.col_begin) + ", " + std::to_string(r.col_end) + ")";
}

void check_region(const AccessRecord& r) {
    if (r.datum == nullptr) throw UsageError("access to an array or matrix that is empty or was released");
    const bool ordered = 0 <= r.row_begin && r.row_begin <= r.row_end && 0 <= r.col_begin && r.col_begin <= r.col_end;
    if (!ordered || r.row_end > r.datum->rows || r.col_end > r.datum->cols) {
        throw UsageError("access to " + describe(r) + ": allowed are rows up to " + std::to_string(r.datum->rows) +
                         " and columns up to " + std::to_string(r.datum->cols));
    }
}

}  // namespace

TaskSubmission::TaskSubmission(Engine& engine, Scope& scope, SlotCache& cache)
    : engine_(engine), scope_(scope), cache_(cache), task_(&engine.pool_.take(cache)) {
    // unique over all scopes: a stamp left in a recycled slot never equals a later one
    stamp_ = scope.id << 32 | (++scope.next_stamp & 0xffffffff);
    Task& task = *task_;
    task.scope = &scope;
    task.ops = nullptr;
    task.kind = TaskKind::user;
    task.commutes = false;
    task.gang = false;
    task.used_edges = 0;
    task.recorded.store(0, std::memory_order_relaxed);
    task.relay = TaskRef::none;
    task.access_count = 0;
    task.more_accesses = nullptr;
    task.step = -1;
    // relaxed stores: the task is published later, by the edge lists' CAS or by the scheduler's lock
    task.children.store(nullptr, std::memory_order_relaxed);
    task.node.store(host_node, std::memory_order_relaxed);
    task.device_work.store(nullptr, std::memory_order_relaxed);
    task.stamp.store(0, std::memory_order_relaxed);
    task.pending.store(held, std::memory_order_relaxed);
}

TaskSubmission::~TaskSubmission() {
    if (released_) return;
    Task& task = *task_;
    if (task.more_accesses != nullptr) delete[] task.more_accesses;
    task.more_accesses = nullptr;
    task.access_count = 0;
    if (!hazards_begun_) {
        release_device_work(task);
        engine_.pool_.give_back(cache_, task.slot);
        return;
    }
    // Out of memory half-way: edges and access maps know the task already. It goes its way without a kernel.
    destroy_kernel(task);
    task.ops = &NothingOps::ops;
    release_device_work(task);
    task.kind = TaskKind::internal;
    task.commutes = task.gang = false;
    Task* ready = &task;
    if (released()) engine_.make_ready(&ready, 1, nullptr);
}

std::string TaskSubmission::label() const { return task_label(*task_); }

void TaskSubmission::bind_accesses(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases) {
    for (std::size_t i = 0; i < count; ++i) {
        if (records[i].datum != nullptr) records[i].datum->prefetch();
    }
    for (std::size_t i = 0; i < count; ++i) check_region(records[i]);
    Task& task = *task_;
    if (count > Task::inline_accesses) task.more_accesses = new BoundAccess[count];
    BoundAccess* bound = task.access_begin();
    task.access_count = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const AccessRecord& r = records[i];
        bases[i] = nullptr;
        // depends on nothing, so nothing would keep the version that it were bound to
        if (is_empty(r)) continue;
        const bool fresh = ops.binds_views && may_rename(r, records, count);
        Version& version = fresh ? prepare_rename(*r.datum) : resolve(r);
        bound[task.access_count++] = BoundAccess(&version, r);
        bases[i] = version.base;
        task.commutes |= r.mode == AccessMode::commute;
    }
    block_ = count > block_accesses;
}

void TaskSubmission::store_kernel(const KernelOps& ops, void* source, void* const* bases) {
    Task& task = *task_;
    task.ops = &ops;
    if (task.kernel_is_inline()) {
        ops.construct(task.kernel.data(), source, bases);
        return;
    }
    void* storage = ::operator new (ops.size, std::align_val_t{ops.align});
    try {
        ops.construct(storage, source, bases);
    } catch (...) {
        ::operator delete (storage, std::align_val_t{ops.align});
        throw;
    }
    *reinterpret_cast<void**>(task.kernel.data()) = storage;
}

/// The version of the datum that the access means here. Throws UsageError where it may not be accessed.
Version& TaskSubmission::resolve(const AccessRecord& record) {
    Datum& datum = *record.datum;
    if (datum.home_scope != scope_.id && scope_.owner != nullptr) return resolve_in_task(record);
    // made in a task that has ended: at home here from now on. Written once only: child tasks read it.
    if (datum.home_scope != scope_.id) datum.home_scope = scope_.id;
    return *datum.current;
}

/// A child may access what its parent holds, no more: the parent's accesses must cover the region.
Version& TaskSubmission::resolve_in_task(const AccessRecord& record) const {
    const Task& parent = *scope_.owner;
    const BoundAccess* begin = parent.access_begin();
    const BoundAccess* end = begin + parent.access_count;
    Version* version = nullptr;
    Index covered = record.row_begin;
    bool advanced = true;
    while (advanced && (covered < record.row_end || version == nullptr)) {
        advanced = false;
        for (const BoundAccess* held_by_parent = begin; held_by_parent != end; ++held_by_parent) {
            const BoundAccess& h = *held_by_parent;
            if (h.version->datum != record.datum || (writes(record.mode) && !writes(h.mode))) continue;
            if (h.col_begin > record.col_begin || h.col_end < record.col_end) continue;
            if (h.row_begin <= covered && (covered < h.row_end || (version == nullptr && covered <= h.row_end))) {
                version = h.version;
                advanced = covered < h.row_end;
                covered = std::max(covered, h.row_end);
            }
        }
    }
    if (version == nullptr || covered < record.row_end) {
        throw UsageError("child task accesses " + describe(record) + ", which its parent task '" + parent.name +
                         "' does not hold in that mode; children may access subsets of what their parent accesses");
    }
    return *version;
}

bool TaskSubmission::may_rename(const AccessRecord& record, const AccessRecord* records, std::size_t count) const {
    constexpr int most_versions = 16;
    Datum& datum = *record.datum;
    if (record.mode != AccessMode::write || !datum.renameable || datum.bytes() == 0) return false;
    if (datum.home_scope != scope_.id) return false;
    if (record.row_begin != 0 || record.row_end != datum.rows) return false;
    if (record.col_begin != 0 || record.col_end != datum.cols) return false;
    const auto times =
        std::count_if(records, records + count, [&](const AccessRecord& other) { return other.datum == &datum; });
    if (times != 1 || !datum.current->accesses.busy(*this)) return false;
    const std::lock_guard guard(datum.retired_lock);
    return datum.retired_versions < most_versions;
}

/// Fresh storage for the datum's next contents. It becomes current when the task can no longer fail to enter
/// the graph, since until then the old contents are the valid ones.
Version& TaskSubmission::prepare_rename(Datum& datum) {
    auto fresh = std::make_unique<Version>();
    fresh->datum = &datum;
    {
        const std::lock_guard guard(datum.retired_lock);
        if (!datum.spare_buffers.empty()) {
            fresh->owned = std::move(datum.spare_buffers.back());
            datum.spare_buffers.pop_back();
        }
    }
    if (fresh->owned.data() == nullptr) fresh->owned = HostBuffer(datum.bytes());
    fresh->base = fresh->owned.data();
    fresh_versions_.push_back(std::move(fresh));
    return *fresh_versions_.back();
}

/// Makes the prepared versions current. A task behind all users of an old one takes its memory back.
void TaskSubmission::commit_renames() {
    for (std::unique_ptr<Version>& fresh : fresh_versions_) {
        Datum& datum = *fresh->datum;
        std::shared_ptr<Version> retired = std::move(datum.renamed);
        if (!retired) retired = std::shared_ptr<Version>(&datum.first, [](Version*) {});
        datum.renamed = std::move(fresh);
        datum.current = datum.renamed.get();
        {
            const std::lock_guard guard(datum.retired_lock);
            ++datum.retired_versions;
        }
        ++scope_.renamed;
        engine_.abandon(*retired);
        engine_.submit_internal(scope_, *retired, false, [retired] {
            retired->residency.reset();
            retired->datum->take_back(std::move(retired->owned));
        });
    }
}

void TaskSubmission::record_hazards() {
    hazards_begun_ = true;
    if (!fresh_versions_.empty()) commit_renames();
    const BoundAccess* access = task_->access_begin();
    const TaskRef self = task_->ref();
    for (std::uint32_t i = 0; i < task_->access_count; ++i) {
        Version& version = *access[i].version;
        AccessMap& map = version.datum->home_scope == scope_.id ? version.accesses : scope_.map_of(&version);
        map.record(self, access[i], *this);
    }
    if (candidates_.empty()) return;
    if (block_) return add_pruned_edges();
    for (const Candidate& candidate : candidates_) add_edge(candidate.task, candidate.in_part);
}

bool TaskSubmission::completed(TaskRef ref) const {
    // acquire: what the task wrote is visible to whoever is told that it has completed
    return engine_.completed(ref);
}

void TaskSubmission::depend_on(TaskRef predecessor) {
    if (!predecessor.valid() || predecessor.slot == task_->slot) return;
    if (!block_) {
        add_edge(predecessor, false);
    } else if (!completed(predecessor)) {
        candidates_.push_back({predecessor, false});
    }
}

/// Whether this task waits for a part of the predecessor only. If it must not, it does so with no broadcast.
bool TaskSubmission::waits_in_part(DeviceWork& self, const DeviceWork& before, bool may) {
    if (!before.has_parts.load(std::memory_order_relaxed)) return false;
    if (!may) self.one_memory.store(false, std::memory_order_relaxed);
    return self.one_memory.load(std::memory_order_relaxed);
}

/// Pushes an edge onto the predecessor's list unless it has completed or already has one to this task. `in_part`: of a
/// broadcast it is enough to wait for what concerns this task's device.
void TaskSubmission::add_edge(TaskRef predecessor, bool in_part) {
    Task& before = engine_.pool_.at(predecessor.slot);
    std::uint64_t head = before.successors.load(std::memory_order_acquire);
    if (Task::generation_of(head) != predecessor.generation) return;
    // Stamps are written by submitters of the scope that the predecessor belongs to, so while the generation
    // stands the stamp is this submitter's business alone; once it does not, nothing is lost by returning.
    if (before.stamp.load(std::memory_order_relaxed) == stamp_) {
        ++scope_.dropped;
        return;
    }
    before.stamp.store(stamp_, std::memory_order_relaxed);
    DeviceWork* self = task_->on_device();
    // kept: the slot's next tenant may have none
    const DeviceWork* work = self != nullptr ? before.on_device() : nullptr;
    if (work != nullptr) {
        in_part = waits_in_part(*self, *work, in_part);
        self->unfinished.fetch_add(1, std::memory_order_relaxed);
    }
    std::uint32_t* next = nullptr;
    const std::uint32_t edge = new_edge(next);
    do {
        if (Task::generation_of(head) != predecessor.generation) {
            // completed meanwhile: the edge stays unused, its place is taken again by the next one
            if (task_->relay == TaskRef::none) {
                --task_->used_edges;
            } else {
                --relay_used_;
            }
            if (work != nullptr) self->unfinished.fetch_sub(1, std::memory_order_relaxed);
            return;
        }
        *next = static_cast<std::uint32_t>(head);
        // release: the predecessor's worker must see `*next` and everything this task needs before `pending`
    } while (!before.successors.compare_exchange_weak(head, (head >> 32) << 32 | edge, std::memory_order_release,
                                                      std::memory_order_acquire));
    note_predecessor(predecessor, work != nullptr && in_part);
    if (work != nullptr && (head & Task::enqueued) != 0) return wait_behind(*work);
    ++edges_;
}

/// The predecessor is on its way in a stream: it is enough that this one's stream waits for it. (If it completes just
/// now and `before` is some other task's already, that one is waited for without need.)
void TaskSubmission::wait_behind(const DeviceWork& before) {
    std::array<StreamPoint, DeviceWork::most_ends> ends;
    DeviceWork& self = *task_->on_device();
    const std::size_t count = before.ends_for(self, ends);
    for (std::size_t i = 0; i < count; ++i) self.waits.add(ends[i]);
}

/// An edge in a relay, a fresh one if need be.
std::uint32_t TaskSubmission::new_relay_edge(std::uint32_t*& next) {
    if (task_->relay == TaskRef::none || relay_used_ == Relay::edges) {
        Task& slot = engine_.pool_.take(cache_);
        slot.kind = TaskKind::relay;
        Relay* relay = ::new (reinterpret_cast<std::byte*>(&slot) + 64) Relay;
        relay->target = task_->slot;
        relay->previous = task_->relay;
        task_->relay = slot.slot;
        relay_used_ = 0;
    }
    next = &engine_.pool_.relay_at(task_->relay).next_edge[relay_used_];
    return TaskPool::edge(task_->relay, relay_used_++);
}

/// Block tasks name many regions, most of which lead to the same few tasks or to predecessors of those.
/// A candidate that another candidate waits for is implied by it and needs no edge.
void TaskSubmission::add_pruned_edges() {
    // of the same task, the candidate that waits for all of it comes first
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
        return pack(a.task) != pack(b.task) ? pack(a.task) < pack(b.task) : a.in_part < b.in_part;
    });
    const auto unique_end = std::unique(candidates_.begin(), candidates_.end(),
                                        [](const Candidate& a, const Candidate& b) { return a.task == b.task; });
    scope_.dropped += static_cast<std::uint64_t>(candidates_.end() - unique_end);
    candidates_.erase(unique_end, candidates_.end());

    std::vector<std::uint64_t> implied;
    for (const Candidate& candidate : candidates_) {
        Task& task = engine_.pool_.at(candidate.task.slot);
        const std::size_t recorded = task.recorded.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < recorded; ++i) {
            // acquire, here and above: the generation is looked at only afterwards
            const std::uint64_t word = task.predecessors[i].load(std::memory_order_acquire);
            // a slot taken by another task meanwhile shows by its generation: then the candidate has completed
            if ((word & Task::in_part) == 0 && !completed(candidate.task)) implied.push_back(word);
        }
    }
    std::sort(implied.begin(), implied.end());
    for (const Candidate& candidate : candidates_) {
        if (std::binary_search(implied.begin(), implied.end(), pack(candidate.task))) {
            ++scope_.dropped;
        } else {
            add_edge(candidate.task, candidate.in_part);
        }
    }
}

/// A node without a kernel that completes when all of `tasks` have: one dependency in the place of many.
TaskRef TaskSubmission::join(const TaskGroup& tasks) {
    TaskSubmission node(engine_, scope_, cache_);
    node.task_->kind = TaskKind::sync;
    node.task_->name = "sync";
    node.task_->node.store(Task::several_nodes, std::memory_order_relaxed);  // as any of those it stands for
    node.task_->priority = std::numeric_limits<int>::max();
    const TaskRef ref = node.task_->ref();
    for (const TaskRef task : tasks) {
        if (task.slot != task_->slot) node.depend_on(task);
    }
    ++scope_.sync_nodes;
    if (!node.released()) return ref;
    // all of them have completed already: nothing to wait for
    scope_.submitted.store(scope_.submitted.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    if (scope_.owner != nullptr) scope_.outstanding.fetch_sub(1, std::memory_order_relaxed);
    engine_.pool_.give_back_relays(cache_, node.task_->relay);
    engine_.pool_.give_back(cache_, node.task_->slot);
    return {};
}

bool TaskSubmission::released() {
    released_ = true;
    scope_.edges += static_cast<std::uint64_t>(edges_);
    if (scope_.owner != nullptr) scope_.outstanding.fetch_add(1, std::memory_order_relaxed);
    // release: who reads the count to decide that nothing is in flight also sees what led to it
    scope_.submitted.store(scope_.submitted.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    if (edges_ == 0) {  // nobody else is going to make it ready
        task_->pending.store(0, std::memory_order_relaxed);
        return true;
    }
    // acq_rel: gathers what completed predecessors wrote, publishes the task to the one that completes last
    const std::int32_t before = task_->pending.fetch_sub(held - edges_, std::memory_order_acq_rel);
    return before == held - edges_;
}

}  // namespace basalt::detail
