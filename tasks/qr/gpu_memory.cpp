#include "tasks/qr/gpu_memory.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/qr/workspace.hpp"
#include "tasks/on_gpus/panel_ring.hpp"

namespace basalt::detail {

template <class T>
GpuQrMemory<T>::GpuQrMemory(const QrState<T>& qr, const QrChoices& choices)
    : qr_(qr),
      large_products_(std::is_same_v<T, float> && choices.mode == QrMode::gpu && choices.split_products
                          ? Multiplication::by_slices
                          : Multiplication::plain),
      may_be_in_place_(choices.mode == QrMode::gpu && qr.runtime.gpus() == 1),
      processors_(most_multiprocessors(qr.runtime)) {}

template <class T>
ScratchLayout GpuQrMemory<T>::layout(Index columns, ScratchHome panels, GpuQrBuffers<T>& buffers) const {
    const Index m = qr_.grid().rows(), nb = qr_.nb, width = qr_.grid().shape().width, gpus = qr_.runtime.gpus();
    const auto steps = static_cast<Index>(qr_.panels.size());
    ScratchLayout all;
    all.add(buffers.panels, PanelRing<T>::shape(in_place(columns) ? 0 : panel_slots, m, nb, panels));
    all.add(buffers.r, {.name = "R", .rows = nb, .cols = nb, .count = panel_slots, .on_a_gpu = panel_slots});
    all.add(buffers.taken_out, {.name = "gate", .rows = 1, .count = steps, .on_a_gpu = steps});
    all.add(buffers.factored, {.name = "gate", .rows = 1, .count = steps, .on_a_gpu = steps});
    const auto on_each_gpu = [&](auto& to, const char* name, Index size) {
        all.add(to,
                {.name = name, .rows = aligned(size), .count = gpus, .on_a_gpu = 1, .home = ScratchHome::addresses});
    };
    const auto for_updates = [&](Index cols) {
        return processors_ == 0 ? line
                                : cuda_kernels::reflect_columns_workspace(m, nb, cols, processors_, large_products_);
    };
    const auto for_panels = [&] {
        const Index wide_leaves_from = qr_.runtime.tuning().gpu.qr.wide_leaves_from;
        return static_cast<Index>(cuda_kernels::qr_panel_workspace<T>(m, nb, wide_leaves_from, processors_) /
                                  sizeof(T)) +
               line;
    };
    on_each_gpu(buffers.panel_workspaces, "panel workspace", processors_ == 0 ? line : for_panels());
    on_each_gpu(buffers.leading_workspaces, "leading workspace", for_updates(std::min(width, widest_qr_gpu_panel)));
    on_each_gpu(buffers.rest_workspaces, "update workspace", for_updates(columns * width));
    return all;
}

template <class T>
std::size_t GpuQrMemory<T>::workspace(Index columns) const {
    GpuQrBuffers<T> none;
    return layout(columns, ScratchHome::pinned, none).gpu_bytes() + qr_.t_bytes();
}

template class GpuQrMemory<float>;
template class GpuQrMemory<double>;

}  // namespace basalt::detail
