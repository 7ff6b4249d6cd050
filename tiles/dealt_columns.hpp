#pragma once

#include <algorithm>
#include <vector>

#include "basalt/deal.hpp"
#include "basalt/view.hpp"

namespace basalt {

/// The GPU of each column, or block of columns. GPUs 0 .. gpus - 1 are dealt one column each in a round; column j is in
/// round j / gpus.
class ColumnDeal {
  public:
    /// gpus >= 1. A factorization has fewer columns left in each step. If all rounds begin with GPU 0, the last GPU has
    /// the most of them all the time; Deal::balanced avoids that. With two GPUs all rounds begin with GPU 0, since
    /// otherwise one of them would factor two panels in a row.
    ColumnDeal(Deal deal, int gpus) : gpus_(gpus), further_(deal == Deal::balanced && gpus > 2 ? 1 : 0) {}

    int gpus() const { return gpus_; }
    int gpu_of(Index column) const { return static_cast<int>((column + column / gpus_ * further_) % gpus_); }
    /// The columns of [begin, end) that a GPU has.
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
    int further_;  ///< each round begins further_ GPUs after the former round
};

/// Columns in blocks that are dealt to GPUs. On a GPU they lie one after the other.
class DealtColumns {
  public:
    /// cols >= 0, block >= 1.
    DealtColumns(Index cols, Index block, const ColumnDeal& deal) : cols_(cols), block_(block), deal_(deal) {}

    Index cols() const { return cols_; }
    Index block() const { return block_; }
    const ColumnDeal& deal() const { return deal_; }
    int gpus() const { return deal_.gpus(); }

    /// The GPU that has column j, and the column's number there.
    int gpu_of(Index j) const { return deal_.gpu_of(j / block_); }
    Index number_there(Index j) const { return j / block_ / gpus() * block_ + j % block_; }
    /// The first column after the block of column j.
    Index block_end(Index j) const { return std::min((j / block_ + 1) * block_, cols_); }
    /// Columns for which a GPU needs room: equally many whole blocks on each, as in the vendor's samples.
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

/// visit(first, cols) for runs of columns that lie together in both, from the left. Both have the same number of
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
    std::vector<T*> parts;  ///< by GPU: the address of its first column

    /// The first element of column j; the next columns of its block follow.
    T* column(Index j) const {
        return parts[static_cast<std::size_t>(columns.gpu_of(j))] + columns.number_there(j) * rows;
    }
    /// The block that begins with column j.
    View<T> block(Index j) const { return View<T>::column_major(column(j), rows, columns.block_end(j) - j, rows); }
};

}  // namespace basalt
