#pragma once

#include <cstddef>
#include <vector>

#include "runtime/memory/pinned_buffer.hpp"
#include "tasks/cholesky_options.hpp"
#include "tasks/cholesky_state.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// What a Cholesky factorization in the modes hybrid and gpu needs beside CholeskyState while it runs: always of a
/// lower triangle.
template <class T>
struct GpuCholeskyState {
    /// `storage`: the matrix that is factored, the user's or one of the runtime's own.
    GpuCholeskyState(CholeskyState<T>& cholesky, std::shared_ptr<MatrixStorage> storage,
                     const CholeskyChoices& choices);

    /// Tile columns are dealt 1D block-cyclically.
    int device_of(Index tile_column) const { return static_cast<int>(tile_column % gpus); }
    bool out_of_core() const { return group_columns < a->grid().tile_cols(); }

    Runtime& runtime;
    const std::shared_ptr<MatrixStorage> a;
    const int gpus;
    const Index nb;             ///< widest panel
    const Index panel_slots;    ///< panels on their way at once
    const Index group_columns;  ///< tile columns of a group
    /// Whether panels are factored where they lie, and updates read them there: one GPU that has all of the matrix.
    const bool in_place;
    /// Whether large products are made by pieces (single precision on real GPUs).
    const bool by_pieces;

  private:
    void register_panels(bool come_home);
    void register_on_devices();

    PinnedBuffer travelling_;     // panels that pass through the host's memory
    HostBuffer panel_addresses_;  // in their place where they never do
    HostBuffer on_devices_;       // addresses for what only GPUs use: never touched here

  public:
    std::vector<ScratchMatrix<T>> panels;          ///< by slot: n x nb, in the matrix's rows; none in place
    std::vector<ScratchMatrix<T>> above;           ///< by tile column: what lies right of its diagonal, band by row
    std::vector<ScratchMatrix<Index>> workspaces;  ///< by GPU: of its panels
    std::vector<ScratchMatrix<Index>> pieces;      ///< by GPU: of the products' operands
    std::vector<Array<Index>> info;                ///< by GPU: of its panels, in the order of all
};

extern template struct GpuCholeskyState<float>;
extern template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
