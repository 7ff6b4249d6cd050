// QR in the modes hybrid and gpu: the loop nest.
#include "tasks/qr_on_gpus.hpp"

#include <algorithm>
#include <vector>

#include "kernels/cpu/block_reflector.hpp"
#include "kernels/cpu/qr_columns.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/column_groups.hpp"
#include "tasks/gang_panel.hpp"
#include "tasks/gpu_qr_state.hpp"

namespace basalt::detail {

namespace {

template <class T>
class GpuQrSubmission {
  public:
    GpuQrSubmission(QrState<T>& state, GpuQrState<T>& on_gpus, const QrChoices& choices)
        : s_(state), g_(on_gpus), rt_(state.runtime), choices_(choices), groups_(*state.a, g_.fitting) {}

    void submit() {
        for (std::size_t g = 0; g < groups_.count(); ++g) {
            group_ = groups_[g];
            groups_.enter(g);
            // what lies left of the group, in the order in which it was factored
            for (int k = 0; k < first_panel(group_.first); ++k) {
                reload(k);
                broadcast(k);
                update_rest(k, {group_.first, 0, 0});
            }
            groups_.expect_next();
            factor_group();
            groups_.final_before(group_.last);
        }
    }

  private:
    // --- the loop nest ---

    bool on_gpu(int k) const { return choices_.on_gpu(panel(k), rows()); }

    void factor_group() {
        const int begin = first_panel(group_.first), end = first_panel(group_.last);
        if (begin == end) return;
        take_out(begin);
        factor(begin);  // A(k:, k) = (I - V T V^T) (R, 0)^T
        for (int k = begin; k < end; ++k) {
            broadcast(k);
            const int next = k + 1;
            if (next < end) {
                update_leading(k, next);  // A(k:, j) = (I - V T^T V^T) A(k:, j)
                take_out(next);
                factor(next);
                update_rest(k, behind(next), next);
            } else {
                update_rest(k, behind(k));
            }
            put_back(k);
            groups_.final_before(behind(k).tile_column);
        }
    }

    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    Index rows() const { return s_.grid().rows(); }
    Index tile_width() const { return s_.grid().shape().width; }

    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const { return detail::first_panel(s_.panels, tile_column); }

    /// Where the columns right of panel k begin.
    Columns behind(int k) const {
        const Panel& p = panel(k);
        // the last panel of a matrix with fewer rows than columns may end inside a tile column
        if (p.col_end() < tile_width()) return {p.tile_column, p.col_end(), tile_width()};
        return {p.tile_column + 1, 0, 0};
    }

    // --- data on their way ---

    static std::size_t slot(int k) { return static_cast<std::size_t>(k % GpuQrState<T>::panel_slots); }
    Region<T> panel_rows(int k) const {
        const Panel& p = panel(k);
        if (g_.in_place) return s_.region(p, p.first, rows());
        return g_.panels[slot(k)].rows(p.first, rows(), p.width);
    }
    Region<T> r(int k) const { return g_.r[slot(k)].rows(0, panel(k).width, panel(k).width); }
    Region<Index> taken_out(int k) const { return g_.taken_out[static_cast<std::size_t>(k)].region(); }
    Region<Index> factored(int k) const { return g_.factored[static_cast<std::size_t>(k)].region(); }
    Place device_of(Index tile_column) const { return Place::gpu(g_.device_of(tile_column)); }
    Region<T> matrix(Index tile_column, Index row_begin, Index col_begin, Index col_end) const {
        return s_.a->template region<T>(tile_column, row_begin, rows(), col_begin, col_end);
    }

    void broadcast(int k) {
        if (!g_.in_place) rt_.broadcast(panel_rows(k), urgent, k);
        for (int g = 0; g < g_.gpus; ++g) rt_.prefetch(s_.t_of(k), Place::gpu(g), urgent, k);
    }

