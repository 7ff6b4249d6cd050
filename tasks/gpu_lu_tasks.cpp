// LU in the modes hybrid and gpu: the tasks.
#include "tasks/gpu_lu_tasks.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "kernels/cpu/triangle_inverse.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"

namespace basalt::detail {

namespace {

// Multiplying by the inverse X of a triangle instead of solving costs accuracy as far as |X| exceeds 1. Volkov and
// Demmel (section 5) name the rule, a plain solve where X is too large in norm; the bound was measured: blocks of
// random matrices stay below 3, while growth matrices reach 2^31 (docs/decisions/0009-hybrid-lu.md).
constexpr double largest_inverse = 16;

// Smaller products are not worth the pieces: docs/decisions/0010-lu-on-gpus.md.
constexpr Index least_split_depth = 256, least_split_volume = Index{1} << 33;

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
bool GpuLuTasks<T>::on_gpu(int k) const {
    // the first one before there is anything that the GPUs could do meanwhile
    return g_.gpu_panels_below > 0 && (k == 0 || rows() - panel(k).first <= g_.gpu_panels_below);
}

template <class T>
int GpuLuTasks<T>::first_panel(Index tile_column) const {
    const auto it = std::partition_point(s_.panels.begin(), s_.panels.end(),
                                         [&](const Panel& p) { return p.tile_column < tile_column; });
    return static_cast<int>(it - s_.panels.begin());
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
void GpuLuTasks<T>::pin_what_is_at_home() {
    for (Index j = 0; j < s_.grid().tile_cols(); ++j) {
        if (g_.out_of_core() || rt_.engine().at_home(*s_.a->datum(j))) return s_.a->pin();
    }
}

template <class T>
void GpuLuTasks<T>::bring_to_devices(const ColumnGroup& group) {
    if (group.first == 0) s_.a->make_room_on_gpus(std::min(g_.group_columns, s_.grid().tile_cols()));
    for (Index j = group.first; j < group.last; ++j) {
        rt_.prefetch(matrix(j, 0, rows(), 0, tile_width()), device_of(j));
    }
}

template <class T>
void GpuLuTasks<T>::enter_group(const ColumnGroup& group) {
    steps_before_ += first_panel(group_.last);
    group_ = group;
}

template <class T>
void GpuLuTasks<T>::broadcast(int k) {
    if (choices_.broadcast_from_host) {
        for (int g = 0; g < g_.gpus; ++g) rt_.prefetch(panel_rows(k), Place::gpu(g), urgent, k);
    } else {
        rt_.broadcast(panel_rows(k), urgent, k);
    }
    for (int g = 0; g < g_.gpus; ++g) {
        rt_.prefetch(moves(k), Place::gpu(g), urgent, k);
        if (!on_gpu(k)) rt_.prefetch(inverse(k), Place::gpu(g), urgent, k);
    }
}

template <class T>
void GpuLuTasks<T>::reload(int k) {
    take_slot(k);
    const Panel& p = panel(k);
    const int threads = std::min(rt_.workers(), rt_.tuning().cpu.copying_threads);
    rt_.submit({.name = "reload",
                .priority = urgent,
                .threads = {1, threads},
                .tile = {k, -1, -1},
                .step = k,
                .place = Place::cpu()},
               read(s_.region(p, p.first, rows())), write(panel_rows(k)),
               [](const Team& team, View<const T> a, View<T> to) { copy_share(team, a, to); });
}

template <class T>
void GpuLuTasks<T>::copy_share(const Team& team, View<const T> a, View<T> to) {
    const Index begin = a.rows() * team.rank() / team.size();
    const Index end = a.rows() * (team.rank() + 1) / team.size();
    copy_elements<T>(a.block(begin, 0, end - begin, a.cols()), to.block(begin, 0, end - begin, a.cols()));
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
    const int threads = choices_.panel_threads_for(rows() - p.first);
    rt_.submit({.name = "panel",
                .priority = urgent + 1,
                .threads = {threads, threads},
                .tile = {k, k, -1},
                .step = k,
                .place = Place::cpu()},
               readwrite(panel_rows(k)), write(s_.pivots_of(p)),
               [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
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
               [safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)]](View<const T> l, View<T> x) {
                   *safe = 1;
                   for (Index b = 0; b < l.rows(); b += inverted_block) {
                       const Index order = std::min(inverted_block, l.rows() - b);
                       double norms[2] = {};
                       cpu_kernels::invert_unit_lower<T>(l.block(b, b, order, order), x.block(b, 0, order, order),
                                                         norms);
                       if (!(norms[0] <= largest_inverse)) *safe = 0;  // also where it is NaN
                   }
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
                   solve_and_pack(l, a.block(0, 0, l.rows(), a.cols()), u.data());
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
void GpuLuTasks<T>::factor_on_gpu(int k) {
    const Panel& p = panel(k);
    const auto gpu = static_cast<std::size_t>(g_.device_of(p.tile_column));
    const ScratchMatrix<Index>& workspace = g_.panel_workspaces[gpu];
    const auto* const designs = &rt_.engine().device(g_.device_of(p.tile_column)).tuning().panels;
    rt_.submit(
        {.name = "panel", .priority = urgent + 1, .tile = {k, k, -1}, .step = k, .place = device_of(p.tile_column)},
        readwrite(panel_rows(k)), write(result(k)), write(workspace.region()), write(moves(k)),
        write(g_.logs.empty() ? workspace.rows(0, 0, 0) : g_.logs.region(k)),
        on_any_device([designs](Stream stream, View<T> a, View<Index> numbers, View<Index> memory, View<Index> to,
                                View<Index> log) {
            Index* const pivots = numbers.data();
            on_stream::panel_factor<T>(stream, a, pivots, pivots + a.cols(), memory.data(), *designs,
                                       PanelLogs::log_in(log));
            on_stream::find_row_moves(stream, pivots, RowMoves(to.data(), a.cols()));
        }));
    rt_.submit({.name = "pivots", .tile = {k, -1, -1}, .step = k, .place = Place::cpu()}, read(result(k)),
               write(s_.pivots_of(p)),
               [info = &s_.panel_info[static_cast<std::size_t>(k)]](View<const Index> numbers, View<Index> pivots) {
                   std::copy_n(numbers.data(), pivots.rows(), pivots.data());
                   *info = numbers[pivots.rows()];
               });
    g_.logs.submit_reading(rt_, k, g_.device_of(p.tile_column));
}

template <class T>
void GpuLuTasks<T>::update_leading(int k, int next) {
    const Panel& p = panel(next);
    const GpuColumns<T> columns{rows(), g_.nb, 0, p.width};
    submit_update(of_panel(k), {.gpu = g_.device_of(p.tile_column), .leading = true, .gate = next, .cols = p.width},
                  columns, [&](AccessList& data) { data.readwrite(panel_rows(next, panel(k).first, rows())); });
}

template <class T>
void GpuLuTasks<T>::update_rest(int k, const ColumnPlace& first, const ColumnPlace& end, int next) {
    update_columns(of_panel(k), first, end, next);
}

template <class T>
void GpuLuTasks<T>::update_beyond(int k, int next) {
    const PanelBlock& block = block_of(k);
    rt_.broadcast(block_rows(k), patience(k, block_of_panels), k);
    update_columns({block.first, block.last, block_rows(k), g_.block_width, block_of_panels}, reach(k), end_of_group(),
                   next);
}

template <class T>
void GpuLuTasks<T>::gather(int k) {
    const Panel& p = panel(k);
    const int gpu = g_.device_of(p.tile_column);
    const bool first = block_of(k).first == k;
    AccessList data;
    data.read(panel_rows(k)).read(moves(k)).write(g_.rest_rows[static_cast<std::size_t>(gpu)].region());
    if (first) {
        data.write(block_rows(k));
    } else {
        data.readwrite(block_rows(k));
    }
    const Index done = p.first - panel(block_of(k).first).first;
    rt_.submit(
        {.name = "gather",
         .priority = patience(k, block_of_panels),
         .tile = {k, -1, -1},
         .step = k,
         .place = Place::gpu(gpu)},
        data,
        on_any_device([p, done, rows = rows(), nb = g_.nb, ld = g_.block_width](Stream stream, const Addresses& at) {
            const auto l =
                View<const T>::row_major(static_cast<const T*>(at[0]) + p.first * nb, rows - p.first, p.width, nb);
            const RowMoves row_moves(static_cast<Index*>(at[1]), p.width);
            T* const block = static_cast<T*>(at[3]) + p.first * ld;
            if (done > 0) {
                const TileColumns<T> before{block, 1, 0, rows - p.first, done, ld};
                const auto exchanged = dense_tile_columns(static_cast<T*>(at[2]), 1, p.width, done);
                on_stream::exchange_rows<T>(stream, row_moves, before, exchanged);
                on_stream::copy_tile_columns<T>(stream, exchanged, before.row_range(0, p.width));
            }
            on_stream::copy_elements<T>(stream, l, View<T>::row_major(block + done, rows - p.first, p.width, ld));
        }));
}

/// By the factors' panels, columns of the group from `first` to `end`.
template <class T>
void GpuLuTasks<T>::update_columns(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end, int next) {
    const Index begin = std::max(first.tile_column, group_.first);
    const bool cut = end.tile_column < group_.last && end.col > 0;  // in the last tile column
    const Index last = std::min(end.tile_column, group_.last) - (cut ? 0 : 1);
    for (int g = 0; g < g_.gpus; ++g) {
        const Index ahead = (g - g_.device_of(begin) + g_.gpus) % g_.gpus;
        const Index mine = begin + ahead;
        if (mine > last) continue;
        const Index count = (last - mine) / g_.gpus + 1;
        const Index col_begin = ahead == 0 && begin == first.tile_column ? first.col : 0;
        const Index col_end = cut && mine + (count - 1) * g_.gpus == last ? end.col : tile_width();
        if (count == 1 && col_begin >= col_end) continue;
        const GpuColumns<T> columns{rows(), tile_width(), col_begin, col_end};
        const Index cols = (count - 1) * tile_width() + col_end - col_begin;
        submit_update(factors, {.gpu = g, .gate = gate_on(g, next), .cols = cols}, columns, [&](AccessList& data) {
            for (Index c = 0; c < count; ++c) {
                data.readwrite(matrix(mine + c * g_.gpus, panel(factors.first).first, rows(), c == 0 ? col_begin : 0,
                                      c + 1 == count ? col_end : tile_width()));
            }
        });
    }
}

/// Where a GPU factors panel `next`, the rest of its work begins behind the leading update, so that the panel finds
/// multiprocessors that are free: the number of the gate that tells, or -1.
template <class T>
int GpuLuTasks<T>::gate_on(int gpu, int next) const {
    return next >= 0 && on_gpu(next) && g_.device_of(panel(next).tile_column) == gpu ? next : -1;
}

/// Whether a product of these dimensions is made by pieces. On emulated devices all are that may be.
template <class T>
bool GpuLuTasks<T>::by_pieces(Index rows, Index depth, Index cols) const {
    if (!std::is_same_v<T, float> || !choices_.split_products || choices_.tf32) return false;
    if (rt_.engine().device(0).emulated()) return true;
    return depth >= least_split_depth && rows * depth * cols >= least_split_volume;
}

/// Columns of a GPU: exchange of rows, U = L^-1 A beside the triangle, A -= L U below. add_columns(data) adds the
/// accesses to them.
template <class T>
template <class F>
void GpuLuTasks<T>::submit_update(const Factors& factors, const Part& part, const GpuColumns<T>& columns,
                                  const F& add_columns) {
    const std::vector<Panel> panels(s_.panels.begin() + factors.first, s_.panels.begin() + factors.last);
    const int k = factors.last - 1;
    const Index top_row = panels.front().first, depth = panels.back().end() - top_row;
    const auto device = static_cast<std::size_t>(part.gpu);
    const ScratchMatrix<T>& top = part.leading ? g_.lead_rows[device] : g_.rest_rows[device];
    const ScratchMatrix<Index>& pieces = part.leading ? g_.lead_pieces[device] : g_.rest_pieces[device];
    const bool use_inverse = choices_.solve_by_inverse && !on_gpu(k);
    const bool split = by_pieces(rows() - panels.back().end(), depth, part.cols);
    AccessList data;
    data.read(factors.l).write(top.region()).write(pieces.region());
    const std::size_t first_moves = data.records().size();
    for (int i = factors.first; i < factors.last; ++i) data.read(moves(i));
    const std::size_t inverses = data.records().size();
    if (use_inverse) data.read(inverse(k));
    if (part.gate >= 0 && part.leading) data.write(gate(part.gate));
    if (part.gate >= 0 && !part.leading) data.read(gate(part.gate));
    const std::size_t first_column = data.records().size();
    add_columns(data);
    const ProductPrecision precision = choices_.tf32 ? ProductPrecision::tf32 : ProductPrecision::full;
    const char* safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)];
    rt_.submit(
        {.name = part.leading ? TaskName("update leading") : TaskName("update"),
         .priority = part.leading ? urgent : patience(k, factors.patience),
         .tile = {k, -1, -1},
         .step = k,
         .place = Place::gpu(part.gpu)},
        data, on_any_device([=, ld = factors.ld](Stream stream, const Addresses& at) {
            const auto l = View<const T>::row_major(static_cast<const T*>(at[0]) + top_row * ld, columns.rows - top_row,
                                                    depth, ld);
            const auto triangle = l.block(0, 0, depth, depth), below = l.block(depth, 0, l.rows() - depth, depth);
            auto* w = static_cast<T*>(at[1]);
            const auto update_group = [&](TileColumns<T> group) {
                const TileColumns<T> a = group.row_range(top_row, columns.rows - top_row);
                const auto exchanged = dense_tile_columns(w, a.columns, depth, a.width);
                w += a.columns * depth * a.width;
                for (std::size_t i = 0; i < panels.size(); ++i) {
                    // a panel's top rows are left alone by those behind it
                    const Index first = panels[i].first - top_row, width = panels[i].width;
                    on_stream::exchange_rows<T>(stream, RowMoves(static_cast<Index*>(at[first_moves + i]), width),
                                                a.row_range(first, a.rows - first), exchanged.row_range(first, width));
                }
                const TileColumns<T> u = a.row_range(0, depth);
                if (use_inverse && *safe != 0) {
                    const auto x = View<const T>::row_major(static_cast<const T*>(at[inverses]), depth, inverted_block,
                                                            inverted_block);
                    on_stream::solve_by_inverses<T>(stream, triangle, x, exchanged, u);
                } else {
                    on_stream::solve_by_substitution<T>(stream, triangle, exchanged, u);
                }
                const TileColumns<T> trailing = a.row_range(depth, a.rows - depth);
                if constexpr (std::is_same_v<T, float>) {
                    if (split) return on_stream::update_by_pieces(stream, below, u, trailing, at[2]);
                }
                on_stream::update_trailing<T>(stream, below, u, trailing, precision);
            };
            columns.for_each_group(at.data() + first_column, at.size() - first_column, update_group);
        }));
}

// --- interchanges left of the panels ---

template <class T>
void GpuLuTasks<T>::interchange_left(int k, int next) {
    const Panel& p = panel(k);
    const bool partial = p.col_begin > 0;  // the panel's own tile column
    const Index end = p.tile_column + (partial ? 1 : 0);
    for (int g = 0; g < g_.gpus && g < end; ++g) {
        const Index count = (end - g + g_.gpus - 1) / g_.gpus;
        const bool last_is_partial = partial && g_.device_of(p.tile_column) == g;
        const Index col_end = last_is_partial ? p.col_begin : tile_width();
        AccessList data;
        data.read(moves(k)).write(g_.rest_rows[static_cast<std::size_t>(g)].region());
        if (const int opened = gate_on(g, next); opened >= 0) data.read(gate(opened));
        const std::size_t first_column = data.records().size();
        for (Index c = 0; c < count; ++c) {
            data.readwrite(matrix(g + c * g_.gpus, p.first, rows(), 0, c + 1 == count ? col_end : tile_width()));
        }
        rt_.submit({.name = "interchange",
                    .priority = patience(k, interchanges_last),
                    .tile = {k, -1, -1},
                    .step = k,
                    .place = Place::gpu(g)},
                   data,
                   on_any_device([p, first_column, columns = GpuColumns<T>{rows(), tile_width(), 0, col_end}](
                                     Stream stream, const Addresses& at) {
                       const RowMoves row_moves(static_cast<Index*>(at[0]), p.width);
                       auto* w = static_cast<T*>(at[1]);
                       columns.for_each_group(
                           at.data() + first_column, at.size() - first_column, [&](TileColumns<T> group) {
                               const TileColumns<T> a = group.row_range(p.first, columns.rows - p.first);
                               const auto exchanged = dense_tile_columns(w, a.columns, p.width, a.width);
                               on_stream::exchange_rows<T>(stream, row_moves, a, exchanged);
                               on_stream::copy_tile_columns<T>(stream, exchanged, a.row_range(0, p.width));
                               w += a.columns * p.width * a.width;
                           });
                   }));
    }
}

template class GpuLuTasks<float>;
template class GpuLuTasks<double>;

}  // namespace basalt::detail
