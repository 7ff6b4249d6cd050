#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include <basalt/view.hpp>

#include "kernels/cpu/panel/pivot_exchange.hpp"

namespace basalt {

/// What the members of a panel's gang share: the slots of the pivot exchange, scratch for one block of columns (at most
/// max_block_cols, or all where a panel has fewer) and for the packed rows of U. Reusable for any panel that fits, one
/// at a time. Scratch is first touched by the member that uses it.
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
    /// The slice of a member whose rows begin at `first_row`: packed_ld(its rows) x the columns of a block.
    T* column_scratch(Index first_row, int rank) {
        return column_scratch_.get() + (first_row + rank * slice_padding) * block_cols();
    }
    T* packed_block() { return packed_block_.get(); }

    /// Leading dimension of packed columns of `rows` rows: whole cache lines, never a multiple of a page.
    static Index packed_ld(Index rows);

  private:
    /// Slices never overlap: packed_ld exceeds the rows by less than this many elements.
    static constexpr Index slice_padding = 32;

    Index block_cols() const { return std::min(max_block_cols, cols_); }

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

}  // namespace basalt
