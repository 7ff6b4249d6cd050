#include "kernels/cpu/panel.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "kernels/cpu/panel_block.hpp"
#include "kernels/cpu/row_partition.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

namespace {

constexpr std::align_val_t page{4096};

template <class T>
constexpr Index cache_line = 64 / static_cast<Index>(sizeof(T));

/// One member's walk through the recursion. All members take the same walk; comments name what is split.
template <class T>
class PanelMember {
  public:
    PanelMember(const Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared)
        : team_(team),
          panel_(panel),
          pivots_(pivots),
          packed_(shared.packed_block()),
          kernels_(simd::kernels<T>()),
          partition_(panel.rows(), panel.cols(), team.size()),
          block_(team, panel, partition_, shared) {}

    Index factor() {
        const Index pivots = std::min(panel_.rows(), panel_.cols());
        factor(0, pivots);
        if (pivots < panel_.cols()) solve(0, pivots, panel_.cols() - pivots);
        team_.barrier();
        return block_.info();
    }

  private:
    void factor(Index col, Index cols) {
        if (cols <= kernels_.block) return factor_block(col, cols);
        const Index half = (cols / 2 + kernels_.block - 1) / kernels_.block * kernels_.block;
        factor(col, half);
        solve(col, half, cols - half);
        team_.barrier();
        update(col, half, cols - half);
        factor(col + half, cols - half);
    }

    /// All columns outside the block are exchanged at once, to its left as well: no backward pass is needed.
    void factor_block(Index col, Index cols) {
        block_.factor(col, cols);
        if (team_.rank() == 0) {
            for (Index k = 0; k < cols; ++k) pivots_[col + k] = col + block_.pivots()[k];
        }
        const Index outside = panel_.cols() - cols;
        const Index from = column_share(outside, team_.rank()), to = column_share(outside, team_.rank() + 1);
        swap(col, cols, std::min(from, col), std::min(to, col));
        swap(col, cols, std::max(from, col) + cols, std::max(to, col) + cols);
        team_.barrier();
    }

    void swap(Index first_row, Index count, Index from, Index to) {
        if (from == to) return;
        swap_rows(panel_.block(first_row, from, panel_.rows() - first_row, to - from), block_.pivots(),
                  count);
    }

    /// The first of `cols` columns that belongs to `rank`, on a cache line of the columns.
    Index column_share(Index cols, int rank) const {
        if (rank == team_.size()) return cols;
        return cols * rank / team_.size() / cache_line<T> * cache_line<T>;
    }

    /// U(col.., col + half..) = L^-1 A, split by columns; the result is also packed for the update.
    void solve(Index col, Index half, Index cols) {
        const Index strips = (cols + kernels_.strip - 1) / kernels_.strip;
        const Index to = strips * (team_.rank() + 1) / team_.size();
        for (Index s = strips * team_.rank() / team_.size(); s < to; ++s) {
            const Index j = s * kernels_.strip;
            kernels_.solve_strip(half, std::min(kernels_.strip, cols - j), at(col, col), panel_.row_stride(),
                                 at(col, col + half + j), panel_.row_stride(), packed_ + j * half);
        }
    }

    /// A(below, right) -= L(below, :) U, every member its own rows.
    void update(Index col, Index half, Index cols) {
        const Index from = std::max(partition_.begin(team_.rank()), col + half);
        const Index rows = partition_.end(team_.rank()) - from;
        if (rows <= 0) return;
        kernels_.gemm_minus(rows, cols, half, at(from, col + half), panel_.row_stride(), at(from, col),
                            panel_.row_stride(), packed_);
    }

    T* at(Index row, Index col) const { return panel_.data() + row * panel_.row_stride() + col; }

    const Team& team_;
    const View<T> panel_;
    Index* const pivots_;
    T* const packed_;
    const simd::Kernels<T>& kernels_;
    const RowPartition partition_;
    PanelBlock<T> block_;
};

}  // namespace

template <class T>
Index PanelWorkspace<T>::packed_ld(Index rows) {
    // an odd number of lines: the columns then spread over the sets of the caches
    return ((rows + cache_line<T> - 1) / cache_line<T> | 1) * cache_line<T>;
}

template <class T>
void PanelWorkspace<T>::Free::operator()(T* p) const {
    ::operator delete(p, page);
}

template <class T>
typename PanelWorkspace<T>::Buffer PanelWorkspace<T>::allocate(Index count) {
    return Buffer(static_cast<T*>(::operator new(static_cast<std::size_t>(count) * sizeof(T), page)));
}

template <class T>
PanelWorkspace<T>::PanelWorkspace(int members, Index rows, Index cols)
    : members_(members),
      rows_(rows),
      cols_(cols),
      exchange_(members),
      column_scratch_(allocate((rows + 32 * members) * max_block_cols)),
      packed_block_(allocate(std::min(rows, cols) * (cols + simd::kernels<T>().strip))) {}

template <class T>
Index panel_factor(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared) {
    if (!shared.fits(team.size(), panel.rows(), panel.cols())) {
        throw std::invalid_argument("panel of " + std::to_string(panel.rows()) + " x " +
                                    std::to_string(panel.cols()) + " for " + std::to_string(team.size()) +
                                    " threads does not fit its workspace");
    }
    if (panel.col_stride() != 1 && panel.cols() > 1) {
        throw std::invalid_argument("panel is not row-major: column stride " +
                                    std::to_string(panel.col_stride()));
    }
    if (panel.empty()) return 0;
    shared.exchange().reset(team.rank());
    team.barrier();
    return PanelMember<T>(team, panel, pivots, shared).factor();
}

template class PanelWorkspace<float>;
template class PanelWorkspace<double>;
template Index panel_factor(Team&, View<float>, Index*, PanelWorkspace<float>&);
template Index panel_factor(Team&, View<double>, Index*, PanelWorkspace<double>&);

}  // namespace basalt
