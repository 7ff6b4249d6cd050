// LU in the modes hybrid and gpu: tasks that move data and factor panels.
#include "tasks/lu/gpu_tasks.hpp"

#include <algorithm>
#include <type_traits>

#include <spdlog/spdlog.h>

#include "base/gpu_architectures.hpp"
#include "kernels/cpu/panel/panel.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "kernels/cuda/panel/plan.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/host_copies.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/lu/panel_logs.hpp"
#include "tasks/on_gpus/gang_panel.hpp"

namespace basalt::detail {

namespace {

// Multiplying by the inverse X of a triangle instead of solving costs accuracy as far as |X| exceeds 1. Volkov and
// Demmel (section 5) name the rule, a plain solve where X is too large in norm; the bound was measured: blocks of
// random matrices stay below 3, while growth matrices reach 2^31 (docs/decisions/0009-hybrid-lu.md).
constexpr double largest_inverse = 16;

}  // namespace

template <class T>
GpuLuTasks<T>::GpuLuTasks(LuState<T>& state, GpuLuState<T>& on_gpus, const LuChoices& choices)
    : s_(state),
      g_(on_gpus),
      rt_(state.runtime),
      choices_(choices),
      geometry_(on_gpus.geometry),
      ring_(on_gpus.geometry, on_gpus.buffers.panels, on_gpus.panel_slots),
      tops_(state.panels.size()) {
    if (g_.block_width > 0) blocks_ = cut_blocks(state.panels, g_.block_width);
}

template <class T>
std::size_t GpuLuTasks<T>::number_of_block(int k) const {
    const auto it =
        std::partition_point(blocks_.begin(), blocks_.end(), [&](const PanelBlock& b) { return b.last <= k; });
    return static_cast<std::size_t>(it - blocks_.begin());
}

template <class T>
ColumnPlace GpuLuTasks<T>::reach(int k) const {
    if (blocks_.empty()) return end_of_group();
    const std::size_t next = number_of_block(k) + 1;
    if (next >= blocks_.size() || panel(blocks_[next].first).tile_column >= group_.last) return end_of_group();
    return behind(blocks_[next].last - 1);
}

template <class T>
Region<T> GpuLuTasks<T>::block_rows(int k) const {
    const PanelBlock& block = block_of(k);
    const Index first = panel(block.first).first;
    return g_.buffers.blocks[number_of_block(k) % g_.buffers.blocks.size()].rows(first, rows(), panel(k).end() - first);
}

// --- data on their way ---

template <class T>
void GpuLuTasks<T>::enter_group(const ColumnGroup& group) {
    steps_before_ += first_panel(group_.last);
    group_ = group;
    scale_columns();
}

template <class T>
void GpuLuTasks<T>::scale_columns() {
    if constexpr (std::is_same_v<T, float>) {
        if (g_.buffers.magnitudes.empty()) return;
        scaled_ = group_.first;
        for (Index j = group_.first; j < group_.last; ++j) {
            rt_.submit({.name = "scale columns",
                        .priority = j == group_.first ? urgent : patience(0, put_back_first),
                        .tile = {static_cast<int>(j)},
                        .place = Place::gpu(s_.a->deal().gpu_of(j))},
                       readwrite(matrix(j, 0, rows(), 0, tile_width())), write(magnitudes(j)),
                       on_any_device([](Stream stream, View<float> a, View<float> largest) {
                           on_stream::largest_in_columns(stream, a, largest);
                           on_stream::scale_columns(stream, a, 0, largest, on_stream::ColumnScaling::to_one);
                       }));
        }
    }
}

template <class T>
void GpuLuTasks<T>::scale_back_before(Index tile_column) {
    if constexpr (std::is_same_v<T, float>) {
        if (g_.buffers.magnitudes.empty()) return;
        for (; scaled_ < tile_column; ++scaled_) {
            const Index first = s_.grid().first_col(scaled_), end = std::min(first + tile_width(), rows());
            rt_.submit({.name = "scale back",
                        .priority = patience(0, put_back_first),
                        .tile = {static_cast<int>(scaled_)},
                        .place = Place::gpu(s_.a->deal().gpu_of(scaled_))},
                       readwrite(matrix(scaled_, 0, end, 0, tile_width())), read(magnitudes(scaled_)),
                       on_any_device([first](Stream stream, View<float> a, View<const float> largest) {
                           on_stream::scale_columns(stream, a, -first, largest, on_stream::ColumnScaling::back_above);
                       }));
        }
    }
}

template <class T>
void GpuLuTasks<T>::broadcast(int k) {
    if (g_.in_place) return;  // on one GPU
    if (choices_.broadcast_from_host) {
        const auto send = [&](const AccessRecord& what) {
            gpu_data(rt_).broadcast(what, {urgent, k}, BroadcastRoute::from_source);
        };
        send(read(panel_rows(k)).record);
        send(read(moves(k)).record);
        if (!on_gpu(k)) send(read(inverse(k)).record);
        return;
    }
    rt_.broadcast(panel_rows(k), urgent, k);
    for (int g = 0; g < geometry_.gpus(); ++g) {
        rt_.prefetch(moves(k), Place::gpu(g), urgent, k);
        if (!on_gpu(k)) rt_.prefetch(inverse(k), Place::gpu(g), urgent, k);
    }
}

template <class T>
void GpuLuTasks<T>::reload(int k) {
    ring_.take(k);
    const Panel& p = panel(k);
    host_copies(rt_).submit_fetch({.name = "reload", .priority = urgent, .tile = {k}, .step = k},
                                  read(s_.region(p, p.first, rows())).record, write(panel_rows(k)).record,
                                  k % geometry_.gpus());
}

template <class T>
void GpuLuTasks<T>::take_out(int j, Index top, int priority) {
    ring_.take(j);
    if (g_.in_place) return;
    const Panel& p = panel(j);
    rt_.submit(
        {.name = "take out", .priority = priority, .tile = {j}, .step = j, .place = owner(j)},
        read(s_.region(p, top, rows())), write(panel_rows(j, top, rows())),
        on_any_device([](Stream stream, View<const T> a, View<T> to) { on_stream::copy_elements<T>(stream, a, to); }));
    tops_[static_cast<std::size_t>(j)] = top;
}

template <class T>
void GpuLuTasks<T>::send_to_cores(int j) const {
    if (!on_gpu(j)) rt_.prefetch(panel_rows(j), Place::cpu(), urgent, j);
}

template <class T>
void GpuLuTasks<T>::put_back(int k) {
    if (g_.in_place) return;
    const Panel& p = panel(k);
    const Index top = tops_[static_cast<std::size_t>(k)];
    rt_.submit({.name = "put back", .priority = patience(k, put_back_first), .tile = {k}, .step = k, .place = owner(k)},
               read(panel_rows(k, top, rows())), readwrite(s_.region(p, top, rows())),
               on_any_device(
                   [](Stream stream, View<const T> from, View<T> a) { on_stream::copy_elements<T>(stream, from, a); }));
}

// --- on cores ---

template <class T>
void GpuLuTasks<T>::factor(int k) {
    const Panel& p = panel(k);
    rt_.submit(gang_panel(k, choices_.panel_team_for(rows() - p.first, p.width), urgent + 1), readwrite(panel_rows(k)),
               write(s_.pivots_of(p)), [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
                   Team team = member;
                   const Index info = panel_factor(team, a, pivots.data(), s->workspace);
                   if (team.rank() == 0) s->panel_info[static_cast<std::size_t>(k)] = info;
               });
}

template <class T>
void GpuLuTasks<T>::prepare(int k) {
    const Panel& p = panel(k);
    rt_.submit({.name = "inverse", .priority = urgent, .tile = {k}, .step = k, .place = Place::cpu()},
               read(panel_rows(k, p.first, p.end())), write(inverse(k)),
               [k, safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)]](View<const T> l, View<T> x) {
                   *safe = 1;
                   double norm = 0;  // that is too large
                   for (Index b = 0; b < l.rows(); b += inverted_block) {
                       const Index order = std::min(inverted_block, l.rows() - b);
                       double norms[2] = {};
                       on_stream::invert_unit_lower<T>.on_cpu(l.block(b, b, order, order), x.block(b, 0, order, order),
                                                              norms);
                       if (norms[0] <= largest_inverse) continue;
                       *safe = 0;  // also where it is NaN
                       norm = norms[0];
                   }
                   if (*safe == 0) spdlog::debug("basalt: LU solves step {} by substitution: |L^-1| = {:.3g}", k, norm);
               });
    rt_.submit({.name = "row moves", .priority = urgent, .tile = {k}, .step = k, .place = Place::cpu()},
               read(s_.pivots_of(p)), write(moves(k)), [](View<const Index> pivots, View<Index> numbers) {
                   on_stream::find_row_moves.on_cpu(pivots.data(), RowMoves(numbers.data(), pivots.rows()));
               });
}

