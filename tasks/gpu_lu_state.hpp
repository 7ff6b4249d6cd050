#pragma once

#include <cstddef>
#include <vector>

#include "kernels/inverted_block.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/column_groups.hpp"
#include "tasks/gpu_columns.hpp"
#include "tasks/gpu_lu_memory.hpp"
#include "tasks/lu_options.hpp"
#include "tasks/lu_state.hpp"
#include "tasks/panel_logs.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// What a factorization in the modes hybrid and gpu needs beside LuState while it runs.
template <class T>
struct GpuLuState {
    GpuLuState(LuState<T>& lu, const LuChoices& choices);

    int device_of(Index tile_column) const { return deal.gpu_of(tile_column); }
    /// Whether the GPUs do not hold all columns at once.
    bool out_of_core() const { return fitting.group < lu.grid().tile_cols(); }

    LuState<T>& lu;
    const int gpus;
    const ColumnDeal deal;  ///< of tile columns

  private:
    const GpuLuMemory memory_;

  public:
    const Index nb;           ///< widest panel
    const Index block_width;  ///< of blocks of panels, see LuOptions::coarse_width
    const Index panel_slots;  ///< panels on their way at once
    const FittingColumns fitting;
    /// Whether panels pass through the host's memory: where cores factor them, where memory is so short that they might
    /// have to leave, and where GPUs do not reach each other.
    const bool panels_come_home;

    PanelLogs logs;                     ///< of panels that GPUs factor, where they are wanted and a trace is recorded
    std::vector<char> inverse_is_safe;  ///< by panel; written before the GPUs' tasks that read it are enqueued

  private:
    void register_panels();
    void register_travelling(LuMode mode);
    void register_packed();
    void register_blocks();
    void register_on_devices();

    PooledBuffer travelling_;  // what cores and GPUs exchange
    PooledBuffer travelling_panels_;
    HostBuffer panel_addresses_;  // in their place where panels never come home
    HostBuffer block_addresses_;
    HostBuffer on_devices_;  // addresses for what only GPUs use: never touched here
    HostBuffer packed_memory_;

  public:
    // by slot
    std::vector<ScratchMatrix<T>> panels;  ///< m x nb, in the matrix's rows
    std::vector<ScratchMatrix<T>> blocks;  ///< m x block_width, in the matrix's rows: two, if any
    std::vector<ScratchMatrix<T>> packed;  ///< packed U of a column that cores update
    // by panel
    std::vector<ScratchMatrix<T>> inverses;     ///< those of diagonal blocks of L(k, k), one below the other
    std::vector<ScratchMatrix<Index>> moves;    ///< the numbers of RowMoves
    std::vector<ScratchMatrix<Index>> results;  ///< pivots and INFO of one that a GPU factors
    std::vector<ScratchMatrix<Index>> gates;    ///< nothing, but the last one that writes it lets updates begin
    // by GPU
    std::vector<ScratchMatrix<T>> lead_rows;                     ///< the exchanged top rows of the leading column
    std::vector<ScratchMatrix<T>> rest_rows;                     ///< those of other columns of its own
    std::vector<ScratchMatrix<Index>> panel_workspaces;          ///< of its panels
    std::vector<ScratchMatrix<Index>> lead_pieces, rest_pieces;  ///< workspaces of products by pieces, of the two above
};

extern template struct GpuLuState<float>;
extern template struct GpuLuState<double>;

}  // namespace basalt::detail
