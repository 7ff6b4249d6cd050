// LU in the modes hybrid and gpu: the loop nest.
#include "tasks/lu_on_gpus.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/row_swap.hpp"
#include "kernels/cpu/triangle_inverse.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/gpu_lu_state.hpp"
#include "tasks/lu_interchanges.hpp"

namespace basalt::detail {

namespace {

// Multiplying by the inverse X of a triangle instead of solving costs accuracy as far as |X| exceeds 1. Volkov and
// Demmel (section 5) name the rule, a plain solve where X is too large in norm; the bound was measured: blocks of
// random matrices stay below 3, while growth matrices reach 2^31 (docs/decisions/0009-hybrid-lu.md).
constexpr double largest_inverse = 16;

// Smaller products are not worth the pieces: docs/decisions/0010-lu-on-gpus.md.
constexpr Index least_split_depth = 256, least_split_volume = Index{1} << 33;

template <class T>
class GpuLuSubmission {
  public:
    GpuLuSubmission(LuState<T>& state, GpuLuState<T>& on_gpus, const LuChoices& choices)
        : s_(state), g_(on_gpus), rt_(state.runtime), choices_(choices), slot_(state.panels.size(), -1) {}

    void submit() {
        const std::vector<ColumnGroup> groups = g_.column_groups();
        tops_.resize(s_.panels.size());
        pin_what_is_at_home();
        if (!groups.empty()) bring_to_devices(groups.front());
        for (std::size_t g = 0; g < groups.size(); ++g) {
            const ColumnGroup& group = group_ = groups[g];
            // what lies left of the group, in the order in which it was factored
            for (int k = 0; k < first_panel(group.first); ++k) {
                reload(k);
                broadcast(k);
                update_rest(k, {group.first, 0, 0});
            }
            if (g + 1 < groups.size()) bring_to_devices(groups[g + 1]);
            factor_group();
        }
        if (choices_.left_interchanges && g_.out_of_core()) {
            // the columns are at home, and one pass over them is cheaper than two transfers
            for (int k = 0; k + 1 < steps(); ++k) submit_interchange_left(s_, k);
        }
    }

  private:
    // --- the loop nest ---

    /// Whether a GPU factors panel k, not the cores.
    bool on_gpu(int k) const {
        // the first one before there is anything that the GPUs could do meanwhile
        return g_.gpu_panels_below > 0 && (k == 0 || rows() - panel(k).first <= g_.gpu_panels_below);
    }

    void factor_group() {
        const int begin = first_panel(group_.first);
        const int end = first_panel(group_.last);
        const int ahead = std::max(choices_.lookahead, 1);
        const bool separate = choices_.lookahead > 0 && !choices_.single_update_task;
        for (int j = begin; j < std::min(begin + ahead, end); ++j) {
            take_out(j, panel(begin).first, urgent);
            send_to_cores(j);
        }
        if (separate && begin + ahead < end) take_out(begin + ahead, panel(begin).first, 0);
        for (int k = begin; k < end; ++k) {
            if (on_gpu(k)) {
                factor_on_gpu(k);
            } else {
                factor(k);   // A(k:, k) = P L U on cores
                prepare(k);  // L(k, k)^-1 and what the interchanges move
            }
            broadcast(k);
            for (int j = k + 1; j < std::min(k + ahead, end); ++j) update_on_cores(k, j);
            const int next = k + ahead;  // the column panel whose turn comes
            if (next >= end) {
                update_rest(k, behind(end - 1));
            } else if (separate) {
                update_leading(k, next);
                send_to_cores(next);
                update_rest(k, behind(next), next);
                // the one behind it, as soon as its columns are up to date: nobody waits for that copy
                if (next + 1 < end) take_out(next + 1, panel(k + 1).first, patience(k, 2));
            } else {
                update_rest(k, behind(next - 1));
                take_out(next, panel(k).end(), urgent);
                send_to_cores(next);
            }
            put_back(k);
            if (choices_.left_interchanges && !g_.out_of_core()) interchange_left(k, separate && next < end ? next : -1);
        }
    }

    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    int steps() const { return static_cast<int>(s_.panels.size()); }
    Index rows() const { return s_.grid().rows(); }
    Index tile_width() const { return s_.grid().shape().width; }

    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const {
        const auto it = std::partition_point(s_.panels.begin(), s_.panels.end(),
                                             [&](const Panel& p) { return p.tile_column < tile_column; });
        return static_cast<int>(it - s_.panels.begin());
    }

