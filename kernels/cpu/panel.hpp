#pragma once

#include <memory>
#include <new>

#include <basalt/team.hpp>
#include <basalt/view.hpp>

#include "kernels/cpu/pivot_exchange.hpp"

namespace basalt {

/// What the members of a panel's gang share: the slots of the pivot exchange, scratch for one block of columns
/// (rows x 64 elements) and for the packed rows of U. Reusable for any panel that fits, one at a time. Scratch is
/// first touched by the member that uses it.
template <class T>
class PanelWorkspace {
  public:
    /// For panels of at most `rows` x `cols` factored by gangs of at most `members`.
    PanelWorkspace(int members, Index rows, Index cols);

    /// Whether such a panel and gang fit.
    bool fits(int members, Index rows, Index cols) const {
        return members <= members_ && rows <= rows_ && cols <= cols_;
    }

    PivotExchange<T>& exchange() { return exchange_; }
    /// The slice of a member whose rows begin at `first_row`: packed_ld(its rows) x max_block_cols.
    T* column_scratch(Index first_row, int rank) {
        return column_scratch_.get() + (first_row + rank * slice_padding) * max_block_cols;
    }
    T* packed_block() { return packed_block_.get(); }

    /// Leading dimension of packed columns of `rows` rows: whole cache lines, never a multiple of a page.
    static Index packed_ld(Index rows);

  private:
    /// Slices never overlap: packed_ld exceeds the rows by less than this many elements.
    static constexpr Index slice_padding = 32;

    struct Free {
        std::align_val_t alignment;
        void operator()(T* p) const;
    };
    using Buffer = std::unique_ptr<T[], Free>;
    static Buffer allocate(Index count);

    int members_;
    Index rows_;
    Index cols_;
    PivotExchange<T> exchange_;
    Buffer column_scratch_;
    Buffer packed_block_;
};

/// LU with partial pivoting of one column of tiles by a gang: panel = P L U in place, LAPACK's getrf.
///
/// Called once by every member of the team with the same arguments. `panel` is m x n, row-major (unit column
/// stride), any leading dimension, any m and n, 0 included. pivots[k], k < min(m, n), is the 0-based row of
/// the panel exchanged with row k, in sequence. Returns LAPACK's INFO on every member: 0, or the 1-based
/// number of the first pivot that is exactly zero; the factorization is completed all the same. A NaN on the
/// diagonal stays the pivot, a NaN below it is never chosen, as in BLAS's idamax.
///
/// The same input and number of members give the same bits. When it returns, all members' results are
/// visible to every member. Lock-free, one synchronisation a column. Throws std::invalid_argument (on every
/// member) where the workspace does not fit or the panel is not row-major.
///
/// Source: Kurzak, Luszczek, Faverge, Dongarra, "LU Factorization with Partial Pivoting for a Multicore
/// System with Accelerators", section 3.3 (recursion, rows fixed to threads, split of swap and solve by
/// columns).
template <class T>
Index panel_factor(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared);

}  // namespace basalt
