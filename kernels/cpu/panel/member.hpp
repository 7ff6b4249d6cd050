#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/cpu/panel/block.hpp"
#include "kernels/cpu/panel/phases.hpp"
#include "kernels/cpu/panel/row_partition.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

/// One member's walk through the panel, block of columns by block of columns. All members take the same walk;
/// comments name what is split. Left-looking: a block is updated when it is taken up, so that the panel is read
/// and written once a block and only its finished columns are read again.
///
/// Clock is told what begins; NoPanelClock costs nothing.
template <class T, class Clock>
class PanelMember {
  public:
    PanelMember(const Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared, Clock& clock,
                const simd::Kernels<T>& kernels)
        : team_(team),
          panel_(panel),
          height_(std::min(panel.rows(), panel.cols())),
          pivots_(pivots),
          packed_(shared.packed_block()),
          kernels_(kernels),
          partition_(panel.rows(), panel.cols(), team.size()),
          clock_(clock),
          block_(team, panel, partition_, shared, clock, kernels) {}

    Index factor() {
        for (Index col = 0; col < height_; col += kernels_.block) {
            const Index cols = std::min(kernels_.block, height_ - col);
            block_.factor(col, cols);
            if (team_.rank() == 0) {
                for (Index k = 0; k < cols; ++k) pivots_[col + k] = col + block_.pivots()[k];
            }
            swap_outside(col, cols);
            if (col + cols == height_) break;
            block_.barrier();
            solve(col, col + cols, col + cols, height_);
            block_.barrier();
        }
        if (height_ < panel_.cols()) {
            block_.barrier();
            solve(0, height_, height_, panel_.cols());
        }
        clock_.enter(PanelPhase::barrier);
        team_.barrier();  // not the exchange's: its words may be in use for another panel as soon as one member is out
        return block_.info();
    }

  private:
    /// All columns outside the block are exchanged at once, split by columns: those left of it are L's.
    void swap_outside(Index col, Index cols) {
        clock_.enter(PanelPhase::swap);
        const Index outside = panel_.cols() - cols;
        const Index from = column_share(outside, team_.rank()), to = column_share(outside, team_.rank() + 1);
        swap(col, cols, std::min(from, col), std::min(to, col));
        swap(col, cols, std::max(from, col) + cols, std::max(to, col) + cols);
    }

    void swap(Index first_row, Index count, Index from, Index to) {
        if (from == to) return;
        swap_rows(panel_.block(first_row, from, panel_.rows() - first_row, to - from), block_.pivots(), count);
    }

    /// The first of `cols` columns that belongs to `rank`, on a cache line of the columns.
    Index column_share(Index cols, int rank) const {
        constexpr Index cache_line = 64 / static_cast<Index>(sizeof(T));
        if (rank == team_.size()) return cols;
        return cols * rank / team_.size() / cache_line * cache_line;
    }

    /// Rows done .. rows - 1 of U = L^-1 A in columns begin .. end - 1, split by columns; the result is also packed
    /// for the update.
    void solve(Index done, Index rows, Index begin, Index end) {
        clock_.enter(PanelPhase::solve);
        const Index strips = (end - begin + kernels_.strip - 1) / kernels_.strip;
        const Index to = strips * (team_.rank() + 1) / team_.size();
        for (Index s = strips * team_.rank() / team_.size(); s < to; ++s) {
            const Index j = begin + s * kernels_.strip;
            kernels_.solve_strip(done, rows, std::min(kernels_.strip, end - j), panel_.data(), panel_.row_stride(),
                                 nullptr, panel_.data() + j, panel_.row_stride(), packed_ + j * height_);
        }
    }

    const Team& team_;
    const View<T> panel_;
    const Index height_;  ///< columns to factor
    Index* const pivots_;
    T* const packed_;
    const simd::Kernels<T>& kernels_;
    const RowPartition partition_;
    Clock& clock_;
    PanelBlock<T, Clock> block_;
};

/// panel_factor with a clock of the caller's, and with kernels of any instruction set of this machine: see there.
template <class T, class Clock>
Index factor_timed(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared, Clock& clock,
                   const simd::Kernels<T>& kernels = simd::kernels<T>()) {
    if (!shared.fits(team.size(), panel.rows(), panel.cols())) {
        throw std::invalid_argument("panel of " + std::to_string(panel.rows()) + " x " + std::to_string(panel.cols()) +
                                    " for " + std::to_string(team.size()) + " threads does not fit its workspace");
    }
    if (panel.col_stride() != 1 && panel.cols() > 1) {
        throw std::invalid_argument("panel is not row-major: column stride " + std::to_string(panel.col_stride()));
    }
    if (panel.empty()) return 0;
    shared.exchange().reset(team.rank());
    clock.enter(PanelPhase::barrier);
    team.barrier();
    return PanelMember<T, Clock>(team, panel, pivots, shared, clock, kernels).factor();
}

}  // namespace basalt