    /// Where the columns right of panel k begin.
    Columns behind(int k) const {
        const Panel& p = panel(k);
        // the last panel may end inside a tile column: of fewer rows than columns, or of columns that do not fill it
        if (p.col_end() < tile_width()) return {p.tile_column, p.col_end(), tile_width()};
        return {p.tile_column + 1, 0, 0};
    }

    // --- data on their way ---

    std::size_t slot(int k) const { return static_cast<std::size_t>(slot_[static_cast<std::size_t>(k)]); }
    void take_slot(int k) { slot_[static_cast<std::size_t>(k)] = static_cast<int>(slots_taken_++ % g_.panel_slots); }
    Region<T> panel_rows(int k, Index begin, Index end) const {
        return g_.panels[slot(k)].rows(begin, end, panel(k).width);
    }
    Region<T> panel_rows(int k) const { return panel_rows(k, panel(k).first, rows()); }
    Region<T> inverse(int k) const {
        return g_.inverses[static_cast<std::size_t>(k)].rows(0, panel(k).width, inverted_block);
    }
    Region<Index> moves(int k) const { return g_.moves[static_cast<std::size_t>(k)].rows(0, 2 * panel(k).width, 1); }
    Region<Index> result(int k) const { return g_.results[static_cast<std::size_t>(k)].rows(0, panel(k).width + 1, 1); }
    Region<Index> gate(int k) const { return g_.gates[static_cast<std::size_t>(k)].region(); }
    Place device_of(Index tile_column) const { return Place::gpu(g_.device_of(tile_column)); }
    Region<T> matrix(Index tile_column, Index row_begin, Index row_end, Index col_begin, Index col_end) const {
        return s_.a->template region<T>(tile_column, row_begin, row_end, col_begin, col_end);
    }

    void pin_what_is_at_home() {
        for (Index j = 0; j < s_.grid().tile_cols(); ++j) {
            if (g_.out_of_core() || rt_.engine().at_home(*s_.a->datum(j))) return s_.a->pin();
        }
    }

    void bring_to_devices(const ColumnGroup& group) {
        if (group.first == 0) s_.a->make_room_on_gpus(std::min(g_.group_columns, s_.grid().tile_cols()));
        for (Index j = group.first; j < group.last; ++j) {
            rt_.prefetch(matrix(j, 0, rows(), 0, tile_width()), device_of(j));
        }
    }

