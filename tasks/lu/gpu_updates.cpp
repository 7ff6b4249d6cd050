// LU in the modes hybrid and gpu: what a panel does to the columns on its right and left.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/on_stream.hpp"
#include "runtime/device/gpus.hpp"
#include "runtime/engine/runtime_access.hpp"
#include "tasks/lu/gpu_tasks.hpp"

namespace basalt::detail {

namespace {

/// The interchanges of some panels in columns of A, which begin with the first panel's row: the rows that come to the
/// top go to `exchanged`. `moves`: the numbers of each panel's RowMoves.
template <class T>
void exchange_for(Stream stream, const std::vector<Panel>& panels, void* const* moves, TileColumns<T> a,
                  TileColumns<T> exchanged) {
    for (std::size_t i = 0; i < panels.size(); ++i) {
        // later panels leave this panel's top rows alone
        const Index first = panels[i].first - panels.front().first, width = panels[i].width;
        on_stream::exchange_rows<T>(stream, RowMoves(static_cast<Index*>(moves[i]), width),
                                    a.row_range(first, a.rows - first), exchanged.row_range(first, width));
    }
}

/// U = L^-1 W for the unit lower triangle of `l`, as GpuTuning::Lu::solved_at_once says. Overwrites W.
void solve_by_slices(Stream stream, View<const float> l, TileColumns<float> w, TileColumns<float> u,
                     ProductPrecision precision, void* workspace, Index at_once) {
    const Index order = l.rows();
    if (order <= at_once) return on_stream::solve_by_substitution<float>(stream, l, w, u);
    const Index top = ceil_div(ceil_div(order, 2), at_once) * at_once, rest = order - top;
    const auto solve = [&](Index first, Index rows) {
        solve_by_slices(stream, l.block(first, first, rows, rows), w.row_range(first, rows), u.row_range(first, rows),
                        precision, workspace, at_once);
    };
    solve(0, top);
    on_stream::update_by_slices(stream, l.block(top, 0, rest, top), u.row_range(0, top), w.row_range(top, rest),
                                precision, workspace, {});
    solve(top, rest);
}

}  // namespace

/// A step, or several, on some columns of a GPU: exchange of rows and U = L^-1 A right of the triangle, A -= L U below.
/// The kernels of a task, which does all of it or one of the two.
template <class T>
struct ColumnUpdate {
    std::vector<Panel> panels;
    GpuColumns<T> columns;
    Index l_ld, l_col;  ///< of L in its datum
    bool at_once;       ///< by the kernel for leading updates, where that takes them
    bool by_slices;
    ProductPrecision precision;
    Index solved_at_once;
    const char* has_safe_inverses;  ///< nullptr: there are none
    on_stream::RoomForOthers room;
    bool solves = true, multiplies = true;
    std::size_t moves = 0, inverses = 0, first_column = 0;  ///< where the task's data have them; L, rows, slices before

    void operator()(Stream stream, const DatumAddresses& at) const {
        const Index top = panels.front().first, depth = panels.back().end() - top;
        const auto l = View<const T>::row_major(static_cast<const T*>(at[0]) + top * l_ld + l_col, columns.rows - top,
                                                depth, l_ld);
        auto* w = static_cast<T*>(at[1]);
        auto left = room;
        columns.for_each_group(at.data() + first_column, at.size() - first_column, [&](TileColumns<T> group) {
            const TileColumns<T> a = group.row_range(top, columns.rows - top);
            if (at_once && on_stream::leading_update_fits<T>(stream, l, a.column(0))) {
                const RowMoves row_moves(static_cast<Index*>(at[moves]), depth);
                return on_stream::update_leading<T>(stream, l, row_moves, a.column(0));
            }
            if (solves) {
                const auto exchanged = dense_tile_columns(w, a.columns, depth, a.width);
                w += a.columns * depth * a.width;
                exchange_for(stream, panels, at.data() + moves, a, exchanged);
                solve(stream, at, l.block(0, 0, depth, depth), exchanged, a.row_range(0, depth));
            }
            if (multiplies) multiply(stream, at, l, a, left);
        });
    }

  private:
    void solve(Stream stream, const DatumAddresses& at, View<const T> triangle, TileColumns<T> w,
               TileColumns<T> u) const {
        if constexpr (std::is_same_v<T, float>) {
            if (by_slices) return solve_by_slices(stream, triangle, w, u, precision, at[2], solved_at_once);
        }
        if (has_safe_inverses == nullptr || *has_safe_inverses == 0) {
            return on_stream::solve_by_substitution<T>(stream, triangle, w, u);
        }
        const auto x = View<const T>::row_major(static_cast<const T*>(at[inverses]), triangle.rows(), inverted_block,
                                                inverted_block);
        on_stream::solve_by_inverses<T>(stream, triangle, x, w, u);
    }

