#include "tasks/cholesky/gpu_tasks.hpp"

#include <algorithm>

#include "kernels/cpu/cholesky/panel.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

namespace {

template <class T>
View<T> flipped_if(bool flip, View<T> a) {
    return flip ? transposed(a) : a;
}

/// P := P L^-T with L in strips: P_s := (P_s - P_:s L(s, :s)^T) L(s, s)^-T, one after the other.
template <class T>
void solve_rows(Stream stream, const TriangleStrips& strips, const T* array, View<T> p) {
    for (Index s = 0; s < strips.count(); ++s) {
        const View<T> columns = p.block(0, strips.first(s), p.rows(), strips.rows(s));
        on_stream::subtract_transposed_products<T>(stream, 1, {p.block(0, 0, p.rows(), strips.first(s))},
                                                   {strips.left_of(array, s, s)}, Strided<T>{columns},
                                                   ProductPrecision::plain);
        on_stream::solve_triangle<T>(stream, Triangle::lower, Diagonal::stored, strips.block(array, s, s),
                                     transposed(columns));
    }
}

}  // namespace

template <class T>
GpuCholeskyTasks<T>::GpuCholeskyTasks(CholeskyState<T>& state, GpuCholeskyState<T>& on_gpus,
                                      const CholeskyChoices& choices)
    : s_(state),
      g_(on_gpus),
      rt_(state.runtime),
      choices_(choices),
      geometry_(on_gpus.geometry),
      ring_(on_gpus.geometry, on_gpus.buffers.panels, on_gpus.memory.panel_slots()),
      factored_(static_cast<std::size_t>(on_gpus.geometry.gpus())) {}

// --- data on their way ---

template <class T>
Region<T> GpuCholeskyTasks<T>::panel_rows(int k, Index begin, Index end) const {
    if (g_.in_place) return matrix(panel(k), begin, end);
    return ring_.rows(k, begin, end);
}

template <class T>
Region<T> GpuCholeskyTasks<T>::triangle(int k) const {
    return g_.buffers.triangles[ring_.slot(k)].rows(0, g_.memory.strips(panel(k).width).elements(), 1);
}

template <class T>
void GpuCholeskyTasks<T>::save_other_side(const ColumnGroup& columns) {
    for (Index j = columns.first; j < columns.last; ++j) {
        const Index first = grid().first_col(j), width = grid().tile_width(j);
        const auto square = g_.a->template region<T>(j, first, first + width, 0, width);
        rt_.submit({.name = "save", .tile = {static_cast<int>(j)}, .place = Place::gpu(geometry_.gpu_of(j))},
                   read(square), write(g_.buffers.above[static_cast<std::size_t>(j)].rows(0, width, g_.nb)),
                   on_any_device([upper = g_.upper](Stream stream, View<const T> a, View<T> saved) {
                       on_stream::save_above_diagonal<T>(stream, flipped_if(upper, a), saved);
                   }));
    }
}

template <class T>
void GpuCholeskyTasks<T>::restore_other_side(const ColumnGroup& columns) {
    for (Index j = columns.first; j < columns.last; ++j) {
        const Index first = grid().first_col(j), width = grid().tile_width(j);
        const auto square = g_.a->template region<T>(j, first, first + width, 0, width);
        const auto saved = g_.buffers.above[static_cast<std::size_t>(j)].rows(0, width, g_.nb);
        rt_.submit({.name = "restore", .tile = {static_cast<int>(j)}, .place = Place::gpu(geometry_.gpu_of(j))},
                   read(saved), readwrite(square),
                   on_any_device([upper = g_.upper](Stream stream, View<const T> saved, View<T> a) {
                       on_stream::restore_above_diagonal<T>(stream, saved, flipped_if(upper, a));
                   }));
        // what the columns of the next group save takes its place
        gpu_data(rt_).abandon(*saved.datum);
        gpu_data(rt_).leave(*saved.datum, geometry_.gpu_of(j), {});
    }
}

template <class T>
void GpuCholeskyTasks<T>::reload(int k, int first) {
    ring_.take(k);
    const Index begin = panel(first).first;
    host_copies(rt_).submit_fetch({.name = "reload", .priority = urgent, .tile = {k}, .step = k},
                                  read(matrix(panel(k), begin, rows())).record, write(panel_rows(k, begin)).record,
                                  k % geometry_.gpus());
    rt_.broadcast(panel_rows(k, begin), urgent);
}