    void broadcast(int k) {
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

    /// A panel of an earlier group, from where its factors lie now.
    void reload(int k) {
        take_slot(k);
        const Panel& p = panel(k);
        const int threads = std::min(rt_.workers(), rt_.tuning().cpu.copying_threads);
        rt_.submit({.name = "reload", .priority = urgent, .threads = {1, threads}, .tile = {k, -1, -1}, .step = k,
                    .place = Place::cpu()},
                   read(s_.region(p, p.first, rows())), write(panel_rows(k)),
                   [](const Team& team, View<const T> a, View<T> to) { copy_share(team, a, to); });
    }

    static void copy_share(const Team& team, View<const T> a, View<T> to) {
        const Index begin = a.rows() * team.rank() / team.size();
        const Index end = a.rows() * (team.rank() + 1) / team.size();
        copy_elements<T>(a.block(begin, 0, end - begin, a.cols()), to.block(begin, 0, end - begin, a.cols()));
    }

    /// Column panel j leaves the matrix for its own buffer, from row `top` on.
    void take_out(int j, Index top, int priority) {
        take_slot(j);
        const Panel& p = panel(j);
        rt_.submit({.name = "take out", .priority = priority, .tile = {j, -1, -1}, .step = j,
                    .place = device_of(p.tile_column)},
                   read(s_.region(p, top, rows())), write(panel_rows(j, top, rows())),
                   on_any_device([](Stream stream, View<const T> a, View<T> to) {
                       on_stream::copy_elements<T>(stream, a, to);
                   }));
        tops_[static_cast<std::size_t>(j)] = top;
    }

    void send_to_cores(int j) const {
        if (!on_gpu(j)) rt_.prefetch(panel_rows(j), Place::cpu(), urgent, j);
    }

    /// The factors return to their place in the matrix.
    void put_back(int k) {
        const Panel& p = panel(k);
        const Index top = tops_[static_cast<std::size_t>(k)];
        rt_.submit({.name = "put back", .priority = patience(k, 0), .tile = {k, -1, -1}, .step = k, .place = device_of(p.tile_column)},
                   read(panel_rows(k, top, rows())), readwrite(s_.region(p, top, rows())),
                   on_any_device([](Stream stream, View<const T> from, View<T> a) {
                       on_stream::copy_elements<T>(stream, from, a);
                   }));
    }

    // --- on cores ---

    void factor(int k) {
        const Panel& p = panel(k);
        const int threads = choices_.panel_threads_for(rows() - p.first);
        rt_.submit({.name = "panel", .priority = urgent + 1, .threads = {threads, threads}, .tile = {k, k, -1},
                    .step = k, .place = Place::cpu()},
                   readwrite(panel_rows(k)), write(s_.pivots_of(p)),
                   [s = &s_, k](const Team& member, View<T> a, View<Index> pivots) {
                       Team team = member;
                       const Index info = panel_factor(team, a, pivots.data(), s->workspace);
                       if (team.rank() == 0) s->panel_info[static_cast<std::size_t>(k)] = info;
                   });
    }

    void prepare(int k) {
        const Panel& p = panel(k);
        rt_.submit({.name = "inverse", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::cpu()},
                   read(panel_rows(k, p.first, p.end())), write(inverse(k)),
                   [safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)]](View<const T> l, View<T> x) {
                       *safe = 1;
                       for (Index b = 0; b < l.rows(); b += inverted_block) {
                           const Index order = std::min(inverted_block, l.rows() - b);
                           double norms[2] = {};
                           cpu_kernels::invert_unit_lower<T>(l.block(b, b, order, order),
                                                             x.block(b, 0, order, order), norms);
                           if (!(norms[0] <= largest_inverse)) *safe = 0;  // also where it is NaN
                       }
                   });
        rt_.submit({.name = "row moves", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::cpu()},
                   read(s_.pivots_of(p)), write(moves(k)), [](View<const Index> pivots, View<Index> numbers) {
                       cpu_kernels::find_row_moves(pivots.data(), RowMoves(numbers.data(), pivots.rows()));
                   });
    }

    /// A(k:, j) = step k of column panel j, which the cores have: lookahead deeper than one.
    void update_on_cores(int k, int j) {
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
            rt_.submit({.name = "update", .priority = urgent, .tile = {k, j, static_cast<int>(begin / update_rows)},
                        .step = k, .place = Place::cpu()},
                       read(panel_rows(k, begin, end)), read(packed.region()), readwrite(panel_rows(j, begin, end)),
                       [](View<const T> l, View<const T> u, View<T> a) { gemm_minus(a, l, u.data()); });
        }
    }

    // --- on GPUs ---

