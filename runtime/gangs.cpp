// How the engine's workers form and run gangs; gang.hpp says why this never deadlocks.
#include <algorithm>

#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

// How long a leader that has its minimum waits for more members: about the time a parked thread takes to wake.
constexpr auto grace = std::chrono::microseconds(20);

}  // namespace

int Engine::workers_of(int package) const {
    return static_cast<int>(std::count_if(workers_.begin(), workers_.end(),
                                          [&](const auto& worker) { return worker->package == package; }));
}

/// The first of those with the most workers; -1 where all are of one.
int Engine::package_of_most_workers() const {
    int found = workers_.front()->package;
    for (const auto& worker : workers_) {
        if (workers_of(worker->package) > workers_of(found)) found = worker->package;
    }
    return workers_of(found) < places() ? found : -1;
}

/// The socket that a gang is to come from, so that its members share a cache and the memory near it: that of its data
/// or else the leader's, if it has as many workers and is not the only one.
int Engine::package_for(const Task& task, const Worker& leader) const {
    const auto fits = [&](int package) {
        const int there = workers_of(package);
        return task.max_threads <= there && there < places();
    };
    if (task.near_pinned_memory && pinned_->package() >= 0 && fits(pinned_->package())) return pinned_->package();
    return fits(leader.package) ? leader.package : Gang::any_package;
}

void Engine::run_gang(Task& task, Worker& worker) {
    const bool strict = !task.scope->inside_gang;
    Gang gang(task, strict, strict ? package_for(task, worker) : Gang::any_package, worker);
    bool open = hall_.open(gang);
    while (!open && gang.strict) {
        if (!join_gang(worker)) std::this_thread::yield();  // the hall is full and about to close
        open = hall_.open(gang);
    }
    int size = 1;
    if (open) {
        // sleepers are not told apart by their sockets: those of another one look on until the gang is complete
        parking_.wake_joiners(gang.strict, gang.package == Gang::any_package ? gang.wanted - 1 : places());
        const auto minimum = static_cast<std::uint32_t>(gang.strict ? task.min_threads : 1);
        for (std::uint32_t joined = gang.with_leader ? 1 : 0; joined < minimum;)
            joined = wait_while_equal(gang.joined, joined);
        if (task.max_threads > minimum) {
            const auto limit = std::chrono::steady_clock::now() + grace;
            while (gang.joined.load(std::memory_order_relaxed) < task.max_threads &&
                   std::chrono::steady_clock::now() < limit) {
                cpu_relax();
            }
        }
        size = hall_.close(gang);
    }
    TeamBarrier barrier(size);
    gang.barrier = &barrier;
    gang.dropped = task.scope->drained();  // decided once: all members run the kernel, or none
    gang.inside.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
    gang.entered.store(1, std::memory_order_release);
    gang.entered.notify_all();
    if (gang.with_leader) enter_gang(gang, 0, worker);
    for (std::uint32_t inside = gang.inside.load(std::memory_order_acquire); inside != 0;) {
        inside = wait_while_equal(gang.inside, inside);
    }
    kernel_done(task, worker);
}

void Engine::enter_gang(Gang& gang, int rank, Worker& worker) {
    wait_while_equal(gang.entered, 0);
    if (!gang.dropped) run_kernel(gang.task, worker, Team(rank, *gang.barrier));
    // release: the leader, who completes the task, sees what this member wrote. Nothing of the gang may be
    // touched afterwards but its address.
    gang.inside.fetch_sub(1, std::memory_order_acq_rel);
    gang.inside.notify_all();
}

/// Joins the gang that assembles, if it has room and this thread may; returns after the gang has run.
bool Engine::join_gang(Worker& worker) {
    Gang* gang = nullptr;
    const int rank = hall_.join(gang, worker.gangs == 0, worker.package);
    if (rank < 0) return false;
    enter_gang(*gang, rank, worker);
    return true;
}

}  // namespace basalt::detail