template <class T>
void GpuCholeskyTasks<T>::broadcast(int k) {
    if (!g_.in_place && top(k) < rows()) rt_.broadcast(panel_rows(k, top(k)), urgent);
}

// --- between the matrix and the panels' buffers ---

template <class T>
TaskOptions GpuCholeskyTasks<T>::step_task(TaskName name, int k, int gpu, int priority) {
    return {.name = name, .priority = priority, .tile = {k}, .step = k, .place = Place::gpu(gpu)};
}

template <class T>
void GpuCholeskyTasks<T>::take_out(int k) {
    if (g_.in_place) return;
    ring_.take(k);
    if (!on_gpu(k)) take_out_triangle(k);
    if (top(k) < rows()) take_out_rows(k);
}

template <class T>
void GpuCholeskyTasks<T>::put_back(int k) {
    if (g_.in_place) return;
    if (!on_gpu(k)) put_back_triangle(k);
    if (top(k) < rows()) put_back_rows(k);
}

template <class T>
void GpuCholeskyTasks<T>::take_out_triangle(int k) {
    const Panel& p = panel(k);
    rt_.submit(
        step_task("take out triangle", k, owner(k), urgent), read(matrix(p, p.first, p.end())), write(triangle(k)),
        on_any_device(
            [strips = g_.memory.strips(p.width), upper = g_.upper](Stream stream, View<const T> square, View<T> array) {
                const View<const T> l = flipped_if(upper, square);
                for (Index s = 0; s < strips.count(); ++s) {
                    const View<T> strip = strips.strip(array.data(), s);
                    on_stream::copy_window<T>(stream, l.block(strips.first(s), 0, strip.rows(), strip.cols()), strip);
                }
            }));
    rt_.prefetch(triangle(k), Place::cpu(), urgent);
}

template <class T>
void GpuCholeskyTasks<T>::put_back_triangle(int k) {
    const Panel& p = panel(k);
    rt_.submit(
        step_task("put back triangle", k, owner(k)), read(triangle(k)), readwrite(matrix(p, p.first, p.end())),
        on_any_device(
            [strips = g_.memory.strips(p.width), upper = g_.upper](Stream stream, View<const T> array, View<T> square) {
                const View<T> l = flipped_if(upper, square);
                for (Index s = 0; s < strips.count(); ++s) {
                    const View<const T> strip = strips.strip(array.data(), s);
                    on_stream::copy_window<T>(stream, strip, l.block(strips.first(s), 0, strip.rows(), strip.cols()));
                }
            }));
}

/// The windows in one GPU's tile columns, from left to right.
template <class T>
auto GpuCholeskyTasks<T>::row_windows(int k, int gpu) const -> std::vector<RowWindow> {
    std::vector<RowWindow> windows;
    const Index begin = top(k);
    for (const Index j : geometry_.columns_of(gpu, grid().tile_col_of(begin), grid().tile_cols())) {
        const Index col = std::max<Index>(begin - grid().first_col(j), 0);
        windows.push_back(
            {j, col, grid().tile_width(j) - col, grid().first_col(j) + col, j / geometry_.gpus() * tile_width() + col});
    }
    return windows;
}

template <class T>
Region<T> GpuCholeskyTasks<T>::collected(int gpu, const std::vector<RowWindow>& windows) const {
    const Index end = windows.back().collected + windows.back().width;
    return g_.buffers.collected[static_cast<std::size_t>(gpu)].rows(windows.front().collected, end, g_.nb);
}

template <class T>
void GpuCholeskyTasks<T>::take_out_rows(int k) {
    const Panel& p = panel(k);
    if (!g_.upper) {
        rt_.submit(step_task("take out", k, owner(k), urgent), read(matrix(p, top(k), rows())),
                   write(panel_rows(k, top(k))), on_any_device([](Stream stream, View<const T> a, View<T> to) {
                       on_stream::copy_elements<T>(stream, a, to);
                   }));
    } else {
        take_out_windows(k);
    }
    if (!on_gpu(k) && choices_.rows_on_cores) rt_.prefetch(panel_rows(k, top(k)), Place::cpu(), urgent);
}

