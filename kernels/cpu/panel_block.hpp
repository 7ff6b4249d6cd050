#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_partition.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

/// One member's part in a block of the panel's columns: one leaf of up to 16 columns or a few, copied
/// column-major into scratch (in place, row strides that are powers of two would thrash the cache; and the
/// panel's memory is passed over once a block) and factored column by column.
///
/// Columns are brought up to date as late as the next pivot allows. The columns of a leaf are taken in groups
/// of `rank`: before column j is announced, only column j itself is brought up to date; the group that ended
/// before it is applied to the leaf's columns right of j afterwards, while the others' announcements arrive
/// ("delayed waiting", as rocHPL does). A finished leaf is applied to the leaves right of it. An announced
/// row carries its multipliers, so whoever reads it can bring it up to date alone: nothing more is exchanged.
template <class T>
class PanelBlock {
  public:
    PanelBlock(const Team& team, View<T> panel, const RowPartition& rows, PanelWorkspace<T>& shared);

    /// Factors columns col .. col + cols - 1 from row col down, cols <= max_block_cols and <= rows - col.
    /// Outside these columns nothing is exchanged yet.
    void factor(Index col, Index cols);

    /// Rows exchanged with rows col, col + 1, ... of the last block, counted from row col.
    const Index* pivots() const { return pivots_.data(); }

    /// LAPACK's INFO over all blocks so far.
    Index info() const { return info_; }

  private:
    using Row = std::array<T, max_block_cols>;

    bool owns(Index row) const { return row >= low_ && row < low_ + rows_; }
    Index leaf_start(Index j) const { return j / kernels_.leaf * kernels_.leaf; }
    Index leaf_end(Index j) const { return std::min(leaf_start(j) + kernels_.leaf, cols_); }
    Index group_start(Index j) const {
        return leaf_start(j) + (j - leaf_start(j)) / kernels_.rank * kernels_.rank;
    }
    Index applied(Index j) const;
    Index local(Index row) const { return std::max(row, low_) - low_; }

    void announce(Index j, simd::Candidate<T> found, Index searched_from);
    void apply_finished_group(Index j);
    void choose_pivot(Index j);
    void interchange(Index j);
    void eliminate(Index j);
    void advance_within_leaf(Index j, simd::Scaling scaling, T scale);
    void finish_leaf(Index j, simd::Scaling scaling, T scale);

    void subtract(Row& row, Index from, Index to, Index first, Index last) const;
    void load_row(Index row, Row& to) const;
    void store_row(Index row, const Row& from);

    const Team& team_;
    const View<T> panel_;
    const RowPartition& partition_;
    const simd::Kernels<T>& kernels_;
    PivotExchange<T>& exchange_;
    const bool oversubscribed_;
    T* const scratch_;  // this member's slice

    std::uint32_t step_ = 0;  // exchanges so far
    Index info_ = 0;

    Index col_ = 0, cols_ = 0;  // of this block
    Index low_ = 0, rows_ = 0;  // this member's rows at or below the block's diagonal
    Index ld_ = 0;
    std::array<Row, max_block_cols>
        top_{};  // the finished rows of the block: U and the multipliers left of it
    std::array<Index, max_block_cols> pivots_{};
    Index pivot_ = 0;
    Row pivot_row_{};
    Row diagonal_row_{};
};

}  // namespace basalt
