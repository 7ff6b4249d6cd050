#pragma once

#include <cstddef>
#include <vector>

#include <basalt/tuning.hpp>

#include "tasks/cholesky/options.hpp"
#include "tasks/cholesky/state.hpp"
#include "tasks/on_gpus/column_groups.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"
#include "tiles/triangle_strips.hpp"

namespace basalt::detail {

/// The scratch buffers of Cholesky in the modes hybrid and gpu.
template <class T>
struct GpuCholeskyBuffers {
    // by slot
    std::vector<ScratchMatrix<T>> panels;     ///< n x nb, in the matrix's rows; none in place
    std::vector<ScratchMatrix<T>> triangles;  ///< panels' squares that cores factor, in strips; none for GPUs
    std::vector<ScratchMatrix<T>> solvers;    ///< prepare_solve() of these, nb x nb and one more row, if cores solve
    std::vector<ScratchMatrix<T>> lefts;      ///< upper, left-looking: U(:, k)^T above panel k's own rows; two, or none
    // by tile column
    std::vector<ScratchMatrix<T>> above;  ///< what lies right of its diagonal, of the upper triangle below; band by row
    // by GPU
    std::vector<ScratchMatrix<T>> collected;       ///< rows of a panel from its tile columns, in their order
    std::vector<ScratchMatrix<Index>> workspaces;  ///< of the panels that the GPU factors
    std::vector<ScratchMatrix<Index>> slices;      ///< of products' operands; none where products are plain
    std::vector<ScratchMatrix<Index>> info;        ///< a number for each panel; a GPU writes those of its own
};

/// The memory of a Cholesky factorization in the modes hybrid and gpu, next to its tile columns.
template <class T>
class GpuCholeskyMemory {
  public:
    /// `triangle` of `storage` is factored: the user's matrix, or a copy of it.
    GpuCholeskyMemory(const CholeskyState<T>& cholesky, const MatrixStorage& storage, Triangle triangle,
                      const CholeskyChoices& choices);

    Index panel_width() const { return nb_; }
    /// Whether one kernel factors the matrix.
    bool fused() const { return fused_; }
    /// Whether panels are factored where they lie, and updates read them there: one GPU that has all of the lower
    /// triangle. `columns`: tile columns that a GPU has at a time.
    bool in_place(Index columns) const { return may_be_in_place_ && columns >= storage_.grid().tile_cols(); }
    /// Whether elements on the other side of the diagonal are set aside.
    bool keeps_other_side() const { return keeps_other_side_; }
    /// Panels that are on their way at once.
    Index panel_slots() const { return fused_ ? 1 : 3; }
    /// How the square of a panel of `width` columns travels.
    TriangleStrips strips(Index width) const;
    /// Whether cores factor the squares of some panels.
    bool cores_factor() const { return triangle_ > 0; }
    /// Whether cores solve for the rows below these squares, too.
    bool cores_solve() const { return cores_factor() && rows_on_cores_; }
    /// Rows of panels that a GPU collects for the GPU that factors them; 0 where it need not.
    Index collected_rows() const { return collected_; }
    /// Whether products may be made by slices.
    bool by_slices() const { return slice_numbers_ > 0; }

    /// The buffers, with `columns` tile columns on a GPU at a time. `panels`: where panels are on the host.
    ScratchLayout layout(Index columns, ScratchHome panels, GpuCholeskyBuffers<T>& buffers) const;

    /// Bytes of one GPU's memory that these buffers take.
    std::size_t workspace(Index columns) const;
    /// Tile columns, over all GPUs, that are there at once: all, or those of a group.
    FittingColumns fitting_columns() const;

  private:
    Runtime& runtime_;
    const MatrixStorage& storage_;
    const GpuTuning& tuning_;
    const Index steps_;
    const bool fused_, may_be_in_place_, keeps_other_side_, rows_on_cores_;
    const Index nb_;
    Index triangle_ = 0;   ///< elements of the largest square that cores factor, in strips
    Index collected_ = 0;  ///< see collected_rows()
    Index left_ = 0;       ///< elements on the left of a panel, for left-looking factorizations of an upper triangle
    Index panel_numbers_, slice_numbers_ = 0;  ///< of the workspaces, in Index
};

extern template class GpuCholeskyMemory<float>;
extern template class GpuCholeskyMemory<double>;

}  // namespace basalt::detail
