#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>

#include <basalt/team.hpp>
#include <basalt/view.hpp>

#include "kernels/cpu/panel/phases.hpp"
#include "kernels/cpu/panel/row_partition.hpp"
#include "kernels/cpu/panel/workspace.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

/// One member's part in a block of the panel's columns: taken from the panel into column-major scratch (in
/// place, row strides that are powers of two would thrash the cache), with the columns left of it applied on
/// the way, then factored there leaf by leaf.
///
/// Columns are brought up to date as late as the next pivot allows: a leaf when its turn comes, and inside a
/// leaf in groups of `rank`: before column j is announced, only column j itself is brought up to date; the
/// group that ended before it is applied to the leaf's columns right of j afterwards, while the others'
/// announcements arrive ("delayed waiting", as rocHPL does). An announced row carries its multipliers, so
/// a reader can bring it up to date alone: nothing more is exchanged.
template <class T, class Clock>
class PanelBlock {
  public:
    PanelBlock(const Team& team, View<T> panel, const RowPartition& rows, PanelWorkspace<T>& shared, Clock& clock,
               const simd::Kernels<T>& kernels)
        : team_(team),
          panel_(panel),
          partition_(rows),
          kernels_(kernels),
          exchange_(shared.exchange()),
          packed_(shared.packed_block()),
          cores_(static_cast<unsigned>(team.size()) > std::thread::hardware_concurrency() ? Cores::crowded
                                                                                          : Cores::enough),
          scratch_(shared.column_scratch(rows.begin(team.rank()), team.rank())),
          clock_(clock) {
        assert(kernels_.block <= max_block_cols && kernels_.rank <= simd::max_rank);
    }

    /// Factors columns col .. col + cols - 1 from row col down, cols <= max_block_cols and <= rows - col. The
    /// columns left of them are factored, and the rows of U above them are packed.
    /// Outside these columns nothing is exchanged yet; all members have read what they need of it.
    void factor(Index col, Index cols) {
        load(col, cols);
        for (Index j = 0; j < cols; ++j) {
            if (j == leaf_start(j)) begin_leaf(j);
            apply_finished_group(j);
            choose_pivot(j);
            interchange(j);
            eliminate(j);
        }
        step_ += static_cast<std::uint32_t>(cols);
        store();
    }

    /// Waits for all members, as team.barrier(), but in less time.
    void barrier() {
        clock_.enter(PanelPhase::barrier);
        exchange_.barrier(team_.rank(), team_.size(), ++step_, cores_);
    }

    /// Rows exchanged with rows col, col + 1, ... of the last block, counted from row col.
    const Index* pivots() const { return pivots_.data(); }

    /// LAPACK's INFO over all blocks so far.
    Index info() const { return info_; }

  private:
    using Row = PivotRow<T>;

    bool owns(Index row) const { return row >= low_ && row < low_ + rows_; }
    Index leaf_start(Index j) const { return j / kernels_.leaf * kernels_.leaf; }
    Index leaf_end(Index j) const { return std::min(leaf_start(j) + kernels_.leaf, cols_); }
    Index group_start(Index j) const { return leaf_start(j) + (j - leaf_start(j)) / kernels_.rank * kernels_.rank; }
    Index local(Index row) const { return std::min(std::max(row, low_) - low_, rows_); }
    std::uint32_t step(Index j) const { return step_ + static_cast<std::uint32_t>(j) + 1; }
    T* column(Index j, Index row) const { return scratch_ + j * ld_ + row; }
    Row& top(Index j) { return top_[static_cast<std::size_t>(j)]; }
    const T* upper(Index row, Index col) const {
        return &top_[static_cast<std::size_t>(row)][static_cast<std::size_t>(col)];
    }

    /// Columns of the leaf that are already subtracted from its columns right of j when column j is announced.
    Index applied(Index j) const {
        const Index group = group_start(j);
        return j == group && group > leaf_start(j) ? group - kernels_.rank : group;
    }

