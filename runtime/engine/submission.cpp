#include "runtime/engine/submission.hpp"

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace basalt::detail {

Submitted Submission::submit(const TaskOptions& options, std::span<const AccessRecord> accesses, const Kernels& kernels,
                             std::span<const TaskHandle> after) {
    if (options.threads.min < 1 || options.threads.max < options.threads.min) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads {" +
                         std::to_string(options.threads.min) + ", " + std::to_string(options.threads.max) +
                         "}; allowed is 1 <= min <= max");
    }
    if (options.threads.patience.count() < 0) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads.patience = " +
                         std::to_string(options.threads.patience.count()) + " us; allowed is 0 or more");
    }
    if (Recorder* recorder = p_.graph.recorder()) [[unlikely]] {
        record(*recorder, options, accesses, kernels, after);
        return {};
    }
    Scope& scope = p_.graph.current_scope();
    if (!after.empty()) TaskWaits::check_may_follow(p_.graph, options.name.c_str(), scope, after);
    p_.window.make_room(scope);
    const std::uint64_t order = scope.order.id;
    if (accesses.empty() && after.empty() && p_.log == nullptr) {
        if (const auto task = p_.at_once.run(scope, options, kernels.ops, kernels.source)) return {*task, order};
    }
    Entered entered{};
    bool closed = false;
    {
        const std::lock_guard guard(scope.order.lock);
        const std::uint64_t closed_before = scope.order.closed_reductions;
        entered = build(scope, options, accesses, kernels, after);
        closed = scope.order.closed_reductions != closed_before;
    }
    if (entered.runnable != nullptr) run(*entered.runnable);
    // what combines the copies may have been pushed, and perhaps nobody works place 0
    if (closed && ThreadContext::worker_of(p_.graph) == nullptr) {
        std::atomic_thread_fence(std::memory_order_seq_cst);  // see OutsidePlace::call_stand_in()
        p_.outside.call_stand_in();
    }
    return {entered.task, order};
}

/// The task enters the graph. Returns it as runnable where nothing holds it back.
inline Submission::Entered Submission::build(Scope& scope, const TaskOptions& options,
                                             std::span<const AccessRecord> accesses, const Kernels& kernels,
                                             std::span<const TaskHandle> after) {
    constexpr std::size_t few = 16;
    const AccessRecord* const records = accesses.data();
    const std::size_t count = accesses.size();
    TaskBuilder builder(p_.graph, scope);
    const TaskRef task = builder.task().ref();
    std::array<void*, few> few_bases;
    std::vector<void*> many_bases(count > few ? count : 0);
    void** bases = count > few ? many_bases.data() : few_bases.data();
    if (!after.empty()) builder.follow(after, NewTask::Follow::if_succeeds);
    if (scope.drained()) {  // what follows belongs to the cancelled graph until wait()
        builder.bind_dropped(options, records, count, bases);
        if (builder.shares_memory()) p_.blocks.make_current(scope, builder, {options.priority, options.step});
        builder.submit_dropped();
        return {task, nullptr};
    }
    builder.set_options(options, p_.workers);
    builder.bind(records, count, kernels.ops, bases);
    if (builder.shares_memory()) p_.blocks.make_current(scope, builder, {options.priority, options.step});
    // without devices there is nothing to decide, but perhaps to refuse
    const bool only_on_cores = !p_.gpus && !options.place.is_gpu() && kernels.ops.run != nullptr;
    if (!only_on_cores) p_.placement.place(builder, scope, options, kernels.ops, bases);
    if (kernels.ops.reduction != nullptr) [[unlikely]] {
        builder.join_reductions(records, count, kernels.ops, kernels.source, bases, p_.workers);
    }
    builder.store_kernel(kernels.ops, kernels.source, bases);

    ++scope.order.user_tasks;
    if (p_.log != nullptr) [[unlikely]]
        p_.log->note(builder.task(), after);
    builder.record_hazards();
    p_.placement.commit(builder, scope, builder.task().node.load(std::memory_order_relaxed));
    return {task, builder.enter()};
}

void Submission::record(Recorder& recorder, const TaskOptions& options, std::span<const AccessRecord> accesses,
                        const Kernels& kernels, std::span<const TaskHandle> after) {
    if (!after.empty()) {
        throw UsageError("task '" + std::string(options.name.c_str()) +
                         "': after() while a Recording is made; allowed are accesses, also to a Token");
    }
    const Scope& root = p_.graph.root();
    const std::lock_guard guard(root.order.lock);
    p_.placement.check(root, options, kernels.ops);
    recorder.add(options, accesses, kernels.ops, kernels.source);
}

inline void Submission::run(Task& task) {
    if (task.on_device() != nullptr) return p_.dispatch.to_device(task);
    if (!p_.at_once.run(task)) queue(task);
}

void Submission::queue(Task& task) {
    const Worker* worker = ThreadContext::worker_of(p_.graph);
    Task* ready = &task;
    p_.ready.push(&ready, 1, worker);
    if (worker == nullptr) p_.outside.call_stand_in();
}

void Submission::submit_internal(Scope& scope, Version& version, Contents contents, std::function<void()> action) {
    TaskBuilder builder(p_.graph, scope);
    builder.make_internal("internal", std::numeric_limits<int>::max());
    builder.bind_all(version, 0, version.datum->rows, AccessMode::readwrite);
    if (contents == Contents::at_home) p_.placement.bring_home(builder, version);
    builder.store_action(std::move(action));
    builder.record_hazards();
    if (contents == Contents::at_home && version.residency) p_.placement.commit(builder, scope, host_node);
    builder.submit();
}

}  // namespace basalt::detail
