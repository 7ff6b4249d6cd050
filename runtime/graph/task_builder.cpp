#include "runtime/graph/task_builder.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "runtime/graph/access_binding.hpp"
#include "runtime/graph/datum_pool.hpp"
#include "runtime/graph/region_overlap.hpp"

namespace basalt::detail {

namespace {

using NoWorkOps = PlainOps<NoWork, NoKernel>;

struct Action {
    std::function<void()> function;
    void operator()() { function(); }
};
using ActionOps = PlainOps<Action, NoKernel>;

/// More accesses than this make a block task, whose edges are pruned before they are made.
constexpr std::size_t block_accesses = 16;

void give_back_unused(Version& version) {
    version.datum->may_have_unused = true;
    const std::lock_guard guard(version.datum->retired_lock);
    version.datum->unused.push_back(version);
}

}  // namespace

void TaskBuilder::lose_overwritten() {
    const std::string why = "submit() refused task '" + task_label(task()) + "', which was to overwrite it";
    for (std::uint32_t i = 0; i < access_count(); ++i) {
        const BoundAccess& access = access_begin()[i];
        if (access.mode == AccessMode::write && access.version->datum->shares_memory) {
            graph_.unwritten().lose(access, why);
        }
    }
}

void TaskBuilder::give_up() {
    Task& task = new_.task();
    if (gives_up_contents_) lose_overwritten();
    graph_.pool().give_back_accesses(cache_, task);
    task.more_accesses = nullptr;
    task.access_count = 0;
    drop_device_work();
    if (stage_ == Stage::filled_in) {
        while (!fresh_versions_.empty()) give_back_unused(fresh_versions_.pop_front());
        new_.give_up();
        return;
    }
    // Out of memory half-way: edges and access maps know the task already. It goes its way without a kernel.
    if (graph_.unwritten().any()) graph_.unwritten().settle(task);  // whatever it follows
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

void TaskBuilder::make_step(const Task& coroutine) {
    Task& task = new_.task();
    task.kind = TaskKind::step;
    task.name = coroutine.name;
    task.tile = coroutine.tile;
    task.step = coroutine.step;
    task.priority = coroutine.priority;
    task.max_threads = task.min_threads = 1;
}

void TaskBuilder::bind(const AccessRecord* records, std::size_t count, const KernelOps& ops, void** bases) {
    std::uint32_t nonempty = 0;
    for (std::size_t i = 0; i < count; ++i) nonempty += is_empty(records[i]) ? 0 : 1;
    Task& task = new_.task();
    task.access_count = nonempty;
    graph_.pool().make_room_for_accesses(cache_, task);
    BoundAccess* bound = task.access_begin();
    bool shares_memory = false;
    for (std::size_t i = 0; i < count; ++i) {
        const AccessRecord& r = records[i];
        check_region(graph_, scope_, r, &task);
        bases[i] = nullptr;
        // depends on nothing, so nothing would keep the version that it were bound to
        if (is_empty(r)) continue;
        const bool renames = ops.binds_views && may_rename(graph_, scope_, r, records, count);
        Version& version = renames ? rename(*r.datum) : resolve(scope_, r, &task);
        *bound = BoundAccess(&version, r);
        // of a task that is dropped, or whose kernel takes no copy
        if (r.mode == AccessMode::reduce && ops.reduction == nullptr) bound->mode = AccessMode::readwrite;
        ++bound;
        bases[i] = version.base;
        task.commutes |= r.mode == AccessMode::commute;
        shares_memory |= r.datum->shares_memory;
    }
    shares_memory_ = shares_memory;
    if (nonempty > block_accesses) new_.collect_candidates();
}

void TaskBuilder::bind_all(const std::vector<WholeAccess>& accesses) {
    Task& task = new_.task();
    task.access_count = static_cast<std::uint32_t>(accesses.size());
    graph_.pool().make_room_for_accesses(cache_, task);
    BoundAccess* bound = task.access_begin();
    for (const auto& [version, mode] : accesses) {
        *bound++ = BoundAccess(version, {version->datum, 0, version->datum->rows, 0, version->datum->cols, 0, mode});
    }
    if (accesses.size() > block_accesses) new_.collect_candidates();
}

/// A version for the datum's next contents. It becomes current when the task can no longer fail to enter the graph:
/// until then the old contents are valid.
Version& TaskBuilder::rename(Datum& datum) {
    Version* const fresh = fresh_version(graph_, datum);
    if (fresh == nullptr) return *datum.current;  // too many are in use
    fresh_versions_.push_back(*fresh);
    return *fresh;
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

void TaskBuilder::join_reductions(const AccessRecord* records, std::size_t count, const KernelOps& ops,
                                  const void* source, void** bases, int workers, bool may_be_gang) {
    const BoundAccess* const begin = access_begin();
    const BoundAccess* const end = begin + access_count();
    const BoundAccess* access = begin;
    std::size_t next_spec = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const bool reduces = records[i].mode == AccessMode::reduce;
        const std::size_t number = reduces ? next_spec++ : 0;
        if (is_empty(records[i])) continue;
        const BoundAccess& region = *access++;
        if (!reduces) continue;
        if (std::any_of(begin, end, [&](const BoundAccess& other) {
                return &other != &region && other.version == region.version && regions_overlap(other, region);
            })) {
            throw UsageError("task '" + task_label(task()) + "' reduces into a part of '" + records[i].datum->name +
                             "' that it also uses in another way or twice; its parts for reduce() and for other "
                             "accesses must be disjoint");
        }
        const ReductionSpec spec = ops.reduction(source, number);
        if (spec.order == Order::deterministic && may_be_gang) {
            throw UsageError("task '" + task_label(task()) +
                             "' is a gang and reduces with Order::deterministic into '" + records[i].datum->name +
                             "': the number of its members may vary; gangs reduce with Order::any");
        }
        std::shared_ptr<Reduction> reduction = map_of(*region.version).reduction_at(region);
        if (reduction == nullptr || !reduction->takes(region, spec)) {
            reduction = std::make_shared<Reduction>(graph_, region, region.version->base, spec,
                                                    static_cast<std::size_t>(workers));
        }
        bases[i] = reduction->next_share();
        reductions_.push_back(std::move(reduction));
    }
}

/// The task joins the reduction, the first one opens it.
void TaskBuilder::record_reduction(AccessMap& map, const BoundAccess& access,
                                   const std::shared_ptr<Reduction>& reduction) {
    if (reduction->stage() == Reduction::Stage::fresh) {
        reduction->open(map.open(access, reduction, new_));
        scope_.order.open_reductions.push_back(reduction);
    }
    reduction->add(task().ref(), scope_.graph, new_);
}

void TaskBuilder::store_in_block(const KernelOps& ops, void* source, void* const* bases) {
    Task& task = new_.task();
    task.ops = &ops;
    void* room = graph_.pool().make_room_for_kernel(cache_, task, source);
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

void TaskBuilder::bind_dropped(const TaskOptions& options, const AccessRecord* records, std::size_t count,
                               void** bases) {
    set_options(options, 1);
    bind(records, count, NoWorkOps::ops, bases);
}

void TaskBuilder::submit_dropped() {
    store_no_kernel();
    record_hazards();
    submit();
}

void TaskBuilder::record_hazards() {
    stage_ = Stage::in_maps;
    if (!followed_.empty()) make_edges_to_followed();
    if (!fresh_versions_.empty()) commit_renames();
    const Task& task = new_.task();
    const BoundAccess* access = task.access_begin();
    const TaskRef self = task.ref();
    std::size_t reduction = 0;
    for (std::uint32_t i = 0; i < task.access_count; ++i) {
        AccessMap& map = map_of(*access[i].version);
        if (access[i].mode == AccessMode::reduce) [[unlikely]] {
            record_reduction(map, access[i], reductions_[reduction++]);
        } else {
            map.record(self, access[i], new_);
        }
    }
    new_.make_edges();
}

void TaskBuilder::make_edges_to_followed() {
    for (const TaskHandle& handle : followed_) {
        const TaskRef before = HandleAccess::task(handle);
        if (!before.valid() || new_.follow(before, how_) || how_ == NewTask::Follow::always) continue;
        // it has completed; its error was noted before
        if (const std::exception_ptr error = graph_.outcomes().of(before)) {
            graph_.unwritten().doom(new_.task(), message_of(error));
        }
    }
}

/// Makes the fresh versions current.
void TaskBuilder::commit_renames() {
    while (!fresh_versions_.empty()) {
        Version& fresh = fresh_versions_.pop_front();
        Version& former = *std::exchange(fresh.datum->current, &fresh);
        graph_.unwritten().forget(fresh);
        ++scope_.order.renamed;
        if (former.residency || former.accesses.in_reduction()) {
            retire(graph_, scope_, former);
        } else {
            fresh.datum->former.push_back(former);
        }
    }
}

void TaskBuilder::retire_former(TaskGraph& graph, Scope& scope, Datum& datum) {
    while (!datum.former.empty()) {
        Version& version = datum.former.pop_front();
        if (in_use(graph, version)) {
            retire(graph, scope, version);
        } else {
            graph.unwritten().forget(version);
            give_back_unused(version);
        }
    }
}

/// A task behind all users of the version takes its memory back.
void TaskBuilder::retire(TaskGraph& graph, Scope& scope, Version& version) {
    version.abandon();
    version.datum->may_have_unused = true;  // before long
    {
        const std::lock_guard guard(version.datum->retired_lock);
        ++version.datum->retired_versions;
    }
    TaskBuilder last(graph, graph.housekeeping_of(scope));
    last.make_internal("internal", std::numeric_limits<int>::max());
    last.bind_all(version, 0, version.datum->rows, AccessMode::readwrite);
    last.store_action([&version, &graph] {
        graph.unwritten().forget(version);
        version.residency.reset();
        DatumPool::of_process().take_back(version);
    });
    last.record_hazards();
    last.submit();
}

}  // namespace basalt::detail
