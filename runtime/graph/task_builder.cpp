#include "runtime/graph/task_builder.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "runtime/graph/access_binding.hpp"
#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

using NoWorkOps = PlainOps<NoWork, NoKernel>;

struct Action {
    std::function<void()> function;
    void operator()() { function(); }
};
using ActionOps = PlainOps<Action, NoKernel>;

/// More accesses than this make a block task, whose edges are pruned before they are made.
constexpr std::size_t block_accesses = 4;

}  // namespace

void TaskBuilder::give_up() {
    Task& task = new_.task();
    graph_.pool().give_back_accesses(cache_, task);
    task.more_accesses = nullptr;
    task.access_count = 0;
    drop_device_work();
    if (stage_ == Stage::filled_in) {
        new_.give_up();
        return;
    }
    // Out of memory half-way: edges and access maps know the task already. It goes its way without a kernel.
    graph_.pool().destroy_kernel(cache_, task);
    task.ops = &NoWorkOps::ops;
    task.kind = TaskKind::internal;
    task.commutes = task.gang = false;
    submit();
}

void TaskBuilder::make_internal(const char* name, int priority) {
    Task& task = new_.task();
    task.kind = TaskKind::internal;
    task.name = name;
    task.tile = {};
    task.priority = priority;
    task.max_threads = task.min_threads = 1;
}

void TaskBuilder::bind(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases) {
    for (std::size_t i = 0; i < count; ++i) {
        if (records[i].datum != nullptr) records[i].datum->prefetch();
    }
    std::uint32_t nonempty = 0;
    for (std::size_t i = 0; i < count; ++i) {
        check_region(graph_, scope_, records[i]);
        nonempty += is_empty(records[i]) ? 0 : 1;
    }
    Task& task = new_.task();
    task.access_count = nonempty;
    graph_.pool().make_room_for_accesses(cache_, task);
    BoundAccess* bound = task.access_begin();
    for (std::size_t i = 0; i < count; ++i) {
        const AccessRecord& r = records[i];
        bases[i] = nullptr;
        // depends on nothing, so nothing would keep the version that it were bound to
        if (is_empty(r)) continue;
        const bool fresh = ops.binds_views && may_rename(scope_, r, records, count, new_);
        // becomes current when the task can no longer fail to enter the graph: until then the old contents are valid
        if (fresh) fresh_versions_.push_back(fresh_version(*r.datum));
        Version& version = fresh ? *fresh_versions_.back() : resolve(scope_, r);
        *bound++ = BoundAccess(&version, r);
        bases[i] = version.base;
        task.commutes |= r.mode == AccessMode::commute;
    }
    if (nonempty > block_accesses) new_.collect_candidates();
}

void TaskBuilder::bind_all(Version& version, Index row_begin, Index row_end, AccessMode mode) {
    Task& task = new_.task();
    task.accesses[0] = BoundAccess(&version, {version.datum, row_begin, row_end, 0, version.datum->cols, 0, mode});
    task.access_count = 1;
}

DeviceWork& TaskBuilder::run_on(int device, StreamRole role, std::uint8_t node) {
    DeviceWork& work = graph_.device_works().take();
    work.device = device;
    work.role = role;
    work.order = scope_.order.next_stamp;  // this task's, which is larger than those of all before it
    new_.task().device_work.store(&work, std::memory_order_relaxed);
    new_.task().node.store(node, std::memory_order_relaxed);
    return work;
}

void TaskBuilder::drop_device_work() {
    Task& task = new_.task();
    DeviceWork* work = task.on_device();
    if (work == nullptr) return;
    task.device_work.store(nullptr, std::memory_order_relaxed);
    graph_.device_works().give_back(*work);
}

void TaskBuilder::store_kernel(const KernelOps& ops, void* source, void* const* bases) {
    Task& task = new_.task();
    task.ops = &ops;
    void* room = graph_.pool().make_room_for_kernel(cache_, task);
    try {
        ops.construct(room, source, bases);
    } catch (...) {
        graph_.pool().forget_kernel(cache_, task);
        throw;
    }
}

void TaskBuilder::store_action(std::function<void()> action) {
    ActionOps::Source source{{std::move(action)}, {}};
    store_kernel(ActionOps::ops, &source, nullptr);
}

void TaskBuilder::store_no_kernel() {
    NoWorkOps::Source source{};
    store_kernel(NoWorkOps::ops, &source, nullptr);
}

void TaskBuilder::submit_dropped(const TaskOptions& options, const AccessRecord* records, std::size_t count,
                                 void** bases) {
    set_options(options, 1);
    bind(records, count, NoWorkOps::ops, bases);
    store_no_kernel();
    record_hazards();
    submit();
}

void TaskBuilder::record_hazards() {
    stage_ = Stage::in_maps;
    if (!fresh_versions_.empty()) commit_renames();
    const Task& task = new_.task();
    const BoundAccess* access = task.access_begin();
    const TaskRef self = task.ref();
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        Version& version = *access[i].version;
        AccessMap& map =
            version.datum->home_order == scope_.order.id ? version.accesses : scope_.order.map_of(&version);
        map.record(self, access[i], new_);
    }
    new_.make_edges();
}

/// Makes the fresh versions current.
void TaskBuilder::commit_renames() {
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
        ++scope_.order.renamed;
        retire(retired);
    }
}

/// A task behind all users of the old version takes its memory back.
void TaskBuilder::retire(const std::shared_ptr<Version>& version) {
    version->abandon();
    TaskBuilder last(graph_, graph_.housekeeping_of(scope_));
    last.make_internal("internal", std::numeric_limits<int>::max());
    last.bind_all(*version, 0, version->datum->rows, AccessMode::readwrite);
    last.store_action([version, &graph = graph_] {
        graph.unwritten().forget(*version);
        version->residency.reset();
        DatumPool::of_process().take_back(*version->datum, std::move(version->owned));
    });
    last.record_hazards();
    last.submit();
}

}  // namespace basalt::detail