/// Each GPU transposes its part of the panel's rows; the GPU of the panel puts them together.
template <class T>
void GpuCholeskyTasks<T>::take_out_windows(int k) {
    const Panel& p = panel(k);
    const std::vector<RowWindow> own = row_windows(k, owner(k));
    AccessList data;
    for (const RowWindow& window : own) data.read(matrix(p, window));
    std::vector<std::vector<RowWindow>> others;
    for (int gpu = 0; gpu < geometry_.gpus(); ++gpu) {
        std::vector<RowWindow> windows = row_windows(k, gpu);
        if (gpu == owner(k) || windows.empty()) continue;
        collect(k, gpu, windows);
        data.read(collected(gpu, windows));
        others.push_back(std::move(windows));
    }
    data.write(panel_rows(k, top(k)));
    rt_.submit(
        step_task("take out", k, owner(k), urgent), data,
        on_any_device([p, own, others = std::move(others), shape = layout()](Stream stream, const DatumAddresses& at) {
            const View<T> to = shape.panel(at.back(), p.width);
            for (std::size_t i = 0; i < own.size(); ++i) {
                on_stream::copy_window<T>(stream, transposed(shape.window(at[i], p, own[i])),
                                          to.block(own[i].row, 0, own[i].width, p.width));
            }
            for (std::size_t g = 0; g < others.size(); ++g) {
                const View<T> from = shape.collection(at[own.size() + g], p.width);
                for (const RowWindow& window : others[g]) {
                    on_stream::copy_elements<T>(stream, from.block(window.collected, 0, window.width, p.width),
                                                to.block(window.row, 0, window.width, p.width));
                }
            }
        }));
}

template <class T>
void GpuCholeskyTasks<T>::collect(int k, int gpu, const std::vector<RowWindow>& windows) {
    const Panel& p = panel(k);
    AccessList data;
    for (const RowWindow& window : windows) data.read(matrix(p, window));
    data.write(collected(gpu, windows));
    rt_.submit(step_task("collect", k, gpu, urgent), data,
               on_any_device([p, windows, shape = layout()](Stream stream, const DatumAddresses& at) {
                   const View<T> to = shape.collection(at.back(), p.width);
                   for (std::size_t i = 0; i < windows.size(); ++i) {
                       on_stream::copy_window<T>(stream, transposed(shape.window(at[i], p, windows[i])),
                                                 to.block(windows[i].collected, 0, windows[i].width, p.width));
                   }
               }));
}

template <class T>
void GpuCholeskyTasks<T>::put_back_rows(int k) {
    const Panel& p = panel(k);
    if (!g_.upper) {
        rt_.submit(step_task("put back", k, owner(k)), read(panel_rows(k, top(k))),
                   readwrite(matrix(p, top(k), rows())),
                   on_any_device([](Stream stream, View<const T> from, View<T> a) {
                       on_stream::copy_elements<T>(stream, from, a);
                   }));
        return;
    }
    for (int gpu = 0; gpu < geometry_.gpus(); ++gpu) {
        const std::vector<RowWindow> windows = row_windows(k, gpu);
        if (windows.empty()) continue;
        AccessList data;
        data.read(panel_rows(k, windows.front().row));
        for (const RowWindow& window : windows) data.readwrite(matrix(p, window));
        rt_.submit(step_task("put back", k, gpu), data,
                   on_any_device([p, windows, shape = layout()](Stream stream, const DatumAddresses& at) {
                       const View<const T> from = shape.panel(at[0], p.width);
                       for (std::size_t i = 0; i < windows.size(); ++i) {
                           on_stream::copy_window<T>(stream, from.block(windows[i].row, 0, windows[i].width, p.width),
                                                     transposed(shape.window(at[i + 1], p, windows[i])));
                       }
                   }));
    }
}

// --- panels ---

template <class T>
void GpuCholeskyTasks<T>::factor(PanelRange step) {
    if (on_gpu(step.first)) {
        factor_on_gpu(step);
    } else {
        factor_on_cores(step.first);
    }
}

