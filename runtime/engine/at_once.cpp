#include "runtime/engine/at_once.hpp"

namespace basalt::detail {

namespace {

// Tasks are short if they cost less, with all that the workers did besides.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::chrono::microseconds short_task{1000};  // sanitizers slow everything down
#else
constexpr std::chrono::microseconds short_task{1};
#endif

/// Place 0, as long as the calling thread works it.
class HeldPlace {
  public:
    /// Not where other threads want the place: they would run any task.
    explicit HeldPlace(OutsidePlace& outside)
        : outside_(outside), held_(!outside.wanted() && !outside.needs_stand_in() && outside.try_take()) {}
    ~HeldPlace() {
        if (held_) outside_.leave();
    }
    HeldPlace(const HeldPlace&) = delete;
    HeldPlace& operator=(const HeldPlace&) = delete;
    explicit operator bool() const { return held_; }

  private:
    OutsidePlace& outside_;
    const bool held_;
};

}  // namespace

/// Once in a stretch: whether tasks were short since the last look, so that the next ones may run at once.
bool AtOnce::look() {
    const int skipped = skipped_.load(std::memory_order_relaxed);
    if (skipped > 0) {
        skipped_.store(skipped - 1, std::memory_order_relaxed);
        return false;
    }
    skipped_.store(stretch - 1, std::memory_order_relaxed);
    const HeldPlace place(p_.outside);
    if (!place) return false;
    const auto now = std::chrono::steady_clock::now();
    const std::uint64_t completed = p_.progress.completed() + p_.graph.kept_out();
    const auto tasks = static_cast<std::int64_t>(completed - completed_);
    const bool short_tasks = (now - looked_) * p_.workers < tasks * short_task;
    completed_ = completed;
    looked_ = now;
    if (!short_tasks || p_.observers.any()) return false;  // observers see tasks as they are without this
    left_.store(stretch, std::memory_order_relaxed);
    skipped_.store(0, std::memory_order_relaxed);
    return true;
}

/// A slot for the tasks, as long as each is gone before the next one comes.
Task& AtOnce::fresh_task() {
    Task& task = p_.graph.pool().take(p_.outside_worker.cache);
    task.begin(p_.graph.root());
    task.pending.store(0, std::memory_order_relaxed);
    task.priority = 0;
    task.min_threads = task.max_threads = 1;
    return task;
}

std::optional<TaskRef> AtOnce::run_here(const TaskOptions& options, const KernelOps& ops, void* source) {
    if (p_.graph.root().drained() || ThreadContext::of(p_.graph) != nullptr) return std::nullopt;
    const HeldPlace place(p_.outside);
    if (!place) return std::nullopt;
    if (task_ == nullptr) task_ = &fresh_task();
    Task& task = *task_;
    ops.construct(task.kernel.data(), source, nullptr);
    task.ops = &ops;
    task.name = options.name.c_str();
    task.tile = options.tile;
    task.step = PackedStep(options.step);
    left_.store(left_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    p_.graph.count_kept_out();
    // The task was never counted as submitted. It counts as in flight because one completed task less does. Relaxed: a
    // thread that must see the task in flight has synchronised with this one.
    Worker& worker = p_.outside_worker;
    worker.completed.store(worker.completed.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    const TaskRef ref = task.ref();
    p_.kernels.run_alone(task, worker);
    if (task.children.load(std::memory_order_acquire) == nullptr && !p_.graph.unwritten().any()) {
        task.ops = nullptr;
        // The task has completed and succeeded, as handles find. No edge leads from it: it was not known. Release,
        // here and below: see Completion::complete() and settle().
        task.successors.store(Task::after(task.successors.load(std::memory_order_relaxed)), std::memory_order_release);
        worker.completed.store(worker.completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else {  // it failed, or ends with its children
        task_ = nullptr;
        p_.completion.kernel_done(task, worker);
        p_.completion.hand_on(worker);
    }
    return ref;
}

bool AtOnce::run_here(Task& task) {
    if (ThreadContext::of(p_.graph) != nullptr) return false;
    const HeldPlace place(p_.outside);
    if (!place) return false;
    left_.store(left_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    p_.kernels.run_alone(task, p_.outside_worker);
    p_.completion.kernel_done(task, p_.outside_worker);
    p_.completion.hand_on(p_.outside_worker);  // what other threads have submitted meanwhile
    return true;
}

}  // namespace basalt::detail
