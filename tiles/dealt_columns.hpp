#pragma once

#include <algorithm>
#include <vector>

#include "basalt/deal.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// Who gets which of columns, or of blocks of them, that GPUs 0 .. gpus - 1 are dealt in rounds of one each: column j
/// is the one of round j / gpus.
class ColumnDeal {
  public:
    /// gpus >= 1. A factorization has fewer columns left from step to step: if all rounds begin with GPU 0, the last
    /// GPU has the most of them at all times. With two, one would have two panels in a row to factor if they did not.
    ColumnDeal(Deal deal, int gpus) : gpus_(gpus), further_(deal == Deal::balanced && gpus > 2 ? 1 : 0) {}

    int gpus() const { return gpus_; }
    int gpu_of(Index column) const { return static_cast<int>((column + column / gpus_ * further_) % gpus_); }
    /// Those of [begin, end) that a GPU has.
    std::vector<Index> of_gpu(int gpu, Index begin, Index end) const {
        std::vector<Index> columns;
        for (Index j = begin; j < end; ++j) {
            if (gpu_of(j) == gpu) columns.push_back(j);
        }
        return columns;
    }

    friend bool operator==(const ColumnDeal&, const ColumnDeal&) = default;

  private:
    int gpus_;
    int further_;  ///< GPUs from where a round begins to where the next one does
};

/// Columns in blocks that are dealt to GPUs, one behind the other on each.
class DealtColumns {
  public:
    /// cols >= 0, block >= 1.
    DealtColumns(Index cols, Index block, const ColumnDeal& deal) : cols_(cols), block_(block), deal_(deal) {}

    Index cols() const { return cols_; }
    Index block() const { return block_; }
    const ColumnDeal& deal() const { return deal_; }
    int gpus() const { return deal_.gpus(); }

    /// Who has column j, and the number it has there.
    int gpu_of(Index j) const { return deal_.gpu_of(j / block_); }
    Index number_there(Index j) const { return j / block_ / gpus() * block_ + j % block_; }
    /// The column behind the block that j is in.
    Index block_end(Index j) const { return std::min((j / block_ + 1) * block_, cols_); }
    /// Columns for which a GPU needs room: whole blocks, as many on each, as the vendor's samples have it.
    Index room() const {
        const Index turn = block_ * gpus();
        return (cols_ + turn - 1) / turn * block_;
    }

  private:
    Index cols_, block_;
    ColumnDeal deal_;
};

/// visit(first, cols) for the blocks, from the left.
template <class Visit>
void for_each_block(const DealtColumns& columns, const Visit& visit) {
    for (Index j = 0; j < columns.cols(); j = columns.block_end(j)) visit(j, columns.block_end(j) - j);
}

/// visit(first, cols) for runs of columns that lie together in both, from the left. Both have as many
/// columns.
template <class Visit>
void for_each_common_run(const DealtColumns& a, const DealtColumns& b, const Visit& visit) {
    for (Index j = 0; j < a.cols();) {
        const Index end = std::min(a.block_end(j), b.block_end(j));
        visit(j, end - j);
        j = end;
    }
}

/// A column-major matrix whose columns are dealt; its leading dimension is `rows` everywhere.
template <class T>
struct DealtView {
    Index rows;
    DealtColumns columns;
    std::vector<T*> pieces;  ///< by GPU: its first column

    /// The first element of column j; those behind it in its block follow.
    T* column(Index j) const {
        return pieces[static_cast<std::size_t>(columns.gpu_of(j))] + columns.number_there(j) * rows;
    }
    /// The block that column j starts.
    View<T> block(Index j) const { return View<T>::column_major(column(j), rows, columns.block_end(j) - j, rows); }
};

}  // namespace basalt
