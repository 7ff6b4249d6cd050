#include "runtime/engine/submission.hpp"

#include <array>
#include <limits>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace basalt::detail {

void Submission::submit(const TaskOptions& options, const AccessRecord* records, std::size_t count,
                        const KernelOps& ops, void* source) {
    if (options.threads.min < 1 || options.threads.max < options.threads.min) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads {" +
                         std::to_string(options.threads.min) + ", " + std::to_string(options.threads.max) +
                         "}; allowed is 1 <= min <= max");
    }
    if (options.threads.patience.count() < 0) {
        throw UsageError("task '" + std::string(options.name.c_str()) + "': threads.patience = " +
                         std::to_string(options.threads.patience.count()) + " us; allowed is 0 or more");
    }
    Scope& scope = p_.graph.current_scope();
    p_.window.make_room(scope);
    Task* runnable = nullptr;
    {
        const std::lock_guard guard(scope.order.lock);
        runnable = build(scope, options, records, count, ops, source);
    }
    if (runnable != nullptr) run(*runnable);
}

/// The task enters the graph. Returns it where nothing holds it back.
inline Task* Submission::build(Scope& scope, const TaskOptions& options, const AccessRecord* records, std::size_t count,
                               const KernelOps& ops, void* source) {
    constexpr std::size_t few = 16;
    TaskBuilder builder(p_.graph, scope);
    std::array<void*, few> few_bases;
    std::vector<void*> many_bases(count > few ? count : 0);
    void** bases = count > few ? many_bases.data() : few_bases.data();
    if (scope.drained()) {  // what follows belongs to the cancelled graph until wait()
        builder.submit_dropped(options, records, count, bases);
        return nullptr;
    }
    builder.set_options(options, p_.workers);
    builder.bind(records, count, ops, bases);
    // without devices there is nothing to decide, but perhaps to refuse
    const bool only_on_cores = !p_.gpus && !options.place.is_gpu() && ops.run != nullptr;
    if (!only_on_cores) p_.placement.place(builder, scope, options, ops, bases);
    builder.store_kernel(ops, source, bases);

    ++scope.order.user_tasks;
    builder.record_hazards();
    p_.placement.commit(builder, scope, builder.task().node.load(std::memory_order_relaxed));
    return builder.enter();
}

inline void Submission::run(Task& task) {
    if (task.on_device() != nullptr) return p_.dispatch.to_device(task);
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
