// Tasks enter the graph: the user's and the runtime's own.
#include <array>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine.hpp"
#include "runtime/submission.hpp"

namespace basalt::detail {

SlotCache& Engine::slot_cache(Scope& scope) {
    ThreadContext* context = context_of(this);
    return context != nullptr && context->worker != nullptr ? context->worker->cache : *scope.cache;
}

void Engine::submit(const TaskOptions& options, const AccessRecord* records, std::size_t count, const KernelOps& ops,
                    void* source) {
    constexpr std::size_t few = 16;
    if (options.threads.min < 1 || options.threads.max < options.threads.min) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads {" +
                         std::to_string(options.threads.min) + ", " + std::to_string(options.threads.max) +
                         "}; allowed is 1 <= min <= max");
    }
    Scope& scope = current_scope();
    throttle(scope);
    Task* ready = nullptr;
    {
        const std::lock_guard guard(scope.lock);
        if (scope.drained()) return;  // this graph was cancelled: what follows belongs to it until wait()
        TaskSubmission submission(*this, scope, slot_cache(scope));
        std::array<void*, few> few_bases;
        std::vector<void*> many_bases(count > few ? count : 0);
        void** bases = count > few ? many_bases.data() : few_bases.data();
        submission.set_options(options, places());
        submission.bind_accesses(records, count, ops, bases);
        // without devices there is nothing to decide, but perhaps to refuse
        const bool only_on_cores = coherence_ == nullptr && !options.place.is_gpu() && ops.run != nullptr;
        if (!only_on_cores) submission.place(options, ops, bases);
        submission.store_kernel(ops, source, bases);

        Task& task = submission.task();
        ++scope.user_tasks;
        submission.record_hazards();
        // children work on what their parent has brought to the host; where data are is the program's own business
        if (coherence_ != nullptr && scope.owner == nullptr) {
            coherence_->commit(submission, task.node.load(std::memory_order_relaxed));
        }
        if (submission.released()) ready = &task;
    }
    if (ready != nullptr && ready->on_device() != nullptr) {
        dispatch(*ready);
    } else if (ready != nullptr) {
        ThreadContext* context = context_of(this);
        Worker* worker = context != nullptr ? context->worker : nullptr;
        make_ready(&ready, 1, worker);
        // behind make_ready()'s full fence: the stand-in either sees the task or is seen here
        if (worker == nullptr && stand_in_parked_.load(std::memory_order_relaxed)) {
            const std::lock_guard guard(outside_lock_);
            outside_changed_.notify_all();
        }
    }
}

void Engine::submit_internal(Scope& scope, Version& version, bool at_home, std::function<void()> action) {
    struct Action {
        std::function<void()> function;
        void operator()() { function(); }
    };
    Action source{std::move(action)};
    TaskSubmission submission(*this, scope, slot_cache(scope));
    Task& task = submission.task();
    const Datum& datum = *version.datum;
    task.accesses[0] = BoundAccess(&version, {version.datum, 0, datum.rows, 0, datum.cols, AccessMode::readwrite});
    task.access_count = 1;
    task.kind = TaskKind::internal;
    task.name = "internal";
    task.tile = {-1, -1, -1};
    task.priority = std::numeric_limits<int>::max();
    task.max_threads = task.min_threads = 1;
    if (at_home) submission.bring_home(version);  // may throw: a lost device
    PlainOps<Action, NoKernel>::Source kernels{std::move(source), {}};
    submission.store_kernel(PlainOps<Action, NoKernel>::ops, &kernels, nullptr);
    submission.record_hazards();
    if (at_home && version.residency) coherence_->commit(submission, host_node);
    release_submission(submission);
}

/// Nobody will ask for the version's contents any more: they are not worth a transfer.
void Engine::abandon(Version& version) {
    if (version.residency) coherence_->abandon(*version.residency);
}

/// Lets a task of the runtime's own go. Pushed under the scope's lock, which no scheduler or driver ever takes.
void Engine::release_submission(TaskSubmission& submission) {
    Task* ready = &submission.task();
    if (!submission.released()) return;
    if (ready->on_device() != nullptr) {
        dispatch(*ready);
    } else {
        make_ready(&ready, 1, nullptr);
    }
}

}  // namespace basalt::detail
