// QR in the modes hybrid and gpu: tasks that move data and factor panels.
#include "tasks/qr/gpu_tasks.hpp"

#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/cpu/qr/columns.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/on_gpus/gang_panel.hpp"

namespace basalt::detail {

template <class T>
GpuQrTasks<T>::GpuQrTasks(QrState<T>& state, GpuQrState<T>& on_gpus, const QrChoices& choices)
    : s_(state),
      g_(on_gpus),
      rt_(state.runtime),
      choices_(choices),
      geometry_(on_gpus.geometry),
      ring_(on_gpus.geometry, on_gpus.buffers.panels, GpuQrMemory<T>::panel_slots) {}

// --- data on their way ---

template <class T>
void GpuQrTasks<T>::broadcast(int k) {
    if (!g_.in_place) rt_.broadcast(panel_rows(k), urgent, k);
    for (int g = 0; g < geometry_.gpus(); ++g) rt_.prefetch(s_.t_of(k), Place::gpu(g), urgent, k);
}

template <class T>
void GpuQrTasks<T>::reload(int k) {
    ring_.take(k);
    const Panel& p = panel(k);
    const int gpu = k % geometry_.gpus();
    host_copies(rt_).submit_fetch({.name = "reload", .priority = urgent, .tile = {k}, .step = k},
                                  read(s_.region(p, p.first, rows())).record, write(panel_rows(k)).record, gpu);
    rt_.submit({.name = "explicit V", .priority = urgent, .tile = {k}, .step = k, .place = Place::gpu(gpu)},
               readwrite(ring_.rows(k, p.first, p.end())),
               on_any_device([](Stream stream, View<T> v) { on_stream::explicit_reflectors<T>(stream, v, v); }));
}

template <class T>
void GpuQrTasks<T>::take_out(int j) {
    ring_.take(j);
    if (g_.in_place) return;
    const Panel& p = panel(j);
    rt_.submit({.name = "take out", .priority = urgent, .tile = {j}, .step = j, .place = owner(j)},
               read(s_.region(p, p.first, rows())), write(panel_rows(j)), write(taken_out(j)),
               on_any_device([](Stream stream, View<const T> a, View<T> to, View<Index>) {
                   on_stream::copy_elements<T>(stream, a, to);
               }));
    if (!on_gpu(j)) rt_.prefetch(panel_rows(j), Place::cpu(), urgent, j);
}

template <class T>
void GpuQrTasks<T>::put_back(int k) {
    const Panel& p = panel(k);
    if (g_.in_place) {
        rt_.submit({.name = "put R", .tile = {k}, .step = k, .place = owner(k)}, read(r(k)),
                   readwrite(s_.region(p, p.first, p.end())),
                   on_any_device([](Stream stream, View<const T> r, View<T> a) {
                       on_stream::store_reflectors<T>(stream, a, r, a);
                   }));
        return;
    }
    rt_.submit({.name = "put back", .tile = {k}, .step = k, .place = owner(k)}, read(panel_rows(k)), read(r(k)),
               write(s_.region(p, p.first, rows())),
               on_any_device([](Stream stream, View<const T> v, View<const T> r, View<T> a) {
                   on_stream::store_reflectors<T>(stream, v, r, a);
               }));
}

// --- panels ---

template <class T>
void GpuQrTasks<T>::factor(int k) {
    if (on_gpu(k)) {
        factor_on_gpu(k);
    } else {
        factor_on_cores(k);
    }
}

template <class T>
void GpuQrTasks<T>::factor_on_cores(int k) {
    const int threads = choices_.panel_threads_for(rows() - panel(k).first);
    rt_.submit(gang_panel(k, {threads, threads}, urgent + 1), readwrite(panel_rows(k)), write(r(k)), write(s_.t_of(k)),
               [g = &g_](const Team& team, View<T> a, View<T> r, View<T> t) {
                   const auto v = View<T>::column_major(static_cast<T*>(g->v.data()), a.rows(), a.cols(),
                                                        line_padded<T>(a.rows()));
                   qr_panel_load<T>(team, a, v);
                   qr_panel_factor<T>(team, v, r, t, g->workspace);
                   qr_panel_store_explicit<T>(team, v, a);
               });
}

template <class T>
void GpuQrTasks<T>::factor_on_gpu(int k) {
    const ScratchMatrix<T>& workspace = g_.buffers.panel_workspaces[static_cast<std::size_t>(geometry_.owner(k))];
    rt_.submit({.name = "panel", .priority = urgent + 1, .tile = {k, k}, .step = k, .place = owner(k)},
               readwrite(panel_rows(k)), write(r(k)), write(s_.t_of(k)), write(workspace.region()), write(factored(k)),
               on_any_device([wide_leaves_from = rt_.tuning().gpu.qr.wide_leaves_from](
                                 Stream stream, View<T> a, View<T> r, View<T> t, View<T> memory, View<Index>) {
                   on_stream::qr_panel_factor<T>(stream, a, r, t, wide_leaves_from, memory.data());
               }));
}

template class GpuQrTasks<float>;
template class GpuQrTasks<double>;

}  // namespace basalt::detail
