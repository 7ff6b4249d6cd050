#include "kernels/cpu/panel_leaf.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace basalt {

namespace {

/// Slices of the scratch never overlap: leaf_ld exceeds the rows by less than this many elements.
constexpr Index slice_padding = 32;

}  // namespace

template <class T>
PanelLeaf<T>::PanelLeaf(const Team& team, View<T> panel, const RowPartition& rows, PanelWorkspace<T>& shared)
    : team_(team),
      panel_(panel),
      partition_(rows),
      kernels_(simd::kernels<T>()),
      exchange_(shared.exchange()),
      scratch_(shared.leaf_scratch() + (rows.begin(team.rank()) + team.rank() * slice_padding) * max_leaf_cols) {
    assert(kernels_.leaf <= max_leaf_cols && kernels_.rank <= simd::max_rank);
}

/// Columns of L that are already subtracted from the columns right of j when column j is announced.
template <class T>
Index PanelLeaf<T>::applied(Index j) const {
    const Index group = group_start(j);
    return j == group ? std::max<Index>(0, group - kernels_.rank) : group;
}

template <class T>
void PanelLeaf<T>::factor(Index col, Index cols) {
    col_ = col;
    cols_ = cols;
    low_ = std::max(partition_.begin(team_.rank()), col);
    rows_ = std::max<Index>(0, partition_.end(team_.rank()) - low_);
    ld_ = PanelWorkspace<T>::leaf_ld(rows_);
    T* const home = panel_.data() + low_ * panel_.row_stride() + col;
    kernels_.pack_columns(rows_, cols, home, panel_.row_stride(), scratch_, ld_);

    announce(0, kernels_.update_column(rows_, 0, nullptr, ld_, simd::Scaling::none, T{}, nullptr, scratch_), 0);
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
void PanelLeaf<T>::announce(Index j, simd::Candidate<T> found, Index searched_from) {
    const std::uint32_t step = step_ + static_cast<std::uint32_t>(j) + 1;
    PivotSlot<T>& slot = exchange_.outgoing(team_.rank(), step);
    slot.magnitude = found.magnitude;
    slot.row = low_ + searched_from + found.row;
    if (found.row >= 0) load_row(slot.row, slot.candidate);
    if (owns(col_ + j)) load_row(col_ + j, slot.diagonal);
    exchange_.publish(team_.rank(), step);
}

template <class T>
void PanelLeaf<T>::apply_finished_group(Index j) {
    if (j == 0 || j != group_start(j) || j + 1 == cols_) return;
    const Index first = applied(j), start = local(col_ + j);
    kernels_.update_block(rows_ - start, cols_ - j - 1, j - first, scratch_ + first * ld_ + start, ld_,
                          &top_[static_cast<std::size_t>(first)][static_cast<std::size_t>(j + 1)], max_leaf_cols,
                          scratch_ + (j + 1) * ld_ + start, ld_);
}

/// Reads every member's announcement: the largest magnitude wins, the lowest row among equals. Members are
/// ordered by rows, so all come to the same result.
template <class T>
void PanelLeaf<T>::choose_pivot(Index j) {
    const std::uint32_t step = step_ + static_cast<std::uint32_t>(j) + 1;
    const Index diagonal = col_ + j;
    const int owner = partition_.owner(diagonal);
    T largest{-1};
    for (int rank = 0; rank < team_.size(); ++rank) {
        const PivotSlot<T>& slot = exchange_.await(rank, step);
        if (rank == owner) diagonal_row_ = slot.diagonal;
        if (slot.magnitude > largest) {
            largest = slot.magnitude;
            pivot_ = slot.row;
            pivot_row_ = slot.candidate;
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
void PanelLeaf<T>::interchange(Index j) {
    bring_up_to_date(pivot_row_, applied(j), j, j);
    top_[static_cast<std::size_t>(j)] = pivot_row_;
    const Index diagonal = col_ + j;
    if (owns(diagonal)) store_row(diagonal, pivot_row_);
    if (pivot_ != diagonal && owns(pivot_)) {
        // the rows around it have had the finished group applied since the announcement
        bring_up_to_date(diagonal_row_, applied(j), group_start(j), j);
        store_row(pivot_, diagonal_row_);
    }
}

/// row(k) -= sum over from <= s < to of row(s) U(s, k), for the columns k right of j.
template <class T>
void PanelLeaf<T>::bring_up_to_date(Row& row, Index from, Index to, Index j) const {
    for (Index s = from; s < to; ++s) {
        const T factor = row[static_cast<std::size_t>(s)];
        const Row& u = top_[static_cast<std::size_t>(s)];
        for (Index k = j + 1; k < cols_; ++k) row[static_cast<std::size_t>(k)] -= factor * u[static_cast<std::size_t>(k)];
    }
}

/// Scales column j by its pivot, brings column j + 1 up to date and announces it.
template <class T>
void PanelLeaf<T>::eliminate(Index j) {
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
    const Index start = std::min(local(col_ + j + 1), rows_);
    const Index next = j + 1;
    if (next == cols_) {
        kernels_.scale_column(rows_ - start, scaling, scale, scratch_ + j * ld_ + start);
        return;
    }
    const Index first = applied(next);
    std::array<T, simd::max_rank> u{};
    for (Index q = first; q < next; ++q) {
        u[static_cast<std::size_t>(q - first)] = top_[static_cast<std::size_t>(q)][static_cast<std::size_t>(next)];
    }
    announce(next,
             kernels_.update_column(rows_ - start, next - first, scratch_ + first * ld_ + start, ld_, scaling, scale,
                                    u.data(), scratch_ + next * ld_ + start),
             start);
}

template <class T>
void PanelLeaf<T>::load_row(Index row, Row& to) const {
    const T* from = scratch_ + (row - low_);
    for (Index k = 0; k < cols_; ++k) to[static_cast<std::size_t>(k)] = from[k * ld_];
}

template <class T>
void PanelLeaf<T>::store_row(Index row, const Row& from) {
    T* to = scratch_ + (row - low_);
    for (Index k = 0; k < cols_; ++k) to[k * ld_] = from[static_cast<std::size_t>(k)];
}

template class PanelLeaf<float>;
template class PanelLeaf<double>;

}  // namespace basalt
