#pragma once

#include <cstddef>

#include <basalt/tuning.hpp>

#include "tasks/cholesky_options.hpp"
#include "tasks/cholesky_state.hpp"
#include "tasks/column_groups.hpp"
#include "tiles/triangle_strips.hpp"

namespace basalt::detail {

/// What a Cholesky factorization in the modes hybrid and gpu takes of one GPU's memory beside its tile
/// columns.
template <class T>
class GpuCholeskyMemory {
  public:
    /// `triangle` of `storage` is factored: the user's matrix, or a copy of it.
    GpuCholeskyMemory(const CholeskyState<T>& cholesky, const MatrixStorage& storage, Triangle triangle,
                      const CholeskyChoices& choices);

    Index panel_width() const { return nb_; }
    /// Whether the matrix is factored by one kernel.
    bool fused() const { return fused_; }
    /// Panels on their way at once.
    Index panel_slots() const { return fused_ ? 1 : 3; }
    /// How the square of a panel of so many columns travels.
    TriangleStrips strips(Index width) const;
    /// Of the largest triangle in strips; 0 where GPUs factor all panels.
    Index triangle_elements() const { return triangle_; }
    /// Rows of panels that a GPU collects for the one that factors them; 0 where it need not.
    Index collected_rows() const { return collected_; }
    /// Elements of what is on the left of a panel, two of which are on their way; 0 where none is.
    Index left_elements() const { return left_; }
    /// Of the workspace of a panel that a GPU factors.
    Index panel_numbers() const { return panel_numbers_; }
    /// Of the workspace for the operands of products by pieces; 0 where products are plain.
    Index piece_numbers() const { return piece_numbers_; }
    /// Elements set aside for a tile column; 0 where products overwrite nothing.
    Index band() const;

    /// Bytes beside `columns` tile columns.
    std::size_t workspace(Index columns) const;
    /// Tile columns, over all GPUs, that are there at once: all, or those of a group.
    FittingColumns fitting_columns() const;

  private:
    Runtime& runtime_;
    const MatrixStorage& storage_;
    const GpuTuning& tuning_;
    bool fused_;
    Index nb_, triangle_ = 0, collected_ = 0, left_ = 0, panel_numbers_, piece_numbers_ = 0;
};

extern template class GpuCholeskyMemory<float>;
extern template class GpuCholeskyMemory<double>;

}  // namespace basalt::detail