template <class T>
void GpuCholeskyTasks<T>::factor_on_gpu(PanelRange step) {
    const int k = step.first;
    const auto gpu = static_cast<std::size_t>(owner(k));
    const Region<Index> info = g_.buffers.info[gpu].region();
    const bool gpus_first = factored_[gpu].empty();  // the GPU's first panel
    factored_[gpu].push_back(k);
    const Index first = panel(k).first;
    const Region<T> columns = g_.in_place ? matrix(step) : panel_rows(k, first);
    const GpuTuning::Cholesky& tuning = rt_.tuning().gpu.cholesky;
    const auto plan = k >= g_.fused_from ? cuda_kernels::cholesky_square_plan(tuning, rows() - first)
                                         : cuda_kernels::cholesky_panel_plan(tuning, choices_.products);
    rt_.submit(step_task("panel", k, owner(k), urgent + 1), readwrite(columns),
               write(g_.buffers.workspaces[gpu].region()), gpus_first ? write(info) : readwrite(info),
               on_any_device([k, plan](Stream stream, View<T> a, View<Index> workspace, View<Index> info) {
                   on_stream::cholesky_panel<T>(stream, a, plan, info.data() + k, workspace.data());
               }));
}

/// One core factors the square on top.
template <class T>
void GpuCholeskyTasks<T>::factor_on_cores(int k) {
    const Panel& p = panel(k);
    rt_.submit({.name = "panel", .priority = urgent + 1, .tile = {k, k}, .step = k, .place = Place::cpu()},
               readwrite(triangle(k)), readwrite(s_.info),
               [p, strips = g_.memory.strips(p.width)](View<T> array, View<Index> info) {
                   if (info[0] != 0) return;
                   const Index found = cpu_kernels::factor_strips(strips, array.data());
                   if (found > 0) info[0] = p.first + found;
               });
    if (p.end() == rows()) return;
    if (choices_.rows_on_cores) {
        solve_on_cores(k);
    } else {
        solve_on_gpu(k);
    }
}

template <class T>
void GpuCholeskyTasks<T>::solve_on_gpu(int k) {
    const Panel& p = panel(k);
    rt_.submit(step_task("solve", k, owner(k), urgent + 1), read(triangle(k)), readwrite(panel_rows(k, p.end())),
               on_any_device([strips = g_.memory.strips(p.width)](Stream stream, View<const T> array, View<T> below) {
                   solve_rows<T>(stream, strips, array.data(), below);
               }));
}

template <class T>
void GpuCholeskyTasks<T>::solve_on_cores(int k) {
    const Panel& p = panel(k);
    const Region<T> solver = g_.buffers.solvers[ring_.slot(k)].region();
    TaskOptions options{.name = "prepare", .priority = urgent + 1, .tile = {k, k}, .step = k, .place = Place::cpu()};
    rt_.submit(options, read(triangle(k)), write(solver),
               [width = p.width, strips = g_.memory.strips(p.width)](View<const T> array, View<T> prepared) {
                   T* const scale = &prepared(prepared.rows() - 1, 0);
                   cpu_kernels::prepare_solve<T>(strips, array.data(), prepared.block(0, 0, width, width), scale);
               });
    options.name = "solve";
    const Index below = rows() - p.end();
    const Index parts = std::clamp<Index>(below / rt_.tuning().cpu.cholesky.solve_rows, 1, rt_.workers());
    for (Index i = 0; i < parts; ++i) {
        const Index begin = p.end() + below * i / parts, end = p.end() + below * (i + 1) / parts;
        rt_.submit(options, read(solver), readwrite(panel_rows(k, begin, end)),
                   [width = p.width](View<const T> prepared, View<T> a) {
                       const T* const scale = &prepared(prepared.rows() - 1, 0);
                       cpu_kernels::solve_rows<T>(prepared.block(0, 0, width, width), scale, a);
                   });
    }
}

template <class T>
void GpuCholeskyTasks<T>::collect_info() {
    for (std::size_t g = 0; g < factored_.size(); ++g) {
        if (factored_[g].empty()) continue;
        rt_.submit({.name = "info", .place = Place::cpu()}, read(g_.buffers.info[g]), readwrite(s_.info),
                   [s = &s_, panels = factored_[g]](View<const Index> found, View<Index> info) {
                       for (const int k : panels) {
                           if (found[k] == 0) continue;
                           const Index number = s->panels[static_cast<std::size_t>(k)].first + found[k];
                           if (info[0] == 0 || number < info[0]) info[0] = number;
                       }
                   });
    }
}

template class GpuCholeskyTasks<float>;
template class GpuCholeskyTasks<double>;

}  // namespace basalt::detail
