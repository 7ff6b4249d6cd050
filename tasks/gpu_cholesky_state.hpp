#pragma once

#include <cstddef>
#include <vector>

#include "runtime/memory/host_pool.hpp"
#include "tasks/cholesky_options.hpp"
#include "tasks/cholesky_state.hpp"
#include "tasks/gpu_cholesky_memory.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// What a Cholesky factorization in the modes hybrid and gpu needs beside CholeskyState while it runs.
template <class T>
struct GpuCholeskyState {
    /// `storage`: the matrix that is factored, the user's or one of the runtime's own; `triangle`: which one
    /// of it.
    GpuCholeskyState(CholeskyState<T>& cholesky, std::shared_ptr<MatrixStorage> storage, Triangle triangle,
                     const CholeskyChoices& choices);

    /// Whether the GPUs cannot hold all of the matrix where it is factored where it lies.
    static bool needs_groups(const CholeskyState<T>& cholesky, const CholeskyChoices& choices) {
        return GpuCholeskyMemory<T>(cholesky, *cholesky.a, cholesky.triangle, choices).fitting_columns().group <
               cholesky.grid().tile_cols();
    }

    int device_of(Index tile_column) const { return deal.gpu_of(tile_column); }
    bool out_of_core() const { return fitting.group < a->grid().tile_cols(); }

    Runtime& runtime;
    const std::shared_ptr<MatrixStorage> a;
    /// Panels are columns of a lower triangle. Of an upper one they are rows of tiles, which lie in many tile
    /// columns; in buffers they are columns too, L = U^T.
    const bool upper;
    const int gpus;
    const ColumnDeal deal;  ///< of tile columns
    const GpuCholeskyMemory<T> memory;
    const Index nb;  ///< widest panel
    const FittingColumns fitting;
    /// Whether panels are factored where they lie, and updates read them there: one GPU that has all of the
    /// lower triangle.
    const bool in_place;
    /// The first of the panels that one kernel factors together, all of those that are left; or as many as there are.
    const int fused_from;

  private:
    void register_panels(bool come_home);
    void register_triangles();
    void register_solvers();
    void register_on_devices();

    PooledBuffer travelling_;     // panels and their parts, where they pass through the host's memory
    HostBuffer panel_addresses_;  // in their place where they never do
    PooledBuffer triangles_memory_;
    HostBuffer solvers_memory_;
    PooledBuffer info_memory_;
    HostBuffer on_devices_;  // addresses for what only GPUs use: never touched here

  public:
    // by slot; none in place
    std::vector<ScratchMatrix<T>> panels;     ///< n x nb, in the matrix's rows
    std::vector<ScratchMatrix<T>> triangles;  ///< panels' squares in strips that cores factor, an array; none for GPUs
    std::vector<ScratchMatrix<T>> solvers;    ///< prepare_solve() of these, nb x nb and one more row, if cores solve
    std::vector<ScratchMatrix<T>> lefts;      ///< upper, left-looking: U(:, k)^T above panel k's own rows, an array
    // by tile column
    std::vector<ScratchMatrix<T>> above;  ///< what lies right of its diagonal, of the upper triangle below; band by row
    // by GPU
    std::vector<ScratchMatrix<T>> collected;       ///< rows of a panel that come from its tile columns, in their order
    std::vector<ScratchMatrix<Index>> workspaces;  ///< of its panels
    std::vector<ScratchMatrix<Index>> pieces;      ///< of products' operands, where they are made by pieces
    std::vector<ScratchMatrix<Index>> info;        ///< of the panels that it factors, a number for each of all
};

extern template struct GpuCholeskyState<float>;
extern template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