    void load(Index col, Index cols) {
        clock_.enter(PanelPhase::load);
        col_ = col;
        cols_ = cols;
        low_ = std::max(partition_.begin(team_.rank()), col);
        rows_ = std::max<Index>(0, partition_.end(team_.rank()) - low_);
        ld_ = PanelWorkspace<T>::packed_ld(rows_);
        const T* const left = panel_.data() + low_ * panel_.row_stride();
        const Index height = std::min(panel_.rows(), panel_.cols());
        kernels_.load_block(rows_, cols, col, left + col, left, panel_.row_stride(), packed_ + col * height, height,
                            scratch_, ld_);
    }

    /// Applies the block's earlier leaves to the one that starts with column j, and announces column j.
    void begin_leaf(Index j) {
        clock_.enter(PanelPhase::leaf);
        const Index start = local(col_ + j);
        kernels_.update_block(rows_ - start, leaf_end(j) - j, j, column(0, start), ld_, upper(0, j), max_block_cols,
                              column(j, start), ld_);
        announce(
            j,
            kernels_.update_column(rows_ - start, 0, nullptr, ld_, simd::Scaling::none, T{}, nullptr, column(j, start)),
            start);
    }

    /// `found.row` counts from the local row `searched_from`.
    void announce(Index j, simd::Candidate<T> found, Index searched_from) {
        clock_.enter(PanelPhase::announce);
        const int me = team_.rank();
        const Index diagonal = col_ + j, row = low_ + searched_from + found.row;
        const bool has_diagonal = owns(diagonal);
        exchange_.announce(me, step(j), {found.magnitude, row, has_diagonal ? *column(j, diagonal - low_) : T{}});
        if (found.row >= 0) {
            load_row(row, exchange_.candidate(me, step(j)));
            exchange_.publish_candidate(me, step(j));
        }
        if (has_diagonal) {
            load_row(diagonal, exchange_.diagonal(me, step(j)));
            exchange_.publish_diagonal(me, step(j));
        }
    }

    void apply_finished_group(Index j) {
        const Index first = applied(j), start = local(col_ + j), right = leaf_end(j) - j - 1;
        if (first == group_start(j) || right == 0) return;
        clock_.enter(PanelPhase::delayed);
        kernels_.update_block(rows_ - start, right, j - first, column(first, start), ld_, upper(first, j + 1),
                              max_block_cols, column(j + 1, start), ld_);
    }

    /// Reads every member's announcement: the largest magnitude wins, the lowest row among equals. Members are
    /// ordered by rows, so all come to the same result.
    void choose_pivot(Index j) {
        clock_.enter(PanelPhase::exchange);
        const Index diagonal = col_ + j;
        const int owner = partition_.owner(diagonal);
        int winner = -1;
        T largest{-1}, on_diagonal{};
        for (int rank = 0; rank < team_.size(); ++rank) {
            const PivotHeader<T>& header = exchange_.await(rank, step(j), cores_);
            if (rank == owner) on_diagonal = header.diagonal;
            if (header.magnitude > largest) {
                largest = header.magnitude;
                pivot_ = header.row;
                winner = rank;
            }
        }
        clock_.enter(PanelPhase::pivot_row);
        if (std::isnan(on_diagonal)) {  // as idamax, which starts from it and finds nothing larger
            pivot_ = diagonal;
            take(exchange_.await_diagonal(owner, step(j), cores_), top(j));
        } else {
            take(exchange_.await_candidate(winner, step(j), cores_), top(j));
        }
        pivots_[static_cast<std::size_t>(j)] = pivot_ - col_;
    }

    /// The pivot's row becomes row j of the top, and the diagonal row moves to its place.
    void interchange(Index j) {
        subtract(top(j), applied(j), j, j + 1, leaf_end(j));
        const Index diagonal = col_ + j;
        if (pivot_ == diagonal || !owns(pivot_)) return;
        Row row;
        take(exchange_.await_diagonal(partition_.owner(diagonal), step(j), cores_), row);
        // the rows around it have had the finished group applied since the announcement
        subtract(row, applied(j), group_start(j), j + 1, leaf_end(j));
        store_row(pivot_, row);
    }