    /// V of an earlier group's panel, out of its factors, to one GPU.
    void reload(int k) {
        const Panel& p = panel(k);
        const int gpu = k % g_.gpus;
        rt_.engine().submit_fetch({.name = "reload", .priority = urgent, .tile = {k, -1, -1}, .step = k},
                                  read(s_.region(p, p.first, rows())).record, write(panel_rows(k)).record, gpu);
        rt_.submit({.name = "explicit V", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::gpu(gpu)},
                   readwrite(g_.panels[slot(k)].rows(p.first, p.end(), p.width)),
                   on_any_device([](Stream stream, View<T> v) { on_stream::explicit_reflectors<T>(stream, v, v); }));
    }

    /// Column panel j leaves the matrix for whoever factors it, unless that is done where it lies.
    void take_out(int j) {
        if (g_.in_place) return;
        const Panel& p = panel(j);
        rt_.submit(
            {.name = "take out", .priority = urgent, .tile = {j, -1, -1}, .step = j, .place = device_of(p.tile_column)},
            read(s_.region(p, p.first, rows())), write(panel_rows(j)), write(taken_out(j)),
            on_any_device([](Stream stream, View<const T> a, View<T> to, View<Index>) {
                on_stream::copy_elements<T>(stream, a, to);
            }));
        if (!on_gpu(j)) rt_.prefetch(panel_rows(j), Place::cpu(), urgent, j);
    }

    /// The factors go to their place in the matrix; of a panel that never left it R does.
    void put_back(int k) {
        const Panel& p = panel(k);
        if (g_.in_place) {
            rt_.submit({.name = "put R", .tile = {k, -1, -1}, .step = k, .place = device_of(p.tile_column)}, read(r(k)),
                       readwrite(s_.region(p, p.first, p.end())),
                       on_any_device([](Stream stream, View<const T> r, View<T> a) {
                           on_stream::store_reflectors<T>(stream, a, r, a);
                       }));
            return;
        }
        rt_.submit({.name = "put back", .tile = {k, -1, -1}, .step = k, .place = device_of(p.tile_column)},
                   read(panel_rows(k)), read(r(k)), write(s_.region(p, p.first, rows())),
                   on_any_device([](Stream stream, View<const T> v, View<const T> r, View<T> a) {
                       on_stream::store_reflectors<T>(stream, v, r, a);
                   }));
    }

    // --- panels ---

    void factor(int k) {
        if (on_gpu(k)) {
            factor_on_gpu(k);
        } else {
            factor_on_cores(k);
        }
    }

    void factor_on_cores(int k) {
        rt_.submit(
            gang_panel(k, choices_.panel_threads_for(rows() - panel(k).first), urgent + 1), readwrite(panel_rows(k)),
            write(r(k)), write(s_.t_of(k)), [g = &g_](const Team& team, View<T> a, View<T> r, View<T> t) {
                const auto v =
                    View<T>::column_major(static_cast<T*>(g->v.data()), a.rows(), a.cols(), line_padded<T>(a.rows()));
                qr_panel_load<T>(team, a, v);
                qr_panel_factor<T>(team, v, r, t, g->workspace);
                qr_panel_store_explicit<T>(team, v, a);
            });
    }

    void factor_on_gpu(int k) {
        const Panel& p = panel(k);
        const ScratchMatrix<T>& workspace = g_.panel_workspaces[static_cast<std::size_t>(g_.device_of(p.tile_column))];
        rt_.submit(
            {.name = "panel", .priority = urgent + 1, .tile = {k, k, -1}, .step = k, .place = device_of(p.tile_column)},
            readwrite(panel_rows(k)), write(r(k)), write(s_.t_of(k)), write(workspace.region()), write(factored(k)),
            on_any_device([wide_leaves_from = rt_.tuning().gpu.qr.wide_leaves_from](
                              Stream stream, View<T> a, View<T> r, View<T> t, View<T> memory, View<Index>) {
                on_stream::qr_panel_factor<T>(stream, a, r, t, wide_leaves_from, memory.data());
            }));
    }

    // --- updates ---

    /// The step on the columns of the next panel alone, so that it can be factored first.
    void update_leading(int k, int next) {
        const Panel& p = panel(next);
        submit_update(k, {p.tile_column}, p.col_begin, p.col_end(), g_.device_of(p.tile_column),
                      g_.in_place ? next : -1, true);
    }

    /// Whether a GPU that factors the panel updates nothing meanwhile.
    bool goes_alone(int k) const { return s_.grid().cols() - panel(k).first < choices_.panels_alone_below; }

