#pragma once

#include "tasks/on_gpus/panel_geometry.hpp"
#include "tasks/qr/gpu_memory.hpp"

namespace basalt::detail {

/// What a QR factorization in the modes hybrid and gpu needs next to QrState while it runs.
template <class T>
struct GpuQrState {
    GpuQrState(QrState<T>& qr, const QrChoices& choices);

    /// Whether the GPUs do not hold all columns at once.
    bool out_of_core() const { return fitting.group < geometry.grid().tile_cols(); }

    const PanelGeometry geometry;
    const GpuQrMemory<T> memory;
    const FittingColumns fitting;
    const bool in_place;  ///< see GpuQrMemory

    QrPanelWorkspace<T> workspace;  ///< of panels that cores factor
    HostBuffer v;                   ///< the panel that cores factor at present, column-major

  private:
    ScratchMemory memory_;

  public:
    GpuQrBuffers<T> buffers;
};

extern template struct GpuQrState<float>;
extern template struct GpuQrState<double>;

}  // namespace basalt::detail
