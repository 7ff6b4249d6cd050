#include "runtime/engine/submission.hpp"

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

namespace basalt::detail {

namespace {

void check_threads(const TaskOptions& options) {
    const Threads& threads = options.threads;
    if (threads.min < 1 || threads.max < threads.min) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads {" + std::to_string(threads.min) +
                         ", " + std::to_string(threads.max) + "}; allowed is 1 <= min <= max");
    }
    if (threads.patience.count() < 0) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads.patience = " +
                         std::to_string(threads.patience.count()) + " us; allowed is 0 or more");
    }
}

/// Addresses for the data of a task, those of few without an allocation.
class Bases {
  public:
    explicit Bases(std::size_t count) : begin_(count > few ? new void*[count] : few_.data()) {}
    ~Bases() {
        if (begin_ != few_.data()) delete[] begin_;
    }
    Bases(const Bases&) = delete;
    Bases& operator=(const Bases&) = delete;
    void** begin() { return begin_; }

  private:
    static constexpr std::size_t few = most_accesses_without_allocation;
    std::array<void*, few> few_;
    void** const begin_;
};

}  // namespace

Submitted Submission::submit(const Call& call) {
    // as early as may be: the scope's lock lets no later load begin before it is taken
    for (const AccessRecord& record : call.accesses) {
        if (record.datum != nullptr) record.datum->prefetch();
    }
    const TaskOptions& options = call.options;
    const bool plain = options.threads.min == 1 && options.threads.max == 1 && options.threads.patience.count() >= 0;
    if (!plain) check_threads(options);
    if (Recorder* recorder = p_.graph.recorder()) [[unlikely]] {
        return record(*recorder, call);
    }
    Scope& scope = p_.graph.current_scope();
    if (!call.after.empty()) TaskWaits::check_may_follow(p_.graph, options.name.c_str(), scope, call.after);
    if (p_.window.make_room(scope)) p_.at_once.look_soon();
    const std::uint64_t order = scope.order.id;
    if (call.accesses.empty() && call.after.empty() && p_.log == nullptr) {
        if (const auto task = p_.at_once.run(scope, options, call.ops, call.source)) return {*task, order};
    }
    Entered entered{};
    bool closed = false;
    {
        const std::lock_guard guard(scope.order.lock);
        const std::uint64_t closed_before = scope.order.closed_reductions;
        entered = build(scope, call);
        closed = scope.order.closed_reductions != closed_before;
    }
    if (entered.runnable != nullptr) run(*entered.runnable);
    // what combines the copies may have been pushed, and perhaps no thread works place 0
    if (closed && ThreadContext::worker_of(p_.graph) == nullptr) {
        std::atomic_thread_fence(std::memory_order_seq_cst);  // see OutsidePlace::call_stand_in()
        p_.outside.call_stand_in();
    }
    return {entered.task, order};
}

/// The task enters the graph. Returns it as runnable where nothing holds it back.
inline Submission::Entered Submission::build(Scope& scope, const Call& call) {
    const TaskOptions& options = call.options;
    const AccessRecord* const records = call.accesses.data();
    const std::size_t count = call.accesses.size();
    TaskBuilder builder(p_.graph, scope);
    const TaskRef task = builder.task().ref();
    Bases bases(count);
    if (!call.after.empty()) builder.follow(call.after, NewTask::Follow::if_succeeds);
    if (scope.drained()) {  // what follows belongs to the cancelled graph until wait()
        builder.bind_dropped(options, records, count, bases.begin());
        if (builder.shares_memory()) p_.blocks.make_current(scope, builder, {options.priority, options.step});
        builder.submit_dropped();
        return {task, nullptr};
    }
    builder.set_options(options, p_.workers);
    builder.bind(records, count, call.ops, bases.begin());
    if (builder.shares_memory()) {
        p_.placement.check(scope, options, call.ops);  // first: what is refused gives up no contents
        p_.blocks.make_current(scope, builder, {options.priority, options.step});
    }
    // without devices there is nothing to decide, but perhaps to refuse
    const bool only_on_cores = !p_.gpus && !options.place.is_gpu() && call.ops.run != nullptr;
    if (!only_on_cores) p_.placement.place(builder, scope, options, call.ops, bases.begin());
    if (call.ops.reduction != nullptr) [[unlikely]] {
        builder.join_reductions(records, count, call.ops, call.source, bases.begin(), p_.workers,
                                options.threads.max > 1);
    }
    builder.store_kernel(call.ops, call.source, bases.begin());

    ++scope.order.user_tasks;
    if (p_.log != nullptr) [[unlikely]]
        p_.log->note(builder.task(), call.after, builder.reductions());
    builder.record_hazards();
    p_.placement.commit(builder, scope, builder.task().node.load(std::memory_order_relaxed));
    return {task, builder.enter()};
}

Submitted Submission::record(Recorder& recorder, const Call& call) {
    const Scope& root = p_.graph.root();
    const std::lock_guard guard(root.order.lock);
    p_.placement.check(root, call.options, call.ops);
    return recorder.add({call.options, call.accesses, call.ops, call.source, call.after});
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