template <class T>
void GpuLuTasks<T>::update_on_cores(int k, int j) {
    const Panel& p = panel(k);
    const ScratchMatrix<T>& packed = g_.buffers.packed[ring_.slot(j)];
    rt_.submit({.name = "swap+solve", .priority = urgent, .tile = {k, j}, .step = k, .place = Place::cpu()},
               read(panel_rows(k, p.first, p.end())), read(s_.pivots_of(p)), write(packed.region()),
               readwrite(panel_rows(j, p.first, rows())),
               [](View<const T> l, View<const Index> pivots, View<T> u, View<T> a) {
                   swap_rows(a, pivots.data(), pivots.rows());
                   solve_and_pack<T>(l, nullptr, a.block(0, 0, l.rows(), a.cols()), u.data());
               });
    const Index update_rows = rt_.tuning().cpu.lu.update_rows;
    for (Index begin = p.end(); begin < rows(); begin += update_rows) {
        const Index end = std::min(begin + update_rows, rows());
        rt_.submit({.name = "update",
                    .priority = urgent,
                    .tile = {k, j, static_cast<int>(begin / update_rows)},
                    .step = k,
                    .place = Place::cpu()},
                   read(panel_rows(k, begin, end)), read(packed.region()), readwrite(panel_rows(j, begin, end)),
                   [](View<const T> l, View<const T> u, View<T> a) { gemm_minus(a, l, u.data()); });
    }
}

