#include "runtime/engine/recorded_runs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "runtime/graph/access_binding.hpp"
#include "runtime/graph/array_memory.hpp"
#include "runtime/recording/resubmission.hpp"

namespace basalt::detail {

namespace {

/// The kernel of a run's task.
struct RunKernel {
    std::shared_ptr<RecordedState> state;
    BoundData data;
    void operator()() const { state->replay->run(data); }
};
using RunOps = PlainOps<RunKernel, NoKernel>;

/// The kernel of a run as one task on a GPU.
struct CapturedKernel {
    std::shared_ptr<RecordedState> state;
    std::vector<void*> bases;  ///< of the data, by number, on the GPU

    static CapturedKernel& at(void* storage) { return *std::launder(static_cast<CapturedKernel*>(storage)); }
    static void construct(void* storage, void* source, void* const* bases) {
        auto* kernel = ::new (storage) CapturedKernel(std::move(*static_cast<CapturedKernel*>(source)));
        const RecordedGraph& recorded = *kernel->state->recorded;
        kernel->bases.assign(recorded.data.size(), nullptr);
        for (std::size_t i = 0; i < recorded.uses.size(); ++i) kernel->bases[recorded.uses[i].datum] = bases[i];
    }
    static void run_on_device(void* storage, void*, Stream stream) {
        CapturedKernel& kernel = at(storage);
        kernel.state->captured->enqueue(stream, kernel.bases);
    }
    static void destroy(void* storage) noexcept { at(storage).~CapturedKernel(); }
    static constexpr KernelOps ops() {
        KernelOps result{};
        result.size = sizeof(CapturedKernel);
        result.align = alignof(CapturedKernel);
        result.construct = &construct;
        result.run_on_device = &run_on_device;
        result.destroy = &destroy;
        result.binds_views = true;
        return result;  // any_stream is false: handles of libraries belong to the stream that is captured
    }
};
constexpr KernelOps captured_ops = CapturedKernel::ops();
constexpr KernelOps emulated_ops = [] {
    KernelOps result = CapturedKernel::ops();
    result.emulates = true;
    return result;
}();

AccessRecord record_of(const RecordedState::Binding& binding, const RecordedUse& use) {
    return {binding.datum,
            use.row_begin,
            use.row_end,
            use.col_begin,
            use.col_end,
            binding.generation,
            use.writes ? AccessMode::readwrite : AccessMode::read};
}

/// Throws UsageError where bound data have elements in common. Under the lock of the runtime's order.
void refuse_shared_elements(const RecordedState& state) {
    std::unordered_map<const Datum*, std::size_t> parts;
    for (std::size_t i = 0; i < state.bindings.size(); ++i) {
        Datum& datum = *state.bindings[i].datum;
        if (!datum.shares_memory) continue;
        for_each_overlapping(datum, [&](const Datum& other) {
            const auto twin = parts.find(&other);
            if (twin == parts.end()) return;
            throw UsageError("a Recording runs with " + other.label() + " bound to '" +
                             state.recorded->data[twin->second].name + "' and " + datum.label() + " bound to '" +
                             state.recorded->data[i].name +
                             "', which have elements in common; allowed are blocks that do not overlap");
        });
        parts.emplace(&datum, i);
    }
}

/// Two that mean the same datum, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> find_equal(const std::vector<RecordedState::Binding>& bindings) {
    // open addressing, at most half full: a node for each datum would cost more than all else that a run checks
    constexpr std::size_t free = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> table(std::bit_ceil(2 * bindings.size()), free);
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        // Fibonacci hashing; data are aligned to cache lines
        auto place = static_cast<std::size_t>(
            (reinterpret_cast<std::uintptr_t>(bindings[i].datum) >> 6) * 0x9e3779b97f4a7c15U >> 20);
        std::size_t* entry = &table[place & (table.size() - 1)];
        while (*entry != free) {
            if (bindings[*entry].datum == bindings[i].datum) return std::pair(*entry, i);
            entry = &table[++place & (table.size() - 1)];
        }
        *entry = i;
    }
    return std::nullopt;
}

}  // namespace

RecordedState::RecordedState(RecordedRuns& runs, std::shared_ptr<const std::atomic<bool>> runtime_ended,
                             const TaskGraph& runtime, std::unique_ptr<RecordedGraph> graph, const Replay::Parts& parts,
                             RecordedOnGpu on_gpu)
    : runs(runs), runtime_ended(std::move(runtime_ended)), runtime(&runtime), recorded(std::move(graph)) {
    for (const RecordedDatum& datum : recorded->data) {
        numbers.emplace(datum.datum, static_cast<std::uint32_t>(bindings.size()));
        bindings.push_back({const_cast<Datum*>(datum.datum), datum.generation});
    }
    if (recorded->on_cores) replay = std::make_unique<Replay>(parts, *recorded, *this);
    if (on_gpu == RecordedOnGpu::captured) captured = CapturedRun::of(*recorded);
}

