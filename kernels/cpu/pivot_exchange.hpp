#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include <basalt/team.hpp>
#include <basalt/view.hpp>

namespace basalt {

/// Widest block of columns that the panel packs at once: a row of it travels inside a slot.
constexpr Index max_block_cols = 64;

/// What one member announces for one column of a leaf.
template <class T>
struct alignas(64) PivotSlot {
    T magnitude;                              ///< largest |x| among its rows; negative if it has no candidate
    Index row;                                ///< the row that holds it, counted in the panel
    std::array<T, max_block_cols> candidate;  ///< that row across the block
    std::array<T, max_block_cols> diagonal;   ///< the diagonal row; written by the member that owns it
};

/// The one synchronisation a column of the gang panel: every member announces its candidate row in a slot of
/// its own and reads everybody's, so the search, the recording and the interchange of the pivot take a single
/// exchange, without locks.
///
/// Every member calls, for step = 1, 2, ...: outgoing, publish, then await for each rank. Two slots a member
/// suffice: a member announces step s + 2 only after it has read step s + 1 of all others, which they
/// announced after they had read all of step s.
template <class T>
class PivotExchange {
  public:
    explicit PivotExchange(int members) : mailboxes_(new Mailbox[static_cast<std::size_t>(members)]) {}

    /// Called by every member before the barrier that opens a panel; steps then count from 1.
    void reset(int rank) { mailbox(rank).step.store(0, std::memory_order_relaxed); }

    /// The slot to fill for `step`.
    PivotSlot<T>& outgoing(int rank, std::uint32_t step) { return mailbox(rank).slots[step % 2]; }

    /// Makes outgoing(rank, step) visible to all.
    void publish(int rank, std::uint32_t step) {
        // release: the slot's content before its number
        mailbox(rank).step.store(step, std::memory_order_release);
        mailbox(rank).step.notify_all();
    }

    /// Waits until `rank` has announced `step`: spins for a bounded time, then parks. A gang of more members
    /// than cores parks at once: the member waited for is not running, and a spin would be taken from it. The
    /// slot stays valid until the caller publishes step + 1.
    const PivotSlot<T>& await(int rank, std::uint32_t step, bool park_at_once = false) {
        Mailbox& from = mailbox(rank);
        const std::uint32_t before = step - 1;  // the word may already be step + 1, never more
        if (park_at_once) {
            from.step.wait(before, std::memory_order_acquire);
        } else {
            wait_while_equal(from.step, before);
        }
        return from.slots[step % 2];
    }

  private:
    struct Mailbox {
        alignas(64) std::atomic<std::uint32_t> step{0};
        std::array<PivotSlot<T>, 2> slots;
    };

    Mailbox& mailbox(int rank) { return mailboxes_[static_cast<std::size_t>(rank)]; }

    std::unique_ptr<Mailbox[]> mailboxes_;
};

}  // namespace basalt
