#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "basalt/team.hpp"
#include "runtime/graph/task.hpp"
#include "runtime/graph/worker.hpp"

namespace basalt::detail {

/// Who may take part in a gang.
struct GangPlan {
    int minimum = 1;               ///< members without which it does not start
    int wanted = 1;                ///< members with which it starts at once
    std::optional<int> package{};  ///< the socket whose workers may join; empty: any
    bool with_leader = true;       ///< the leader is a member, of rank 0
    /// It may wait: for its minimum without a time limit and for more members during `patience`.
    bool strict = true;
    std::chrono::microseconds patience{0};

    bool takes_from(int socket) const { return !package || *package == socket; }
};

/// The threads that run one gang task together, from assembly to the last member's leaving.
/// Lives on the leader's stack: the leader leaves last.
struct Gang {
    Gang(Task& task, const GangPlan& plan)
        : task(task), plan(plan), wanted(plan.wanted), joined(plan.with_leader ? 1 : 0) {}

    Task& task;
    const GangPlan plan;
    int wanted;  ///< the plan's, or fewer if workers turned out to be late; guarded by the hall's lock
    /// Whether the members run the kernel, or leave at once, as when its graph was cancelled.
    enum class Kernel : bool { runs, dropped };
    Kernel kernel = Kernel::runs;     ///< published by `entered`
    std::atomic<bool> failed{false};  ///< a member's kernel threw
    /// Members so far. Written under the hall's lock; the leader polls it before it takes the lock.
    std::atomic<int> joined;
    /// 0 while the gang assembles; 1 once it is complete, `barrier` is there and members may enter.
    std::atomic<std::uint32_t> entered{0};
    std::atomic<std::uint32_t> inside{0};  ///< members that have not left
    TeamBarrier* barrier = nullptr;
};

/// Brings gangs together, one at a time.
///
/// Why no two gangs ever wait for each other's members: only one gang assembles at any moment, and a worker that
/// wants to lead another one joins it first. Every worker can join sooner or later: it finishes its task, or it
/// waits for children and joins from there. The exception are members of a running gang that wait inside it:
/// the members they would need may stand at that gang's barrier, so they neither lead nor join a gang that
/// waits for a minimum, and gangs nested in a gang do not wait: they start with the threads that happen to be
/// free. So a running gang always ends without the hall's help, and sends its members back. A gang that takes the
/// workers of one socket only is no exception: it does so only where these alone are enough for it. Nor are late
/// workers: they stay away only from a gang that has its minimum.
class GangHall {
  public:
    /// Opens the gang for joiners, unless another one is assembling: then false.
    bool open(Gang& gang);

    /// Waits for the minimum, then for more members for as long as the plan says, and closes the hall. Returns the
    /// gang's size. To be called by the leader after open(). `obtainable` tells how many members the gang may get in
    /// all; it is asked again and again, because a worker may turn out to be late.
    int assemble(Gang& gang, const std::function<int()>& obtainable);

    struct Joiner {
        int package;
        bool in_gang;  ///< a member of a running gang: joins only gangs that do not wait
        bool late;     ///< joins only a gang that lacks its minimum
    };
    struct Membership {
        Gang& gang;
        int rank;
    };
    /// Joins the gang that assembles, if there is one and it takes such a worker.
    std::optional<Membership> join(const Joiner& joiner);

    /// Whether a gang assembles that has room.
    bool wants_members() const { return need() != Need::nothing; }
    /// Whether a gang assembles that cannot start yet, and takes late workers therefore.
    bool lacks_minimum() const { return need() == Need::minimum; }

  private:
    enum class Need : std::uint8_t { nothing, minimum, more };
    // acquire: pairs with the release in open(). A stale value costs one more look, or one member less.
    Need need() const { return need_.load(std::memory_order_acquire); }
    void publish_need(const Gang& gang);

    std::mutex lock_;  // guards assembling_ and the joining of members
    std::condition_variable joined_;
    Gang* assembling_ = nullptr;
    std::atomic<Need> need_{Need::nothing};
};

}  // namespace basalt::detail
