#pragma once

#include <atomic>
#include <cstdint>

namespace basalt {

/// The barrier that the members of one gang share. Waiting members spin for a bounded time and then park.
///
/// Thread-safety: wait() is called by every one of the `size` members, once a round.
class TeamBarrier {
  public:
    explicit TeamBarrier(int size) : size_(size), state_(one_member * static_cast<std::uint64_t>(size)) {}
    TeamBarrier(const TeamBarrier&) = delete;
    TeamBarrier& operator=(const TeamBarrier&) = delete;

    /// Returns when all members have arrived. What a member wrote before is visible to all after.
    /// Throws Cancelled when a member has failed and so will never arrive.
    void wait();

    /// This member leaves permanently: the others no longer wait for it.
    void drop();

    /// This member failed: the others' wait() throws from now on.
    void poison();

    int size() const { return size_; }

  private:
    static constexpr std::uint64_t one_member = std::uint64_t{1} << 32;

    void next_round();

    const int size_;
    /// Members that take part (high half) and those of them that have arrived (low half).
    alignas(64) std::atomic<std::uint64_t> state_;
    alignas(64) std::atomic<std::uint32_t> round_{0};
    std::atomic<bool> poisoned_{false};
};

/// A member's view of the gang that runs its task: `size` threads that entered together.
///
/// A gang kernel is called once by every member with a Team of its own. rank() is 0 .. size() - 1.
class Team {
  public:
    Team(int rank, TeamBarrier& barrier) : rank_(rank), barrier_(&barrier) {}

    int rank() const { return rank_; }
    int size() const { return barrier_->size(); }

    /// Waits for all members: spins for a bounded time, then parks, so that more members than cores is
    /// slow at worst and never stuck.
    void barrier() const { barrier_->wait(); }

    /// For the code that runs gangs, not for kernels: this member has left, or has failed.
    void drop() const { barrier_->drop(); }
    void poison() const { barrier_->poison(); }

  private:
    int rank_;
    TeamBarrier* barrier_;
};

/// Waits until `word` differs from `old`: spins for a bounded time, then parks on the word.
/// A thread that changes the word must call word.notify_all() afterwards. Returns the new value (acquire).
std::uint32_t wait_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t old);

}  // namespace basalt
