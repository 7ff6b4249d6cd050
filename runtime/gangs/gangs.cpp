#include "runtime/gangs/gangs.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/gangs/run_delay.hpp"

namespace basalt::detail {

namespace {

// How long a gang nested in a gang waits: about the time that a sleeping thread takes to wake up.
constexpr auto patience_inside_gang = std::chrono::microseconds(20);

// How long a worker counts as late after it was found to be.
constexpr std::int64_t lateness_lasts_ns = 200'000'000;

// A late leader leaves the work to punctual workers if there are at least two. A single one would gain nothing.
constexpr int fewest_without_leader = 2;

std::int64_t now_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

int Sockets::workers_of(int socket) const {
    return static_cast<int>(
        std::count_if(workers_.begin(), workers_.end(), [&](const auto& worker) { return worker->package == socket; }));
}

std::optional<int> Sockets::with_most_workers() const {
    int found = workers_.front()->package;
    for (const auto& worker : workers_) {
        if (workers_of(worker->package) > workers_of(found)) found = worker->package;
    }
    return workers_of(found) < static_cast<int>(workers_.size()) ? std::optional(found) : std::nullopt;
}

bool Sockets::has(int socket, int workers) const {
    const int there = workers_of(socket);
    return workers <= there && there < static_cast<int>(workers_.size());
}

/// The socket that a gang is to come from, so that its members share a cache and the memory near it: that of its data
/// or else the leader's, if it has as many workers and is not the only one. Otherwise empty: from any socket.
std::optional<int> Gangs::package_for(const Task& task, const Worker& leader) const {
    if (task.near_pinned_memory && pinned_memory_ && sockets_.has(*pinned_memory_, task.max_threads)) {
        return pinned_memory_;
    }
    return sockets_.has(leader.package, task.max_threads) ? std::optional(leader.package) : std::nullopt;
}

/// Whether the worker's thread lately had to share its core, as far as it knows. To be called by that thread.
bool Gangs::is_late(Worker& worker) {
    const bool late = this_thread_is_late();
    worker.late_until.store(late ? now_ns() + lateness_lasts_ns : 0, std::memory_order_relaxed);
    return late;
}

/// Workers that the plan's gang may have and that are not late, without the leader.
int Gangs::punctual_joiners(const GangPlan& plan, const Worker& leader) const {
    const std::int64_t now = now_ns();
    return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
        return worker.get() != &leader && plan.takes_from(worker->package) &&
               worker->late_until.load(std::memory_order_relaxed) < now;
    }));
}

/// Whether any worker counted as late when it last looked, however long ago.
bool Gangs::some_late() const {
    return std::any_of(workers_.begin(), workers_.end(), [](const auto& worker) { return worker->counts_as_late(); });
}

GangPlan Gangs::plan(const Task& task, Worker& leader) const {
    GangPlan plan{.minimum = task.min_threads, .wanted = task.max_threads};
    if (task.scope->inside_gang) {
        plan.minimum = 1;
        plan.strict = false;
        plan.patience = patience_inside_gang;
        return plan;
    }
    plan.package = package_for(task, leader);
    plan.with_leader = plan.takes_from(leader.package);
    plan.patience = std::chrono::microseconds(task.patience_us);
    if (plan.minimum == plan.wanted) return plan;
    const int others = punctual_joiners(plan, leader);
    if (plan.with_leader && is_late(leader)) {
        plan.with_leader = others < std::max(plan.minimum, fewest_without_leader);
        // with the leader the gang is late in any case: it takes no more members than it has to
        plan.wanted = plan.with_leader ? plan.minimum : std::min(plan.wanted, others);
    } else {
        plan.wanted = std::clamp(others + (plan.with_leader ? 1 : 0), plan.minimum, plan.wanted);
    }
    return plan;
}

/// Opens the hall and waits for members. Returns how many there are, this thread included.
int Gangs::assemble(Gang& gang, Worker& worker) {
    const GangPlan& plan = gang.plan;
    if (plan.with_leader && plan.wanted == 1) return 1;
    bool open = hall_.open(gang);
    while (!open && plan.strict) {
        if (!join(worker)) std::this_thread::yield();  // the hall is full and about to close
        open = hall_.open(gang);
    }
    if (!open) return 1;
    // The sleepers of one socket, or those that are not late, are not told apart: the others go back to sleep.
    const bool all_fit = !plan.package && plan.wanted == gang.task.max_threads && !some_late();
    parking_.wake_joiners(plan.strict ? Joiners::outside_gangs : Joiners::all,
                          all_fit ? plan.wanted - 1 : static_cast<int>(workers_.size()));
    return hall_.assemble(gang, [&] { return punctual_joiners(plan, worker) + (plan.with_leader ? 1 : 0); });
}

void Gangs::lead(Task& task, Worker& worker) {
    Gang gang(task, plan(task, worker));
    const int size = assemble(gang, worker);
    TeamBarrier barrier(size);
    gang.barrier = &barrier;
    if (!kernels_.may_run(task)) return run(gang, worker, Gang::Kernel::dropped);  // all members run it, or none
    bool begun = false;
    kernels_.run_gang(task, worker, [&] {
        begun = true;
        run(gang, worker, Gang::Kernel::runs);
        return gang.failed.load(std::memory_order_relaxed);
    });
    if (!begun) run(gang, worker, Gang::Kernel::dropped);  // a hook threw
}

/// Lets the members in, and waits until all have left.
void Gangs::run(Gang& gang, Worker& worker, Gang::Kernel kernel) {
    gang.kernel = kernel;
    const int size = gang.barrier->size();
    gang.inside.store(static_cast<std::uint32_t>(size), std::memory_order_relaxed);
    gang.entered.store(1, std::memory_order_release);
    gang.entered.notify_all();
    if (gang.plan.with_leader) enter(gang, 0, worker);
    for (std::uint32_t inside = gang.inside.load(std::memory_order_acquire); inside != 0;) {
        inside = wait_while_equal(gang.inside, inside);
    }
}

void Gangs::enter(Gang& gang, int rank, Worker& worker) {
    wait_while_equal(gang.entered, 0);
    // A leader that is no member waits for the members, even for a single one. So that one counts as busy with a gang,
    // too: otherwise it could join a gang that waits for this leader.
    const int leader_waits = gang.plan.with_leader ? 0 : 1;
    worker.gangs += leader_waits;
    if (gang.kernel == Gang::Kernel::runs && kernels_.run_as_member(gang.task, worker, Team(rank, *gang.barrier))) {
        gang.failed.store(true, std::memory_order_relaxed);  // published by leaving
    }
    worker.gangs -= leader_waits;
    // release: the leader, which completes the task, sees what this member wrote. The gang may be gone afterwards; only
    // its address is used.
    gang.inside.fetch_sub(1, std::memory_order_acq_rel);
    gang.inside.notify_all();
}

bool Gangs::join(Worker& worker) {
    const auto membership =
        hall_.join({.package = worker.package, .in_gang = worker.gangs > 0, .late = is_late(worker)});
    if (!membership) return false;
    enter(membership->gang, membership->rank, worker);
    return true;
}

}  // namespace basalt::detail