    void multiply(Stream stream, const DatumAddresses& at, View<const T> l, TileColumns<T> a,
                  on_stream::RoomForOthers& left) const {
        const Index depth = l.cols();
        const View<const T> below = l.block(depth, 0, l.rows() - depth, depth);
        const TileColumns<T> u = a.row_range(0, depth), rest = a.row_range(depth, a.rows - depth);
        if constexpr (std::is_same_v<T, float>) {
            if (by_slices) {
                on_stream::update_by_slices(stream, below, u, rest, precision, at[2], left);
                left.cols -= std::min(left.cols, a.columns * a.width);
                return;
            }
        }
        on_stream::update_trailing<T>(stream, below, u, rest, precision);
    }
};

template <class T>
void GpuLuTasks<T>::update_leading(int k, int next) {
    const Panel& p = panel(next);
    const GpuColumns<T> columns = g_.in_place ? GpuColumns<T>{rows(), tile_width(), p.col_begin, p.col_end()}
                                              : GpuColumns<T>{rows(), g_.nb, 0, p.width};
    submit_update(of_panel(k), {.gpu = geometry_.owner(next), .leading = true, .gate = next, .cols = p.width}, columns,
                  [&](AccessList& data) { data.readwrite(panel_rows(next, panel(k).first, rows())); });
}

template <class T>
void GpuLuTasks<T>::update_rest(int k, const ColumnPlace& first, const ColumnPlace& end, std::optional<int> next) {
    if (k == 0) return update_one_by_one(of_panel(k), first, end, next);
    update_columns(of_panel(k), first, end, next);
}

template <class T>
void GpuLuTasks<T>::update_beyond(int k, int next) {
    const PanelBlock& block = block_of(k);
    rt_.broadcast(block_rows(k), patience(k, block_of_panels), k);
    update_one_by_one({block.first, block.last, block_rows(k), g_.block_width, 0, block_of_panels}, reach(k),
                      end_of_group(), next);
}

template <class T>
void GpuLuTasks<T>::gather(int k) {
    const Panel& p = panel(k);
    const int gpu = geometry_.owner(k);
    const bool first = block_of(k).first == k;
    AccessList data;
    data.read(panel_rows(k)).read(moves(k)).write(g_.buffers.rest_rows[static_cast<std::size_t>(gpu)].region());
    if (first) {
        data.write(block_rows(k));
    } else {
        data.readwrite(block_rows(k));
    }
    const Index done = p.first - panel(block_of(k).first).first;
    rt_.submit(
        {.name = "gather", .priority = patience(k, block_of_panels), .tile = {k}, .step = k, .place = Place::gpu(gpu)},
        data,
        on_any_device(
            [p, done, rows = rows(), nb = g_.nb, ld = g_.block_width](Stream stream, const DatumAddresses& at) {
                const auto l =
                    View<const T>::row_major(static_cast<const T*>(at[0]) + p.first * nb, rows - p.first, p.width, nb);
                const RowMoves row_moves(static_cast<Index*>(at[1]), p.width);
                T* const block = static_cast<T*>(at[3]) + p.first * ld;
                if (done > 0) {
                    const auto before = one_tile_column(View<T>::row_major(block, rows - p.first, done, ld));
                    const auto exchanged = dense_tile_columns(static_cast<T*>(at[2]), 1, p.width, done);
                    on_stream::exchange_rows<T>(stream, row_moves, before, exchanged);
                    on_stream::copy_tile_columns<T>(stream, exchanged, before.row_range(0, p.width));
                }
                on_stream::copy_elements<T>(stream, l, View<T>::row_major(block + done, rows - p.first, p.width, ld));
            }));
}

/// The same as update_columns(), a task for each tile column: of an array on the host, later ones may still be on their
/// way, and what is updated first leaves first.
template <class T>
void GpuLuTasks<T>::update_one_by_one(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end,
                                      std::optional<int> next) {
    // products by slices leave room for a panel by the width of the whole update
    if (slices_are_chosen()) return update_columns(factors, first, end, next);
    for (ColumnPlace from = first; from.tile_column < end.tile_column; from = {from.tile_column + 1, 0}) {
        update_columns(factors, from, {from.tile_column + 1, 0}, next);
    }
    if (end.col > 0) {
        const Index col = first.tile_column == end.tile_column ? first.col : 0;
        update_columns(factors, {end.tile_column, col}, end, next);
    }
}

/// The step of the factors' panels on columns of the group from `first` to `end`.
template <class T>
void GpuLuTasks<T>::update_columns(const Factors& factors, const ColumnPlace& first, const ColumnPlace& end,
                                   std::optional<int> next) {
    const Index begin = std::max(first.tile_column, group_.first);
    const bool cut = end.tile_column < group_.last && end.col > 0;  // in the last tile column
    const Index last = std::min(end.tile_column, group_.last) - (cut ? 0 : 1);
    for (int g = 0; g < geometry_.gpus(); ++g) {
        const std::vector<Index> mine = geometry_.columns_of(g, begin, last + 1);
        if (mine.empty()) continue;
        const auto count = static_cast<Index>(mine.size());
        const Index col_begin = mine.front() == first.tile_column ? first.col : 0;
        const Index col_end = cut && mine.back() == last ? end.col : tile_width();
        if (count == 1 && col_begin >= col_end) continue;
        const GpuColumns<T> columns{rows(), tile_width(), col_begin, col_end};
        const Index cols = (count - 1) * tile_width() + col_end - col_begin;
        submit_update(factors, {.gpu = g, .gate = gate_on(g, next), .cols = cols}, columns, [&](AccessList& data) {
            for (const Index j : mine) {
                data.readwrite(matrix(j, panel(factors.first).first, rows(), j == mine.front() ? col_begin : 0,
                                      j == mine.back() ? col_end : tile_width()));
            }
        });
    }
}

/// The gate that the rest of a GPU's work waits for, where this GPU factors panel `next`: it opens behind the leading
/// update, so that the panel finds free multiprocessors, or behind the panel where that goes alone.
template <class T>
std::optional<int> GpuLuTasks<T>::gate_on(int gpu, std::optional<int> next) const {
    return next && on_gpu(*next) && geometry_.owner(*next) == gpu ? next : std::nullopt;
}

/// Whether a product of these dimensions is made by slices. On emulated devices all that may be are.
template <class T>
bool GpuLuTasks<T>::by_slices(Index rows, Index depth, Index cols) const {
    if (!slices_are_chosen()) return false;
    if (gpus_of(rt_).device(0).emulated()) return true;
    return worth_splitting(rt_.tuning().gpu.lu.splitting, rows, depth, cols);
}

/// What an update by slices, with these dimensions of L, leaves to the panel that is factored at the same time: some
/// multiprocessors, until it is expected to end.
template <class T>
on_stream::RoomForOthers GpuLuTasks<T>::room_for_panel(const Part& part, Index rows_below, Index depth) const {
    if (part.leading || !part.gate) return {};
    const Panel& next = panel(*part.gate);
    const GpuTuning::Lu::PanelRoom& room = rt_.tuning().gpu.lu.panel_room;
    const auto count = [](Index n) { return static_cast<double>(n); };
    const double panel_seconds =
        count(next.width) * (room.column_seconds + count(rows() - next.first) * room.element_seconds);
    const int products = slice_products(slicing_of(choices_.products).count);
    const double column_seconds = products * count(rows_below * depth) / room.multiplications_a_second;
    if (!(column_seconds > 0)) return {};
    return {static_cast<Index>(std::min(std::ceil(panel_seconds / column_seconds), 1e9)), room.multiprocessors};
}

/// Columns of a GPU, see ColumnUpdate. add_columns(data) adds the accesses to them.
/// GpuTuning::Lu::early_solves_from says where solving has a task of its own.
template <class T>
template <class F>
void GpuLuTasks<T>::submit_update(const Factors& factors, const Part& part, const GpuColumns<T>& columns,
                                  const F& add_columns) {
    const std::vector<Panel> panels(s_.panels.begin() + factors.first, s_.panels.begin() + factors.last);
    const int k = factors.last - 1;
    const Index depth = panels.back().end() - panels.front().first;
    const GpuTuning::Lu& lu = rt_.tuning().gpu.lu;
    const Index rows_below = rows() - panels.back().end();
    const bool split = by_slices(rows_below, depth, part.cols);
    const bool use_inverse = !split && choices_.solve_by_inverse && !on_gpu(k);
    // inverses, products by slices and TF32 have kernels of their own
    const bool in_tf32 = choices_.products == ProductPrecision::tf32;
    ColumnUpdate<T> update{
        .panels = panels,
        .columns = columns,
        .l_ld = factors.ld,
        .l_col = factors.col,
        .at_once = part.leading && !use_inverse && !split && !in_tf32 && rows_below <= lu.leading_rows,
        .by_slices = split,
        .precision = split     ? choices_.products
                     : in_tf32 ? ProductPrecision::tf32
                               : ProductPrecision::plain,
        .solved_at_once = is_single_in_lu(choices_.products) ? lu.solved_at_once : depth,
        .has_safe_inverses = use_inverse ? &g_.inverse_is_safe[static_cast<std::size_t>(k)] : nullptr,
        .room = split ? room_for_panel(part, rows_below, depth) : on_stream::RoomForOthers{}};
    const bool is_gated = part.gate && !part.leading;
    if (!is_gated || split || g_.block_width > 0 || rows_below < lu.early_solves_from) {
        return submit(update, part.leading ? TaskName("update leading") : TaskName("update"), factors, part,
                      add_columns);
    }
    update.multiplies = false;
    submit(update, "solve", factors, part, add_columns);
    std::swap(update.solves, update.multiplies);
    submit(update, "update", factors, part, add_columns);
}

/// A task of an update. Products open or wait for the gate.
template <class T>
template <class F>
void GpuLuTasks<T>::submit(ColumnUpdate<T>& update, TaskName name, const Factors& factors, const Part& part,
                           const F& add_columns) {
    const int k = factors.last - 1;
    const auto device = static_cast<std::size_t>(part.gpu);
    const GpuLuBuffers<T>& buffers = g_.buffers;
    AccessList data;
    data.read(factors.l);
    data.write((part.leading ? buffers.lead_rows : buffers.rest_rows)[device].region());
    data.write((part.leading ? buffers.lead_slices : buffers.rest_slices)[device].region());
    update.moves = data.records().size();
    for (int i = factors.first; i < factors.last; ++i) data.read(moves(i));
    update.inverses = data.records().size();
    if (update.has_safe_inverses != nullptr) data.read(inverse(k));
    if (part.gate && part.leading) data.write(gate(*part.gate));
    if (part.gate && !part.leading && update.multiplies) data.read(gate(*part.gate));
    update.first_column = data.records().size();
    add_columns(data);
    rt_.submit({.name = name,
                .priority = part.leading ? urgent : patience(k, factors.patience),
                .tile = {k},
                .step = k,
                .place = Place::gpu(part.gpu)},
               data, on_any_device(update));
}

// --- interchanges left of the panels ---

template <class T>
void GpuLuTasks<T>::interchange_left(int k, std::optional<int> next) {
    const Panel& p = panel(k);
    const bool partial = p.col_begin > 0;  // the panel's own tile column
    const Index end = p.tile_column + (partial ? 1 : 0);
    for (int g = 0; g < geometry_.gpus(); ++g) {
        const std::vector<Index> mine = geometry_.columns_of(g, 0, end);
        if (mine.empty()) continue;
        const Index col_end = partial && mine.back() == p.tile_column ? p.col_begin : tile_width();
        AccessList data;
        data.read(moves(k)).write(g_.buffers.rest_rows[static_cast<std::size_t>(g)].region());
        if (const auto opened = gate_on(g, next)) data.read(gate(*opened));
        const std::size_t first_column = data.records().size();
        for (const Index j : mine) {
            data.readwrite(matrix(j, p.first, rows(), 0, j == mine.back() ? col_end : tile_width()));
        }
        rt_.submit({.name = "interchange",
                    .priority = patience(k, interchanges_last),
                    .tile = {k},
                    .step = k,
                    .place = Place::gpu(g)},
                   data,
                   on_any_device([p, first_column, columns = GpuColumns<T>{rows(), tile_width(), 0, col_end}](
                                     Stream stream, const DatumAddresses& at) {
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
template void GpuLuTasks<float>::update_leading(int, int);
template void GpuLuTasks<float>::update_rest(int, const ColumnPlace&, const ColumnPlace&, std::optional<int>);
template void GpuLuTasks<float>::gather(int);
template void GpuLuTasks<float>::update_beyond(int, int);
template void GpuLuTasks<float>::interchange_left(int, std::optional<int>);
template void GpuLuTasks<double>::update_leading(int, int);
template void GpuLuTasks<double>::update_rest(int, const ColumnPlace&, const ColumnPlace&, std::optional<int>);
template void GpuLuTasks<double>::gather(int);
template void GpuLuTasks<double>::update_beyond(int, int);
template void GpuLuTasks<double>::interchange_left(int, std::optional<int>);

}  // namespace basalt::detail