bool RecordedState::call(Replay&) noexcept {
    try {
        runs.submit_helper(*this);
        return true;
    } catch (...) {  // no memory for the task: those who are there do the work
        return false;
    }
}

Scope& RecordedRuns::check_may_record() {
    p_.graph.refuse_while_recording("making a Recording");
    if (const Task* task = ThreadContext::task_of(p_.graph)) {
        throw UsageError("making a Recording inside task '" + task_label(*task) + "': it is made outside tasks");
    }
    return p_.graph.current_scope();
}

std::shared_ptr<RecordedState> RecordedRuns::keep(std::unique_ptr<RecordedGraph> recorded, RecordedOnGpu on_gpu) {
    const Replay::Parts parts{p_.graph, p_.kernels, p_.completion, p_.workers};
    return std::make_shared<RecordedState>(*this, ended_, p_.graph, std::move(recorded), parts, on_gpu);
}

void RecordedRuns::run(RecordedState& state) {
    p_.graph.refuse_while_recording("running a Recording");
    Scope& scope = p_.graph.current_scope();
    if (state.recorded->tasks.empty()) return;
    if (may_capture(scope, state)) return submit_captured(scope, state);
    if (scope.owner != nullptr || !state.replay) return resubmit(scope, state);
    make_room(scope, state);
    submit_run(scope, state);
}

/// Bounds the tasks in flight, too, but two runs are always allowed: one runs, and the next one waits for it.
void RecordedRuns::make_room(Scope& scope, RecordedState& state) {
    p_.window.make_room(scope);
    if (p_.most_tasks == 0) return;
    const std::size_t most_runs = std::max<std::size_t>(2, p_.most_tasks / state.recorded->tasks.size());
    while (true) {
        TaskRef oldest;
        {
            const std::lock_guard guard(state.lock);
            std::deque<TaskRef>& runs = state.in_flight;
            while (!runs.empty() && p_.graph.completed(runs.front())) runs.pop_front();
            if (runs.size() < most_runs) return;
            oldest = runs.front();
        }
        p_.waiting.help_outside(scope, [&] { return p_.graph.completed(oldest); });
    }
}

/// Throws UsageError where a run's data would not be those that the edges were made for. Under the state's lock and
/// that of the scope's order.
void RecordedRuns::check_bindings(const Scope& scope, RecordedState& state) const {
    for (const RecordedUse& use : state.recorded->uses) {
        check_region(p_.graph, scope, record_of(state.bindings[use.datum], use));
    }
    if (state.checked) return;
    if (const auto twins = find_equal(state.bindings)) {
        const auto& [one, other] = *twins;
        throw UsageError("a Recording runs with '" + state.bindings[one].datum->name + "' bound to both '" +
                         state.recorded->data[one].name + "' and '" + state.recorded->data[other].name +
                         "', which are different arrays for its tasks");
    }
    // what the tasks around a run inside a task hold does not overlap, and only the array's home knows its blocks
    if (scope.owner != nullptr) return;
    refuse_shared_elements(state);
    state.checked = true;
}

void RecordedRuns::submit_run(Scope& scope, RecordedState& state) {
    Task* runnable = nullptr;
    {
        const std::lock_guard guard(state.lock);
        const std::lock_guard order_guard(scope.order.lock);
        check_bindings(scope, state);
        runnable = build(scope, state);
    }
    if (runnable != nullptr) p_.submission.queue(*runnable);
}

