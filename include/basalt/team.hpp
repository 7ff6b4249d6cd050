#pragma once

#include <atomic>
#include <cstdint>

namespace basalt {

/// What the members of one gang share: a barrier that spins for a bounded time and then parks.
///
/// Thread-safety: wait() is called by every one of the `size` members, once a round.
class TeamBarrier {
  public:
    explicit TeamBarrier(int size) : size_(size) {}
    TeamBarrier(const TeamBarrier&) = delete;
    TeamBarrier& operator=(const TeamBarrier&) = delete;

    /// Returns when all members have arrived. What a member wrote before is visible to all after.
    void wait();

    int size() const { return size_; }

  private:
    const int size_;
    alignas(64) std::atomic<std::uint32_t> arrived_{0};
    alignas(64) std::atomic<std::uint32_t> round_{0};
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

  private:
    int rank_;
    TeamBarrier* barrier_;
};

/// Waits until `word` differs from `old`: spins for a bounded time, then parks on the word.
/// Whoever changes the word must call word.notify_all() afterwards. Returns the new value (acquire).
std::uint32_t wait_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t old);

}  // namespace basalt
