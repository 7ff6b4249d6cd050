#pragma once

#include <cstddef>
#include <vector>

#include "tasks/lu/options.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"
#include "tiles/grid.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// The scratch buffers of LU in the modes hybrid and gpu.
template <class T>
struct GpuLuBuffers {
    // by slot
    std::vector<ScratchMatrix<T>> panels;  ///< m x nb, in the matrix's rows; none where panels stay in the matrix
    std::vector<ScratchMatrix<T>> blocks;  ///< m x block_width, in the matrix's rows: two, or none
    std::vector<ScratchMatrix<T>> packed;  ///< packed U of a column that cores update
    // by panel
    std::vector<ScratchMatrix<T>> inverses;     ///< those of diagonal blocks of L(k, k), one below the other
    std::vector<ScratchMatrix<Index>> moves;    ///< the numbers of RowMoves
    std::vector<ScratchMatrix<Index>> results;  ///< pivots and INFO of a panel that a GPU factors
    std::vector<ScratchMatrix<Index>> gates;    ///< no contents: the last task that writes a gate lets updates begin
    std::vector<ScratchMatrix<Index>> logs;     ///< see PanelLogs; none unless they are asked for
    // by tile column
    std::vector<ScratchMatrix<T>> magnitudes;  ///< of its columns, see LuChoices::scales_columns; none otherwise
    // by GPU
    std::vector<ScratchMatrix<T>> lead_rows;             ///< the exchanged top rows of the leading column
    std::vector<ScratchMatrix<T>> rest_rows;             ///< those of the GPU's other columns
    std::vector<ScratchMatrix<Index>> panel_workspaces;  ///< of the panels that the GPU factors
    std::vector<ScratchMatrix<Index>> lead_slices;       ///< workspace of products by slices, leading column and panel
    std::vector<ScratchMatrix<Index>> rest_slices;       ///< the same for the other columns
};

/// The memory of a factorization in the modes hybrid and gpu, next to its tile columns. Of LuChoices it needs the mode,
/// the widths, the lookahead and how products are made.
template <class T>
class GpuLuMemory {
  public:
    /// `aligned`: whether tile columns on GPUs begin at multiples of 16 bytes.
    GpuLuMemory(const Runtime& runtime, const TileGrid& grid, const LuChoices& choices, bool aligned = true);

    Index panel_width() const { return nb_; }
    /// Columns of a block of panels with two levels of blocking; 0 with one.
    Index block_width() const { return block_; }
    /// Panels that are on their way at once.
    Index panel_slots() const { return slots_; }

    /// Whether panels are factored where they lie, and updates read them there: one GPU has all columns, no core needs
    /// a panel, there is one level of blocking, and the kernels that fetch 16 bytes at a time find panels aligned.
    /// `columns`: tile columns that a GPU has at a time.
    bool in_place(Index columns) const { return may_be_in_place_ && columns >= tile_cols_; }

    /// The buffers, with `columns` tile columns on a GPU at a time. `panels`: where panels are on the host.
    ScratchLayout layout(Index columns, ScratchHome panels, GpuLuBuffers<T>& buffers) const;

    /// Bytes of one GPU's memory that these buffers take.
    std::size_t workspace(Index columns) const;

  private:
    /// Numbers (Index) of the workspace of products with `cols` columns; few where they are never made by slices.
    Index slice_numbers(Index cols) const;

    const Index gpus_, rows_, width_, tile_cols_;
    const Index nb_, block_;
    const bool cores_factor_;  ///< some of the panels, or all
    const bool may_be_in_place_;
    const Index panels_, slots_;
    const Index scaled_;  ///< tile columns that are scaled: all or none
    const bool by_slices_;
    Index panel_numbers_;             ///< of the workspace of a panel that a GPU factors
    std::vector<ScratchShape> logs_;  ///< by panel
};

extern template class GpuLuMemory<float>;
extern template class GpuLuMemory<double>;

}  // namespace basalt::detail