// --- on GPUs ---

template <class T>
bool GpuLuTasks<T>::goes_alone(int k) const {
    return on_gpu(k) && s_.grid().cols() - panel(k).first < choices_.panels_alone_below;
}

template <class T>
void GpuLuTasks<T>::factor_on_gpu(int k) {
    const Panel& p = panel(k);
    const auto gpu = static_cast<std::size_t>(geometry_.owner(k));
    const ScratchMatrix<Index>& workspace = g_.buffers.panel_workspaces[gpu];
    const PanelLogs logs(g_.buffers.logs);
    const Device& device = gpus_of(rt_).device(geometry_.owner(k));
    const auto* const designs = &device.tuning().panels;
    const int capability = capability_of(device.architecture());
    const ScratchMatrix<Index>& slices = g_.buffers.lead_slices[gpu];  // the panel comes between two leading updates
    on_stream::PanelProducts products{.splitting = rt_.tuning().gpu.lu.splitting};
    if (is_single_in_lu(choices_.products)) products.precision = choices_.products;
    rt_.submit({.name = "panel", .priority = urgent + 1, .tile = {k, k}, .step = k, .place = owner(k)},
               readwrite(panel_rows(k)), write(result(k)), write(workspace.region()), write(slices.region()),
               write(moves(k)), write(logs.empty() ? workspace.rows(0, 0, 0) : logs.region(k)),
               write(goes_alone(k) ? gate(k) : workspace.rows(0, 0, 0)),
               on_any_device([designs, capability, products](Stream stream, View<T> a, View<Index> numbers,
                                                             View<Index> memory, View<Index> slice_memory,
                                                             View<Index> to, View<Index> log, View<Index>) {
                   Index* const pivots = numbers.data();
                   const auto plan = cuda_kernels::panel_plan(a.rows(), *designs, [&](const auto& tried) {
                       return capability >= cuda_kernels::lowest_capability(tried.design) &&
                              on_stream::panel_fits<T>(stream, a.rows(), tried);
                   });
                   auto by = products;
                   by.workspace = slice_memory.data();
                   on_stream::panel_factor<T>(stream, a, pivots, pivots + a.cols(), memory.data(), plan, by,
                                              PanelLogs::log_in(log), RowMoves(to.data(), a.cols()));
               }));
    rt_.submit({.name = "pivots", .tile = {k}, .step = k, .place = Place::cpu()}, read(result(k)),
               write(s_.pivots_of(p)),
               [info = &s_.panel_info[static_cast<std::size_t>(k)]](View<const Index> numbers, View<Index> pivots) {
                   std::copy_n(numbers.data(), pivots.rows(), pivots.data());
                   *info = numbers[pivots.rows()];
               });
    logs.submit_reading(rt_, k, geometry_.owner(k));
}

template class GpuLuTasks<float>;
template class GpuLuTasks<double>;

}  // namespace basalt::detail