    /// The step on all columns of the group from `first` on, a task for each GPU. `next`: the panel that was taken out,
    /// or -1. The GPU that factors it begins its own update behind that: when the panel is done where it goes alone,
    /// otherwise when it finds multiprocessors that are free.
    void update_rest(int k, const Columns& first, int next = -1) {
        const Index begin = std::max(first.tile_column, group_.first);
        for (int g = 0; g < g_.gpus; ++g) {
            const std::vector<Index> mine = g_.deal.of_gpu(g, begin, group_.last);
            if (mine.empty()) continue;
            const Index col_begin = mine.front() == first.tile_column ? first.col_begin : 0;
            const bool waits = next >= 0 && on_gpu(next) && g_.device_of(panel(next).tile_column) == g;
            submit_update(k, mine, col_begin, tile_width(), g, waits ? next : -1, false);
        }
    }

    /// Whether an update's products are made by pieces. On emulated devices all are that may be.
    bool in_pieces(Index rows, Index depth, Index cols) const {
        return g_.by_pieces &&
               (rt_.engine().device(0).emulated() || worth_splitting(rt_.tuning().gpu.qr.splitting, rows, depth, cols));
    }

    /// Step k on the GPU's tile columns, the first from col_begin. `next`: the panel whose gate it opens (leading) or
    /// waits for, or -1.
    void submit_update(int k, const std::vector<Index>& tile_columns, Index col_begin, Index col_end, int gpu, int next,
                       bool leading) {
        const Panel& p = panel(k);
        const auto device = static_cast<std::size_t>(gpu);
        const ScratchMatrix<T>& workspace = leading ? g_.leading_workspaces[device] : g_.rest_workspaces[device];
        AccessList data;
        data.read(panel_rows(k)).read(s_.t_of(k)).write(workspace.region());
        if (next >= 0 && leading) data.write(taken_out(next));
        if (next >= 0 && !leading) data.read(goes_alone(next) ? factored(next) : taken_out(next));
        const std::size_t first_column = next >= 0 ? 4 : 3;
        for (const Index j : tile_columns) {
            const bool first = j == tile_columns.front();
            data.readwrite(matrix(j, p.first, first ? col_begin : 0, first ? col_end : tile_width()));
        }
        const GpuColumns<T> columns{rows(), tile_width(), col_begin, col_end};
        const bool by_pieces =
            in_pieces(rows() - p.first, p.width, static_cast<Index>(tile_columns.size()) * tile_width());
        rt_.submit(
            {.name = leading ? TaskName("update leading") : TaskName("update"),
             .priority = leading ? urgent : -k - 1,
             .tile = {k, static_cast<int>(tile_columns.front()), -1},
             .step = k,
             .place = Place::gpu(gpu)},
            data,
            on_any_device([=, v_region = panel_rows(k), t_region = s_.t_of(k)](Stream stream, const Addresses& at) {
                const View<const T> v = read(v_region).view(at[0]), t = read(t_region).view(at[1]);
                columns.for_each_group(at.data() + first_column, at.size() - first_column, [&](TileColumns<T> group) {
                    on_stream::reflect_columns<T>(stream, v, t, group.row_range(p.first, columns.rows - p.first),
                                                  static_cast<T*>(at[2]), by_pieces);
                });
            }));
    }

    /// Above 0: on streams of high priority.
    static constexpr int urgent = 1;

    QrState<T>& s_;
    GpuQrState<T>& g_;
    Runtime& rt_;
    const QrChoices choices_;
    ColumnGroups groups_;
    ColumnGroup group_{};
};

}  // namespace

template <class T>
void submit_qr_on_gpus(QrState<T>& state, const QrChoices& choices) {
    if (state.panels.empty()) return;
    state.on_gpus = std::make_shared<GpuQrState<T>>(state, choices);
    GpuQrSubmission<T>(state, *state.on_gpus, choices).submit();
}

template void submit_qr_on_gpus(QrState<float>&, const QrChoices&);
template void submit_qr_on_gpus(QrState<double>&, const QrChoices&);

}  // namespace basalt::detail