    /// row(k) -= sum over from <= s < to of row(s) U(s, k), for first <= k < last.
    void subtract(Row& row, Index from, Index to, Index first, Index last) const {
        kernels_.update_row(first, last, from, to, upper(0, 0), max_block_cols, row.data());
    }

    /// Scales column j by its pivot, brings column j + 1 up to date and announces it.
    void eliminate(Index j) {
        const T pivot = top(j)[static_cast<std::size_t>(j)];
        simd::Scaling scaling = simd::Scaling::none;
        T scale = pivot;
        if (pivot == T{}) {
            if (info_ == 0) info_ = col_ + j + 1;
        } else if (std::abs(pivot) >= std::numeric_limits<T>::min()) {
            scaling = simd::Scaling::multiply;
            scale = T{1} / pivot;
        } else {  // the reciprocal of a denormal may overflow where the quotients do not
            scaling = simd::Scaling::divide;
        }
        if (j + 1 < leaf_end(j)) {
            advance_within_leaf(j, scaling, scale);
        } else {
            finish_leaf(j, scaling, scale);
        }
    }

    void advance_within_leaf(Index j, simd::Scaling scaling, T scale) {
        clock_.enter(PanelPhase::leaf);
        const Index next = j + 1, first = applied(next), start = local(col_ + next);
        std::array<T, simd::max_rank> u{};
        for (Index q = first; q < next; ++q) u[static_cast<std::size_t>(q - first)] = *upper(q, next);
        announce(next,
                 kernels_.update_column(rows_ - start, next - first, column(first, start), ld_, scaling, scale,
                                        u.data(), column(next, start)),
                 start);
    }

    /// Column j is the last of its leaf, whose rows of U are completed right of it.
    void finish_leaf(Index j, simd::Scaling scaling, T scale) {
        const Index start = local(col_ + j + 1);
        kernels_.scale_column(rows_ - start, scaling, scale, column(j, start));
        clock_.enter(PanelPhase::pivot_row);
        for (Index s = leaf_start(j); s <= j; ++s) subtract(top(s), 0, s, j + 1, cols_);
    }

    /// The finished columns go back to the panel.
    void store() {
        clock_.enter(PanelPhase::store);
        T* const home = panel_.data() + low_ * panel_.row_stride() + col_;
        const Index start = local(col_ + cols_);
        for (Index i = 0; i < start; ++i) {
            std::copy_n(upper(low_ + i - col_, 0), cols_, home + i * panel_.row_stride());
        }
        kernels_.unpack_columns(rows_ - start, cols_, scratch_ + start, ld_, home + start * panel_.row_stride(),
                                panel_.row_stride());
    }

    void take(const Row& from, Row& to) const { std::copy_n(from.begin(), cols_, to.begin()); }

    void load_row(Index row, Row& to) const {
        const T* from = scratch_ + (row - low_);
        for (Index k = 0; k < cols_; ++k) to[static_cast<std::size_t>(k)] = from[k * ld_];
    }

    void store_row(Index row, const Row& from) {
        T* to = scratch_ + (row - low_);
        for (Index k = 0; k < cols_; ++k) to[k * ld_] = from[static_cast<std::size_t>(k)];
    }

    const Team& team_;
    const View<T> panel_;
    const RowPartition& partition_;
    const simd::Kernels<T>& kernels_;
    PivotExchange<T>& exchange_;
    const T* const packed_;
    const Cores cores_;
    T* const scratch_;  // this member's slice
    Clock& clock_;

    std::uint32_t step_ = 0;  // exchanges so far
    Index info_ = 0;

    Index col_ = 0, cols_ = 0;  // of this block
    Index low_ = 0, rows_ = 0;  // this member's rows at or below the block's diagonal
    Index ld_ = 0;
    /// The finished rows of the block: U and the multipliers left of it. Whole registers of them are loaded.
    alignas(64) std::array<Row, max_block_cols> top_{};
    std::array<Index, max_block_cols> pivots_{};
    Index pivot_ = 0;
};

}  // namespace basalt