/// The run's task enters the graph. Returns it where nothing holds it back.
Task* RecordedRuns::build(Scope& scope, RecordedState& state) {
    const RecordedGraph& recorded = *state.recorded;
    std::vector<AccessRecord> records;
    records.reserve(recorded.uses.size());
    for (const RecordedUse& use : recorded.uses) records.push_back(record_of(state.bindings[use.datum], use));
    std::vector<void*> bases(records.size());

    TaskBuilder builder(p_.graph, scope);
    // it always runs: whether what is inside may run is found for each of its tasks
    builder.make_internal("replay", sum_of_priorities(recorded.priority, scope.priority));
    builder.bind(records.data(), records.size(), RunOps::ops, bases.data());
    if (builder.shares_memory()) p_.blocks.make_current(scope, builder, {builder.task().priority, {}});
    if (p_.gpus)
        p_.placement.place(builder, scope, {.name = "replay", .place = Place::cpu()}, RunOps::ops, bases.data());
    BoundData data{std::vector<Version*>(recorded.data.size()), recorded.bases};
    for (std::size_t i = 0; i < records.size(); ++i) {
        data.versions[recorded.uses[i].datum] = builder.access_begin()[i].version;
        data.bases[recorded.uses[i].datum] = static_cast<std::byte*>(bases[i]);
    }
    RunOps::Source source{{state.shared_from_this(), std::move(data)}, {}};
    builder.store_kernel(RunOps::ops, &source, nullptr);

    state.in_flight.emplace_back();  // may throw: before the graph knows of the task
    scope.order.user_tasks += recorded.tasks.size();
    if (state.in_flight.size() > 1) builder.wait_for(state.in_flight[state.in_flight.size() - 2]);
    builder.record_hazards();
    if (p_.gpus) p_.placement.commit(builder, scope, host_node);
    state.in_flight.back() = builder.task().ref();
    return builder.enter();
}

std::vector<RecordedState::Binding> RecordedRuns::checked_bindings(const Scope& scope, RecordedState& state) const {
    const std::lock_guard guard(state.lock);
    const std::lock_guard order_guard(scope.order.lock);
    check_bindings(scope, state);
    return state.bindings;
}

/// Whether a run may be one task: observers would not see what is inside, and a task that overwrites data without
/// contents would not run where they count as read.
bool RecordedRuns::may_capture(const Scope& scope, const RecordedState& state) const {
    return state.captured && scope.owner == nullptr && !p_.kernels.observed() && !p_.graph.unwritten().any();
}

void RecordedRuns::submit_captured(const Scope& scope, RecordedState& state) {
    const std::vector<RecordedState::Binding> bindings = checked_bindings(scope, state);
    const RecordedGraph& recorded = *state.recorded;
    std::vector<AccessRecord> records;
    for (const RecordedUse& use : recorded.uses) records.push_back(record_of(bindings[use.datum], use));
    CapturedKernel source{state.shared_from_this(), {}};
    const TaskOptions options{
        .name = "replay", .priority = recorded.priority, .place = Place::gpu(state.captured->gpu())};
    p_.submission.submit({options, records, state.captured->emulates() ? emulated_ops : captured_ops, &source});
}

void RecordedRuns::resubmit(const Scope& scope, RecordedState& state) {
    const std::vector<RecordedState::Binding> bindings = checked_bindings(scope, state);
    const RecordedGraph& recorded = *state.recorded;
    std::vector<AccessRecord> records;
    std::vector<Submitted> submitted;  // where some tasks follow others
    if (!recorded.followed.empty()) submitted.resize(recorded.tasks.size());
    std::vector<TaskHandle> after;
    for (std::size_t t = 0; t < recorded.tasks.size(); ++t) {
        const RecordedGraph::Submitted& task = recorded.tasks[t];
        records.clear();
        for (std::size_t i = 0; i < task.accesses; ++i) {
            const RecordedAccess& a = recorded.accesses[task.first_access + i];
            const RecordedState::Binding& binding = bindings[a.datum];
            records.push_back(
                {binding.datum, a.row_begin, a.row_end, a.col_begin, a.col_end, binding.generation, a.mode});
        }
        after.clear();
        for (std::size_t i = 0; i < task.followed; ++i) {
            after.push_back(
                HandleAccess::of_fellow(recorded.some_handle, submitted[recorded.followed[task.first_followed + i]]));
        }
        Resubmitted source{task, state.recorded, records};
        const Submitted entered =
            p_.submission.submit({task.options, records, resubmission_of(*task.ops), &source, after});
        if (!submitted.empty()) submitted[t] = entered;
    }
}

void RecordedRuns::submit_helper(RecordedState& state) {
    Scope& housekeeping = p_.graph.housekeeping();
    Task* runnable = nullptr;
    {
        const std::lock_guard guard(housekeeping.order.lock);
        TaskBuilder builder(p_.graph, housekeeping);
        builder.make_internal("replay", state.recorded->priority);
        builder.store_action([kept = state.shared_from_this()] { kept->replay->work(); });
        builder.record_hazards();
        runnable = builder.enter();
    }
    if (runnable != nullptr) p_.submission.queue(*runnable);
}

}  // namespace basalt::detail
