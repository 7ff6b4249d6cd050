#include "kernels/cpu/panel_block.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <thread>

namespace basalt {

namespace {

/// Slices of the scratch never overlap: packed_ld exceeds the rows by less than this many elements.
constexpr Index slice_padding = 32;

}  // namespace

template <class T>
PanelBlock<T>::PanelBlock(const Team& team, View<T> panel, const RowPartition& rows,
                          PanelWorkspace<T>& shared)
    : team_(team),
      panel_(panel),
      partition_(rows),
      kernels_(simd::kernels<T>()),
      exchange_(shared.exchange()),
      oversubscribed_(static_cast<unsigned>(team.size()) > std::thread::hardware_concurrency()),
      scratch_(shared.column_scratch() +
               (rows.begin(team.rank()) + team.rank() * slice_padding) * max_block_cols) {
    assert(kernels_.block <= max_block_cols && kernels_.rank <= simd::max_rank);
}

/// Columns of L that are already subtracted from the leaf's columns right of j when column j is announced.
template <class T>
Index PanelBlock<T>::applied(Index j) const {
    const Index group = group_start(j);
    return j == group && group > leaf_start(j) ? group - kernels_.rank : group;
}

template <class T>
void PanelBlock<T>::factor(Index col, Index cols) {
    col_ = col;
    cols_ = cols;
    low_ = std::max(partition_.begin(team_.rank()), col);
    rows_ = std::max<Index>(0, partition_.end(team_.rank()) - low_);
    ld_ = PanelWorkspace<T>::packed_ld(rows_);
    T* const home = panel_.data() + low_ * panel_.row_stride() + col;
    kernels_.pack_columns(rows_, cols, home, panel_.row_stride(), scratch_, ld_);

    announce(0, kernels_.update_column(rows_, 0, nullptr, ld_, simd::Scaling::none, T{}, nullptr, scratch_),
             0);
    for (Index j = 0; j < cols; ++j) {
        apply_finished_group(j);
        choose_pivot(j);
        interchange(j);
        eliminate(j);
    }
    step_ += static_cast<std::uint32_t>(cols);
    kernels_.unpack_columns(rows_, cols, scratch_, ld_, home, panel_.row_stride());
}

/// `found.row` counts from the local row `searched_from`.
template <class T>
void PanelBlock<T>::announce(Index j, simd::Candidate<T> found, Index searched_from) {
    const std::uint32_t step = step_ + static_cast<std::uint32_t>(j) + 1;
    PivotSlot<T>& slot = exchange_.outgoing(team_.rank(), step);
    slot.magnitude = found.magnitude;
    slot.row = low_ + searched_from + found.row;
    if (found.row >= 0) load_row(slot.row, slot.candidate);
    if (owns(col_ + j)) load_row(col_ + j, slot.diagonal);
    exchange_.publish(team_.rank(), step);
}

template <class T>
void PanelBlock<T>::apply_finished_group(Index j) {
    const Index first = applied(j), start = std::min(local(col_ + j), rows_), right = leaf_end(j) - j - 1;
    if (first == group_start(j) || right == 0) return;
    kernels_.update_block(rows_ - start, right, j - first, scratch_ + first * ld_ + start, ld_,
                          &top_[static_cast<std::size_t>(first)][static_cast<std::size_t>(j + 1)],
                          max_block_cols, scratch_ + (j + 1) * ld_ + start, ld_);
}

/// Reads every member's announcement: the largest magnitude wins, the lowest row among equals. Members are
/// ordered by rows, so all come to the same result.
template <class T>
void PanelBlock<T>::choose_pivot(Index j) {
    const std::uint32_t step = step_ + static_cast<std::uint32_t>(j) + 1;
    const Index diagonal = col_ + j;
    const int owner = partition_.owner(diagonal);
    T largest{-1};
    for (int rank = 0; rank < team_.size(); ++rank) {
        const PivotSlot<T>& slot = exchange_.await(rank, step, oversubscribed_);
        if (rank == owner) std::copy_n(slot.diagonal.begin(), cols_, diagonal_row_.begin());
        if (slot.magnitude > largest) {
            largest = slot.magnitude;
            pivot_ = slot.row;
            std::copy_n(slot.candidate.begin(), cols_, pivot_row_.begin());
        }
    }
    const T on_diagonal = diagonal_row_[static_cast<std::size_t>(j)];
    if (std::isnan(on_diagonal)) {  // as idamax, which starts from it and finds nothing larger
        pivot_ = diagonal;
        pivot_row_ = diagonal_row_;
    }
    pivots_[static_cast<std::size_t>(j)] = pivot_ - col_;
}

template <class T>
void PanelBlock<T>::interchange(Index j) {
    subtract(pivot_row_, applied(j), j, j + 1, leaf_end(j));
    subtract(pivot_row_, leaf_start(j), j, leaf_end(j), cols_);
    std::copy_n(pivot_row_.begin(), cols_, top_[static_cast<std::size_t>(j)].begin());
    const Index diagonal = col_ + j;
    if (owns(diagonal)) store_row(diagonal, pivot_row_);
    if (pivot_ != diagonal && owns(pivot_)) {
        // the rows around it have had the finished group applied since the announcement
        subtract(diagonal_row_, applied(j), group_start(j), j + 1, leaf_end(j));
        store_row(pivot_, diagonal_row_);
    }
}

/// row(k) -= sum over from <= s < to of row(s) U(s, k), for first <= k < last.
template <class T>
void PanelBlock<T>::subtract(Row& row, Index from, Index to, Index first, Index last) const {
    for (Index s = from; s < to; ++s) {
        const T factor = row[static_cast<std::size_t>(s)];
        const Row& u = top_[static_cast<std::size_t>(s)];
        for (Index k = first; k < last; ++k)
            row[static_cast<std::size_t>(k)] -= factor * u[static_cast<std::size_t>(k)];
    }
}

/// Scales column j by its pivot, brings column j + 1 up to date and announces it.
template <class T>
void PanelBlock<T>::eliminate(Index j) {
    const T pivot = pivot_row_[static_cast<std::size_t>(j)];
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

template <class T>
void PanelBlock<T>::advance_within_leaf(Index j, simd::Scaling scaling, T scale) {
    const Index next = j + 1, first = applied(next), start = std::min(local(col_ + next), rows_);
    std::array<T, simd::max_rank> u{};
    for (Index q = first; q < next; ++q) {
        u[static_cast<std::size_t>(q - first)] =
            top_[static_cast<std::size_t>(q)][static_cast<std::size_t>(next)];
    }
    announce(next,
             kernels_.update_column(rows_ - start, next - first, scratch_ + first * ld_ + start, ld_, scaling,
                                    scale, u.data(), scratch_ + next * ld_ + start),
             start);
}

/// Column j is the last of its leaf: the leaf is applied to the leaves right of it.
template <class T>
void PanelBlock<T>::finish_leaf(Index j, simd::Scaling scaling, T scale) {
    const Index next = j + 1, first = leaf_start(j), start = std::min(local(col_ + next), rows_);
    kernels_.scale_column(rows_ - start, scaling, scale, scratch_ + j * ld_ + start);
    if (next == cols_) return;
    T* const x = scratch_ + next * ld_ + start;
    kernels_.update_block(rows_ - start, cols_ - next, next - first, scratch_ + first * ld_ + start, ld_,
                          &top_[static_cast<std::size_t>(first)][static_cast<std::size_t>(next)],
                          max_block_cols, x, ld_);
    announce(next,
             kernels_.update_column(rows_ - start, 0, nullptr, ld_, simd::Scaling::none, T{}, nullptr, x),
             start);
}

template <class T>
void PanelBlock<T>::load_row(Index row, Row& to) const {
    const T* from = scratch_ + (row - low_);
    for (Index k = 0; k < cols_; ++k) to[static_cast<std::size_t>(k)] = from[k * ld_];
}

template <class T>
void PanelBlock<T>::store_row(Index row, const Row& from) {
    T* to = scratch_ + (row - low_);
    for (Index k = 0; k < cols_; ++k) to[k * ld_] = from[static_cast<std::size_t>(k)];
}

template class PanelBlock<float>;
template class PanelBlock<double>;

}  // namespace basalt
