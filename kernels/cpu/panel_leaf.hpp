#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_partition.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

/// One member's part in the leaves of a panel: up to 16 columns, copied column-major into scratch (in place,
/// row strides that are powers of two would thrash the cache) and factored column by column.
///
/// The columns of a leaf are taken in groups of `rank`. Before column j is announced, only column j itself is
/// brought up to date; the group that ended before it is applied to the columns right of j afterwards, while
/// the others' announcements arrive ("delayed waiting", as rocHPL does). An announced row carries its
/// multipliers, so whoever reads it can bring it up to date alone: nothing more has to be exchanged.
template <class T>
class PanelLeaf {
  public:
    PanelLeaf(const Team& team, View<T> panel, const RowPartition& rows, PanelWorkspace<T>& shared);

    /// Factors columns col .. col + cols - 1 from row col down, cols <= max_leaf_cols and <= rows - col. Rows
    /// outside the leaf's columns are not exchanged yet.
    void factor(Index col, Index cols);

    /// Rows exchanged with rows col, col + 1, ... of the last leaf, counted from row col.
    const Index* pivots() const { return pivots_.data(); }

    /// LAPACK's INFO over all leaves so far.
    Index info() const { return info_; }

  private:
    using Row = std::array<T, max_leaf_cols>;

    bool owns(Index row) const { return row >= low_ && row < low_ + rows_; }
    Index group_start(Index j) const { return j / kernels_.rank * kernels_.rank; }
    Index applied(Index j) const;
    Index local(Index row) const { return std::max(row, low_) - low_; }

    void announce(Index j, simd::Candidate<T> found, Index searched_from);
    void apply_finished_group(Index j);
    void choose_pivot(Index j);
    void interchange(Index j);
    void eliminate(Index j);

    void bring_up_to_date(Row& row, Index from, Index to, Index j) const;
    void load_row(Index row, Row& to) const;
    void store_row(Index row, const Row& from);

    const Team& team_;
    const View<T> panel_;
    const RowPartition& partition_;
    const simd::Kernels<T>& kernels_;
    PivotExchange<T>& exchange_;
    T* const scratch_;  // this member's slice

    std::uint32_t step_ = 0;  // exchanges so far
    Index info_ = 0;

    Index col_ = 0, cols_ = 0;  // of this leaf
    Index low_ = 0, rows_ = 0;  // this member's rows at or below the leaf's diagonal
    Index ld_ = 0;
    std::array<Row, max_leaf_cols> top_{};  // the finished rows of the leaf: U and the multipliers left of it
    std::array<Index, max_leaf_cols> pivots_{};
    Index pivot_ = 0;
    Row pivot_row_{};
    Row diagonal_row_{};
};

}  // namespace basalt