    /// A(k:, k) = P L U on the GPU that has the columns, and what the interchanges move; pivots and INFO to the host,
    /// for which no GPU waits.
    void factor_on_gpu(int k) {
        const Panel& p = panel(k);
        const auto gpu = static_cast<std::size_t>(g_.device_of(p.tile_column));
        const ScratchMatrix<Index>& workspace = g_.panel_workspaces[gpu];
        const auto* const designs = &rt_.engine().device(g_.device_of(p.tile_column)).tuning().panels;
        rt_.submit({.name = "panel", .priority = urgent + 1, .tile = {k, k, -1}, .step = k,
                    .place = device_of(p.tile_column)},
                   readwrite(panel_rows(k)), write(result(k)), write(workspace.region()), write(moves(k)),
                   write(g_.logs.empty() ? workspace.rows(0, 0, 0) : g_.logs.region(k)),
                   on_any_device([designs](Stream stream, View<T> a, View<Index> numbers, View<Index> memory,
                                           View<Index> to, View<Index> log) {
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

    /// The step on the next panel alone, in its buffer, so that it can be factored first.
    void update_leading(int k, int next) {
        const Panel& p = panel(next);
        const GpuColumns<T> columns{rows(), g_.nb, 0, p.width};
        submit_update(k, {.gpu = g_.device_of(p.tile_column), .leading = true, .gate = next, .cols = p.width}, columns,
                      [&](AccessList& data) { data.readwrite(panel_rows(next, panel(k).first, rows())); });
    }

    /// The step on all columns of the group from `first` on, a task for each GPU. `next`: the panel whose leading update
    /// precedes, or -1.
    void update_rest(int k, const Columns& first, int next = -1) {
        const Index begin = std::max(first.tile_column, group_.first);
        for (int g = 0; g < g_.gpus; ++g) {
            const Index ahead = (g - g_.device_of(begin) + g_.gpus) % g_.gpus;
            const Index mine = begin + ahead;
            if (mine >= group_.last) continue;
            const Index count = (group_.last - mine + g_.gpus - 1) / g_.gpus;
            const Index col_begin = ahead == 0 && begin == first.tile_column ? first.col_begin : 0;
            const GpuColumns<T> columns{rows(), tile_width(), col_begin, tile_width()};
            submit_update(k, {.gpu = g, .gate = gate_on(g, next), .cols = count * tile_width() - col_begin}, columns,
                          [&](AccessList& data) {
                              for (Index c = 0; c < count; ++c) {
                                  data.readwrite(matrix(mine + c * g_.gpus, panel(k).first, rows(), c == 0 ? col_begin : 0,
                                                        tile_width()));
                              }
                          });
        }
    }

    /// Where a GPU factors panel `next`, the rest of its work begins behind the leading update, so that the panel finds
    /// multiprocessors that are free: the number of the gate that tells, or -1.
    int gate_on(int gpu, int next) const {
        return next >= 0 && on_gpu(next) && g_.device_of(panel(next).tile_column) == gpu ? next : -1;
    }

    /// Whether a product of these dimensions is made by pieces. On emulated devices all are that may be.
    bool by_pieces(Index rows, Index depth, Index cols) const {
        if (!std::is_same_v<T, float> || !choices_.split_products || choices_.tf32) return false;
        if (rt_.engine().device(0).emulated()) return true;
        return depth >= least_split_depth && rows * depth * cols >= least_split_volume;
    }

    /// One GPU's part of a step.
    struct Part {
        int gpu;
        bool leading = false;
        int gate;  ///< which it opens, if leading, and otherwise waits for; or -1
        Index cols;
    };

    /// Step k on columns of a GPU: exchange of rows, U(k, j) = L(k, k)^-1 A(k, j), A(i, j) -= L(i, k) U(k, j).
    /// add_columns(data) adds the accesses to them.
    template <class F>
    void submit_update(int k, const Part& part, const GpuColumns<T>& columns, const F& add_columns) {
        const Panel& p = panel(k);
        const auto device = static_cast<std::size_t>(part.gpu);
        const ScratchMatrix<T>& top = part.leading ? g_.lead_rows[device] : g_.rest_rows[device];
        const ScratchMatrix<Index>& pieces = part.leading ? g_.lead_pieces[device] : g_.rest_pieces[device];
        const bool use_inverse = choices_.solve_by_inverse && !on_gpu(k);
        const bool split = by_pieces(rows() - p.end(), p.width, part.cols);
        AccessList data;
        data.read(panel_rows(k)).read(moves(k)).write(top.region()).write(pieces.region());
        if (use_inverse) data.read(inverse(k));
        if (part.gate >= 0 && part.leading) data.write(gate(part.gate));
        if (part.gate >= 0 && !part.leading) data.read(gate(part.gate));
        const std::size_t first_column = data.records().size();
        add_columns(data);
        const ProductPrecision precision = choices_.tf32 ? ProductPrecision::tf32 : ProductPrecision::full;
        const char* safe = &g_.inverse_is_safe[static_cast<std::size_t>(k)];
        rt_.submit({.name = part.leading ? TaskName("update leading") : TaskName("update"),
                    .priority = part.leading ? urgent : patience(k, 1),
                    .tile = {k, -1, -1},
                    .step = k,
                    .place = Place::gpu(part.gpu)},
                   data,
                   on_any_device([=, nb = g_.nb](Stream stream, const Addresses& at) {
                       const auto l = View<const T>::row_major(static_cast<const T*>(at[0]) + p.first * nb,
                                                               columns.rows - p.first, p.width, nb);
                       const RowMoves row_moves(static_cast<Index*>(at[1]), p.width);
                       auto* w = static_cast<T*>(at[2]);
                       const auto update_group = [&](TileColumns<T> group) {
                           const TileColumns<T> a = group.row_range(p.first, columns.rows - p.first);
                           const auto exchanged = dense_tile_columns(w, a.columns, p.width, a.width);
                           w += a.columns * p.width * a.width;
                           const TileColumns<T> u = a.row_range(0, p.width);
                           const auto triangle = l.block(0, 0, p.width, p.width);
                           on_stream::exchange_rows<T>(stream, row_moves, a, exchanged);
                           if (use_inverse && *safe != 0) {
                               const auto x = View<const T>::row_major(static_cast<const T*>(at[4]), p.width,
                                                                       inverted_block, inverted_block);
                               on_stream::solve_by_inverses<T>(stream, triangle, x, exchanged, u);
                           } else {
                               on_stream::solve_by_substitution<T>(stream, triangle, exchanged, u);
                           }
                           const auto below = l.block(p.width, 0, l.rows() - p.width, p.width);
                           const TileColumns<T> trailing = a.row_range(p.width, a.rows - p.width);
                           if constexpr (std::is_same_v<T, float>) {
                               if (split) return on_stream::update_by_pieces(stream, below, u, trailing, at[3]);
                           }
                           on_stream::update_trailing<T>(stream, below, u, trailing, precision);
                       };
                       columns.for_each_group(at.data() + first_column, at.size() - first_column, update_group);
                   }));
    }

    // --- interchanges left of the panels ---

    /// Panel k's interchanges in the columns left of it, behind the updates. `next`: see update_rest().
    void interchange_left(int k, int next) {
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
            rt_.submit({.name = "interchange", .priority = patience(k, 3), .tile = {k, -1, -1}, .step = k, .place = Place::gpu(g)},
                       data,
                       on_any_device([p, first_column, columns = GpuColumns<T>{rows(), tile_width(), 0, col_end}](
                                         Stream stream, const Addresses& at) {
                           const RowMoves row_moves(static_cast<Index*>(at[0]), p.width);
                           auto* w = static_cast<T*>(at[1]);
                           columns.for_each_group(at.data() + first_column, at.size() - first_column, [&](TileColumns<T> group) {
                               const TileColumns<T> a = group.row_range(p.first, columns.rows - p.first);
                               const auto exchanged = dense_tile_columns(w, a.columns, p.width, a.width);
                               on_stream::exchange_rows<T>(stream, row_moves, a, exchanged);
                               on_stream::copy_tile_columns<T>(stream, exchanged, a.row_range(0, p.width));
                               w += a.columns * p.width * a.width;
                           });
                       }));
        }
    }

    /// Above 0: on streams of high priority.
    static constexpr int urgent = 1;
    /// Of what is not: step by step, and in a step the factors' return (0), the update (1), the next panel's copy (2), the
    /// interchanges on the left (3).
    static int patience(int k, int number) { return -4 * k - number; }

    LuState<T>& s_;
    GpuLuState<T>& g_;
    Runtime& rt_;
    const LuChoices choices_;
    ColumnGroup group_{};
    std::vector<int> slot_;    ///< by panel: where it is while it is on its way
    std::vector<Index> tops_;  ///< by panel: first row that left the matrix
    Index slots_taken_ = 0;
};

}  // namespace

template <class T>
void submit_lu_on_gpus(LuState<T>& state, const LuChoices& choices) {
    state.on_gpus = std::make_shared<GpuLuState<T>>(state, choices);
    GpuLuSubmission<T>(state, *state.on_gpus, choices).submit();
}

template void submit_lu_on_gpus(LuState<float>&, const LuChoices&);
template void submit_lu_on_gpus(LuState<double>&, const LuChoices&);

}  // namespace basalt::detail
