#pragma once

#include <algorithm>
#include <vector>

#include "basalt/view.hpp"

namespace basalt {

/// Columns in blocks that are dealt to GPUs 0 .. gpus - 1 in turn, one behind the other on each: block b is
/// block b / gpus of GPU b % gpus. ScaLAPACK's 1D block-cyclic distribution, cuSOLVERMg's, and that of our
/// tile columns.
class DealtColumns {
  public:
    /// cols >= 0, block >= 1, gpus >= 1.
    DealtColumns(Index cols, Index block, int gpus) : cols_(cols), block_(block), gpus_(gpus) {}

    Index cols() const { return cols_; }
    Index block() const { return block_; }
    int gpus() const { return gpus_; }

    /// Who has column j, and the number it has there.
    int gpu_of(Index j) const { return static_cast<int>(j / block_ % gpus_); }
    Index number_there(Index j) const { return j / block_ / gpus_ * block_ + j % block_; }
    /// The column behind the block that j is in.
    Index block_end(Index j) const { return std::min((j / block_ + 1) * block_, cols_); }
    /// Columns for which a GPU needs room: whole blocks, as many on each, as the vendor's samples have it.
    Index room() const {
        const Index turn = block_ * gpus_;
        return (cols_ + turn - 1) / turn * block_;
    }

  private:
    Index cols_, block_;
    int gpus_;
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
