// LU in the modes hybrid and gpu: the tasks.
#include "tasks/gpu_lu_tasks.hpp"

#include <algorithm>

#include <spdlog/spdlog.h>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "kernels/cpu/triangle_inverse.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/gang_panel.hpp"

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
      slot_(state.panels.size(), -1),
      tops_(state.panels.size()) {
    if (g_.block_width > 0) blocks_ = cut_blocks(state.panels, g_.block_width);
}

template <class T>
ColumnPlace GpuLuTasks<T>::behind(int k) const {
    const Panel& p = panel(k);
    // the last panel may end inside a tile column: of fewer rows than columns, or of columns that do not fill it
    if (p.col_end() < tile_width()) return {p.tile_column, p.col_end()};
    return {p.tile_column + 1, 0};
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
    return g_.blocks[number_of_block(k) % g_.blocks.size()].rows(first, rows(), panel(k).end() - first);
}

// --- data on their way ---

template <class T>
void GpuLuTasks<T>::enter_group(const ColumnGroup& group) {
    steps_before_ += first_panel(group_.last);
    group_ = group;
}

template <class T>
void GpuLuTasks<T>::broadcast(int k) {
    if (choices_.broadcast_from_host) {
        const auto send = [&](const AccessRecord& what) { rt_.engine().broadcast(what, {urgent, k}, true); };
        send(read(panel_rows(k)).record);
        send(read(moves(k)).record);
        if (!on_gpu(k)) send(read(inverse(k)).record);
        return;
    }
    rt_.broadcast(panel_rows(k), urgent, k);
    for (int g = 0; g < g_.gpus; ++g) {
        rt_.prefetch(moves(k), Place::gpu(g), urgent, k);
        if (!on_gpu(k)) rt_.prefetch(inverse(k), Place::gpu(g), urgent, k);
    }
}

template <class T>
void GpuLuTasks<T>::reload(int k) {
    take_slot(k);
    const Panel& p = panel(k);
    rt_.engine().submit_fetch({.name = "reload", .priority = urgent, .tile = {k, -1, -1}, .step = k},
                              read(s_.region(p, p.first, rows())).record, write(panel_rows(k)).record, k % g_.gpus);
}

template <class T>
void GpuLuTasks<T>::take_out(int j, Index top, int priority) {
    take_slot(j);
    const Panel& p = panel(j);
    rt_.submit(
        {.name = "take out", .priority = priority, .tile = {j, -1, -1}, .step = j, .place = device_of(p.tile_column)},
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
    const Panel& p = panel(k);
    const Index top = tops_[static_cast<std::size_t>(k)];
    rt_.submit({.name = "put back",
                .priority = patience(k, put_back_first),
                .tile = {k, -1, -1},
                .step = k,
                .place = device_of(p.tile_column)},
               read(panel_rows(k, top, rows())), readwrite(s_.region(p, top, rows())),
               on_any_device(
                   [](Stream stream, View<const T> from, View<T> a) { on_stream::copy_elements<T>(stream, from, a); }));
}

// --- on cores ---

template <class T>
void GpuLuTasks<T>::factor(int k) {
    const Panel& p = panel(k);
    rt_.submit(gang_panel(k, choices_.panel_threads_for(rows() - p.first), urgent + 1), readwrite(panel_rows(k)),
               write(s_.pivots_of(p)), [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
                   Team team = member;
                   const Index info = panel_factor(team, a, pivots.data(), s->workspace);
                   if (team.rank() == 0) s->panel_info[static_cast<std::size_t>(k)] = info;
               });
}

template <class T>
void GpuLuTasks<T>::prepare(int k) {
    const Panel& p = panel(k);
    rt_.submit({.name = "inverse", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::cpu()},
               read(panel_rows(k, p.first, p.end())), write(inverse(k)),
               [k, safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)]](View<const T> l, View<T> x) {
                   *safe = 1;
                   double norm = 0;  // that is too large
                   for (Index b = 0; b < l.rows(); b += inverted_block) {
                       const Index order = std::min(inverted_block, l.rows() - b);
                       double norms[2] = {};
                       cpu_kernels::invert_unit_lower<T>(l.block(b, b, order, order), x.block(b, 0, order, order),
                                                         norms);
                       if (norms[0] <= largest_inverse) continue;
                       *safe = 0;  // also where it is NaN
                       norm = norms[0];
                   }
                   if (*safe == 0) spdlog::debug("basalt: LU solves step {} by substitution: |L^-1| = {:.3g}", k, norm);
               });
    rt_.submit({.name = "row moves", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::cpu()},
               read(s_.pivots_of(p)), write(moves(k)), [](View<const Index> pivots, View<Index> numbers) {
                   cpu_kernels::find_row_moves(pivots.data(), RowMoves(numbers.data(), pivots.rows()));
               });
}

template <class T>
void GpuLuTasks<T>::update_on_cores(int k, int j) {
    const Panel& p = panel(k);
    const ScratchMatrix<T>& packed = g_.packed[slot(j)];
    rt_.submit({.name = "swap+solve", .priority = urgent, .tile = {k, j, -1}, .step = k, .place = Place::cpu()},
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
    const auto gpu = static_cast<std::size_t>(g_.device_of(p.tile_column));
    const ScratchMatrix<Index>& workspace = g_.panel_workspaces[gpu];
    const auto* const designs = &rt_.engine().device(g_.device_of(p.tile_column)).tuning().panels;
    rt_.submit(
        {.name = "panel", .priority = urgent + 1, .tile = {k, k, -1}, .step = k, .place = device_of(p.tile_column)},
        readwrite(panel_rows(k)), write(result(k)), write(workspace.region()), write(moves(k)),
        write(g_.logs.empty() ? workspace.rows(0, 0, 0) : g_.logs.region(k)),
        write(goes_alone(k) ? gate(k) : workspace.rows(0, 0, 0)),
        on_any_device([designs](Stream stream, View<T> a, View<Index> numbers, View<Index> memory, View<Index> to,
                                View<Index> log, View<Index>) {
            Index* const pivots = numbers.data();
            on_stream::panel_factor<T>(stream, a, pivots, pivots + a.cols(), memory.data(), *designs,
                                       PanelLogs::log_in(log), RowMoves(to.data(), a.cols()));
        }));
    rt_.submit({.name = "pivots", .tile = {k, -1, -1}, .step = k, .place = Place::cpu()}, read(result(k)),
               write(s_.pivots_of(p)),
               [info = &s_.panel_info[static_cast<std::size_t>(k)]](View<const Index> numbers, View<Index> pivots) {
                   std::copy_n(numbers.data(), pivots.rows(), pivots.data());
                   *info = numbers[pivots.rows()];
               });
    g_.logs.submit_reading(rt_, k, g_.device_of(p.tile_column));
}

template class GpuLuTasks<float>;
template class GpuLuTasks<double>;

}  // namespace basalt::detail
