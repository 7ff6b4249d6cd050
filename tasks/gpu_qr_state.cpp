#include "tasks/gpu_qr_state.hpp"

#include <algorithm>

#include "kernels/cpu/qr_columns.hpp"
#include "kernels/cuda/block_reflector.hpp"
#include "kernels/cuda/qr_panel.hpp"
#include "runtime/engine.hpp"
#include "tasks/column_groups.hpp"

namespace basalt::detail {

namespace {

/// Elements of a GPU's workspaces. On an emulated one the CPU twins run, which have their own.
template <class T>
struct Workspaces {
    Workspaces(const QrState<T>& qr, bool by_pieces, Index columns) {
        const int processors = most_multiprocessors(qr.runtime);
        if (processors == 0) return;
        const Index rows = qr.grid().rows(), width = qr.grid().shape().width;
        const std::size_t panel_bytes =
            cuda_kernels::qr_panel_workspace<T>(rows, qr.nb, qr.runtime.tuning().gpu.qr.wide_leaves_from, processors);
        panel = aligned(static_cast<Index>(panel_bytes / sizeof(T)) + line);
        const auto updates = [&](Index cols) {
            return aligned(cuda_kernels::reflect_columns_workspace(rows, qr.nb, cols, processors, by_pieces));
        };
        leading = updates(std::min(width, widest_qr_gpu_panel));
        rest = updates(columns * width);
    }
    Index panel = line, leading = line, rest = line;
};

/// Bytes of a GPU's memory that a factorization takes beside its tile columns, of which it has `columns` at a time.
template <class T>
std::size_t workspace_bytes(const QrState<T>& qr, bool by_pieces, Index columns) {
    const Workspaces<T> own(qr, by_pieces, columns);
    const auto steps = static_cast<Index>(qr.panels.size());
    const Index travelling = GpuQrState<T>::panel_slots * (qr.grid().rows() + qr.nb) * qr.nb + steps * qr.nb * qr.nb;
    return static_cast<std::size_t>(travelling + own.panel + own.leading + own.rest) * sizeof(T) +
           static_cast<std::size_t>(2 * steps * line) * sizeof(Index);
}

}  // namespace

template <class T>
GpuQrState<T>::GpuQrState(QrState<T>& qr, const QrChoices& choices)
    : qr(qr),
      gpus(qr.runtime.gpus()),
      deal(qr.a->deal()),
      by_pieces(std::is_same_v<T, float> && choices.mode == QrMode::gpu && choices.split_products),
      fitting(fitting_columns(
          qr.runtime, qr.grid(), sizeof(T), [&](Index columns) { return workspace_bytes(qr, by_pieces, columns); },
          qr.a->adopted())),
      in_place(choices.mode == QrMode::gpu && gpus == 1 && !out_of_core()),
      panels_come_home(choices.mode != QrMode::gpu || out_of_core() || !gpus_reach_each_other(qr.runtime)),
      workspace(choices.mode == QrMode::hybrid ? choices.panel_threads : 0, qr.nb),
      v(choices.mode == QrMode::hybrid ? static_cast<std::size_t>(line_padded<T>(qr.grid().rows()) * qr.nb) * sizeof(T)
                                       : 0) {
    register_travelling();
    register_on_devices();
}

template <class T>
void GpuQrState<T>::register_travelling() {
    Runtime& runtime = qr.runtime;
    const Index m = qr.grid().rows(), nb = qr.nb, panel = aligned(m * nb), triangle = aligned(nb * nb);
    const auto steps = static_cast<Index>(qr.panels.size());
    const Index buffers = in_place ? 0 : panel_slots, pinned_panels = panels_come_home ? buffers : 0,
                untouched_panels = buffers - pinned_panels;
    travelling_ = PooledBuffer(runtime.engine().pinned(),
                               static_cast<std::size_t>(pinned_panels * panel + panel_slots * triangle) * sizeof(T) +
                                   static_cast<std::size_t>(2 * steps * line) * sizeof(Index));
    panel_addresses_ =
        HostBuffer(static_cast<std::size_t>(untouched_panels * panel) * sizeof(T), HostBacking::untouched);
    T* next = static_cast<T*>(travelling_.data());
    T* next_panel = panels_come_home ? next : static_cast<T*>(panel_addresses_.data());
    next += pinned_panels * panel;
    for (Index s = 0; s < buffers; ++s, next_panel += panel) panels.emplace_back(runtime, next_panel, m, nb, "panel");
    for (Index s = 0; s < panel_slots; ++s, next += triangle) r.emplace_back(runtime, next, nb, nb, "R");
    Index* number = reinterpret_cast<Index*>(next);
    for (Index k = 0; k < steps; ++k, number += 2 * line) {
        taken_out.emplace_back(runtime, number, 1, 1, "gate");
        factored.emplace_back(runtime, number + line, 1, 1, "gate");
    }
}

template <class T>
void GpuQrState<T>::register_on_devices() {
    Runtime& runtime = qr.runtime;
    const Workspaces<T> own(qr, by_pieces, ceil_div(std::min(fitting.group, qr.grid().tile_cols()), gpus));
    on_devices_ = HostBuffer(static_cast<std::size_t>(gpus * (own.panel + own.leading + own.rest)) * sizeof(T),
                             HostBacking::untouched);
    T* next = static_cast<T*>(on_devices_.data());
    for (int g = 0; g < gpus; ++g) {
        panel_workspaces.emplace_back(runtime, next, own.panel, 1, "panel workspace");
        next += own.panel;
        leading_workspaces.emplace_back(runtime, next, own.leading, 1, "leading workspace");
        next += own.leading;
        rest_workspaces.emplace_back(runtime, next, own.rest, 1, "update workspace");
        next += own.rest;
    }
}

template struct GpuQrState<float>;
template struct GpuQrState<double>;

}  // namespace basalt::detail
