#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include <basalt/view.hpp>

#include "kernels/cpu/panel/patience.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

/// Widest block of columns that the panel takes into scratch: a row of it travels through the exchange.
constexpr Index max_block_cols = simd::max_block_cols;

/// What one member announces for one column: everything that decides on the pivot, in one cache line.
template <class T>
struct PivotHeader {
    T magnitude;  ///< largest |x| among its rows; negative if it has no candidate
    Index row;    ///< the row that holds it, counted in the panel
    T diagonal;   ///< the diagonal element; from the member that owns it
};

template <class T>
using PivotRow = std::array<T, max_block_cols>;

/// The one synchronisation a column of the gang panel, without locks: every member announces its candidate
/// and reads everybody's, so all come to the same pivot. Rows follow behind the headers, while these are on
/// their way: only the row of the candidate that wins is ever read.
///
/// Every member calls, for step = 1, 2, ...: announce and publish what it has, then await for each rank and
/// the rows it needs. Two slots a member suffice: a member announces step s + 2 only after it has read step
/// s + 1 of all others, which they announced after they had read all they needed of step s.
template <class T>
class PivotExchange {
  public:
    explicit PivotExchange(int members) : mailboxes_(new Mailbox[static_cast<std::size_t>(members)]) {}

    /// Called by every member before the barrier that opens a panel; steps then count from 1.
    void reset(int rank) {
        for (Slot& slot : mailbox(rank).slots) {
            for (auto* word : {&slot.header.step, &slot.candidate.step, &slot.diagonal.step}) {
                word->store(0, std::memory_order_relaxed);
            }
        }
    }

    void announce(int rank, std::uint32_t step, const PivotHeader<T>& header) {
        publish(slot(rank, step).header, step, header);
    }

    /// The row to fill before publish_candidate or publish_diagonal of the same step.
    PivotRow<T>& candidate(int rank, std::uint32_t step) { return slot(rank, step).candidate.content; }
    PivotRow<T>& diagonal(int rank, std::uint32_t step) { return slot(rank, step).diagonal.content; }

    void publish_candidate(int rank, std::uint32_t step) { publish(slot(rank, step).candidate, step); }
    void publish_diagonal(int rank, std::uint32_t step) { publish(slot(rank, step).diagonal, step); }

    /// What `rank` has announced for `step`; waits for it (patience.hpp says how). The result
    /// stays valid until the caller announces step + 1.
    const PivotHeader<T>& await(int rank, std::uint32_t step, Cores cores = Cores::enough) {
        return await(slot(rank, step).header, step, cores);
    }
    const PivotRow<T>& await_candidate(int rank, std::uint32_t step, Cores cores = Cores::enough) {
        return await(slot(rank, step).candidate, step, cores);
    }
    const PivotRow<T>& await_diagonal(int rank, std::uint32_t step, Cores cores = Cores::enough) {
        return await(slot(rank, step).diagonal, step, cores);
    }

    /// A step without a pivot: returns when all `members` have called it. What they wrote before is visible then.
    void barrier(int rank, int members, std::uint32_t step, Cores cores = Cores::enough) {
        announce(rank, step, {});
        for (int other = 0; other < members; ++other) await(other, step, cores);
    }

  private:
    /// Two lines apart: processors fetch lines in pairs.
    template <class Content>
    struct alignas(128) Parcel {
        std::atomic<std::uint32_t> step{0};
        Content content;
    };

    struct Slot {
        Parcel<PivotHeader<T>> header;
        Parcel<PivotRow<T>> candidate;
        Parcel<PivotRow<T>> diagonal;
    };

    struct Mailbox {
        std::array<Slot, 2> slots;
    };

    Mailbox& mailbox(int rank) { return mailboxes_[static_cast<std::size_t>(rank)]; }
    Slot& slot(int rank, std::uint32_t step) { return mailbox(rank).slots[step % 2]; }

    template <class Content>
    static void publish(Parcel<Content>& parcel, std::uint32_t step) {
        // release: the content before its number
        parcel.step.store(step, std::memory_order_release);
    }

    template <class Content>
    static void publish(Parcel<Content>& parcel, std::uint32_t step, const Content& content) {
        parcel.content = content;
        publish(parcel, step);
    }

    template <class Content>
    static const Content& await(const Parcel<Content>& parcel, std::uint32_t step, Cores cores) {
        wait_patiently([&] { return parcel.step.load(std::memory_order_acquire) == step; }, cores);
        return parcel.content;
    }

    std::unique_ptr<Mailbox[]> mailboxes_;
};

}  // namespace basalt
