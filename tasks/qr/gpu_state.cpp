#include "tasks/qr/gpu_state.hpp"

#include <algorithm>

#include "kernels/cpu/qr/columns.hpp"

namespace basalt::detail {

namespace {

/// Bytes of a panel, column-major, that cores factor; 0 where GPUs factor all of them.
template <class T>
std::size_t bytes_on_cores(const QrState<T>& qr, const QrChoices& choices) {
    if (choices.mode != QrMode::hybrid) return 0;
    return static_cast<std::size_t>(line_padded<T>(qr.grid().rows()) * qr.nb) * sizeof(T);
}

}  // namespace

template <class T>
GpuQrState<T>::GpuQrState(QrState<T>& qr, const QrChoices& choices)
    : geometry(qr.panels, qr.grid(), qr.a->deal()),
      memory(qr, choices),
      fitting(fitting_columns(
          qr.runtime, qr.grid(), sizeof(T), [this](Index columns) { return memory.workspace(columns); },
          qr.a->adopted())),
      in_place(memory.in_place(fitting.group)),
      workspace(choices.mode == QrMode::hybrid ? choices.panel_threads : 0, qr.nb),
      v(bytes_on_cores(qr, choices)) {
    const bool come_home = choices.mode != QrMode::gpu || out_of_core() || !gpus_reach_each_other(qr.runtime);
    const Index share = ceil_div(std::min(fitting.group, qr.grid().tile_cols()), geometry.gpus());
    memory_ = memory.layout(share, come_home ? ScratchHome::pinned : ScratchHome::addresses, buffers).make(qr.runtime);
}

template struct GpuQrState<float>;
template struct GpuQrState<double>;

}  // namespace basalt::detail
