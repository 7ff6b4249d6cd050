#pragma once

#include <vector>

#include "runtime/memory/host_pool.hpp"
#include "tasks/column_groups.hpp"
#include "tasks/gpu_columns.hpp"
#include "tasks/qr_options.hpp"
#include "tasks/qr_state.hpp"

namespace basalt::detail {

/// What a QR factorization in the modes hybrid and gpu needs beside QrState while it runs.
template <class T>
struct GpuQrState {
    GpuQrState(QrState<T>& qr, const QrChoices& choices);

    int device_of(Index tile_column) const { return deal.gpu_of(tile_column); }
    /// Whether the GPUs do not hold all columns at once.
    bool out_of_core() const { return fitting.group < qr.grid().tile_cols(); }

    static constexpr Index panel_slots = 3;  ///< panels on their way at once: one at work, the next, one that returns

    QrState<T>& qr;
    const int gpus;
    const ColumnDeal deal;  ///< of tile columns
    const bool by_pieces;   ///< large updates in single precision
    const FittingColumns fitting;
    /// Whether panels are factored where they lie, and updates read them there: one GPU that has all columns.
    const bool in_place;
    const bool panels_come_home;

    QrPanelWorkspace<T> workspace;  ///< of panels that cores factor
    HostBuffer v;                   ///< the panel at work there, column-major

  private:
    void register_travelling();
    void register_on_devices();

    PooledBuffer travelling_;     // what cores and GPUs exchange
    HostBuffer panel_addresses_;  // where panels never come home
    HostBuffer on_devices_;       // addresses for what only GPUs use: never touched here

  public:
    std::vector<ScratchMatrix<T>> panels;  ///< by slot: m x nb, in the matrix's rows; then V. None in place
    std::vector<ScratchMatrix<T>> r;       ///< by slot: nb x nb
    /// By panel: nothing, but whoever writes it has done that. A panel in place is ready instead of taken out.
    std::vector<ScratchMatrix<Index>> taken_out, factored;
    // by GPU
    std::vector<ScratchMatrix<T>> panel_workspaces;
    std::vector<ScratchMatrix<T>> leading_workspaces, rest_workspaces;  ///< of reflect_columns()
};

extern template struct GpuQrState<float>;
extern template struct GpuQrState<double>;

}  // namespace basalt::detail
