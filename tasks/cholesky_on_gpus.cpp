// Cholesky in the modes hybrid and gpu: the loop nest.
#include "tasks/cholesky_on_gpus.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/cholesky_on_stream.hpp"
#include "kernels/cpu/cholesky.hpp"
#include "kernels/cpu/copy.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/engine.hpp"
#include "tasks/column_groups.hpp"
#include "tasks/gpu_cholesky_state.hpp"

namespace basalt::detail {

namespace {

// Smaller products are done before their operands are in pieces.
constexpr Index least_depth_by_pieces = 256, least_side_by_pieces = 512;

// Rows of a panel for each core that solves them; fewer take longer to wake up for.
constexpr Index rows_a_thread = 256;

/// P := P L^-T on one core, some rows at a time: the products of solve_and_pack() are twice as fast as OpenBLAS's trsm.
template <class T>
void solve_below(View<const T> l, View<T> p) {
    constexpr Index rows_at_once = 256;
    const Index n = l.rows(), most = std::min(rows_at_once, p.rows());
    std::vector<T> unit(static_cast<std::size_t>(n * n)), scale(static_cast<std::size_t>(n)),
        columns(static_cast<std::size_t>(n * most)), packed(static_cast<std::size_t>(packed_size<T>(n, most)));
    const auto triangle = View<T>::row_major(unit.data(), n, n, n);
    cpu_kernels::split_diagonal<T>(l, triangle, scale.data());
    for (Index first = 0; first < p.rows(); first += rows_at_once) {
        const View<T> rows = p.block(first, 0, std::min(rows_at_once, p.rows() - first), n);
        const auto b = View<T>::row_major(columns.data(), n, rows.rows(), rows.rows());
        cpu_kernels::transpose<T>(rows, b);
        cpu_kernels::solve_scaled_and_pack<T>(triangle, scale.data(), b, packed.data());
        cpu_kernels::transpose<T>(b, rows);
    }
}

/// Panels [first, last) of one tile column that a step updates.
struct PanelRange {
    int first;
    int last;
};

template <class T>
class GpuCholeskySubmission {
  public:
    GpuCholeskySubmission(CholeskyState<T>& state, GpuCholeskyState<T>& on_gpus, const CholeskyChoices& choices)
        : s_(state),
          g_(on_gpus),
          rt_(state.runtime),
          choices_(choices),
          // a copy of the runtime's own has no other side
          keeps_other_side_(choices.keep_other_side && state.triangle == Triangle::lower),
          slot_(state.panels.size(), -1) {}

    void submit() {
        const std::vector<ColumnGroup> groups = cut_column_groups(grid().tile_cols(), g_.group_columns);
        pin_what_is_at_home();
        if (!groups.empty()) bring_to_devices(groups.front());
        for (std::size_t g = 0; g < groups.size(); ++g) {
            group_ = groups[g];
            if (keeps_other_side_) save_above_diagonal();
            // what lies left of the group, in the order in which it was factored
            for (int k = 0; k < first_panel(group_.first); ++k) {
                reload(k);
                broadcast(k);
                update(k, first_panel(group_.first));
            }
            if (g + 1 < groups.size()) bring_to_devices(groups[g + 1]);
            factor_group();
            if (keeps_other_side_) restore_above_diagonal();
        }
        collect_info();
    }

  private:
    // --- the loop nest ---

    void factor_group() {
        const int begin = first_panel(group_.first), end = first_panel(group_.last);
        if (begin < end) take_out(begin);
        for (int k = begin; k < end; ++k) {
            factor(k);  // A(k:, k) = L(k:, k)
            broadcast(k);
            const int next = k + 1;
            if (next < end && choices_.lookahead > 0) {
                update_leading(k, next);  // A(j, j') -= L(j, k) L(j', k)^T, for the columns j' of the next panel first
                take_out(next);
                update(k, next + 1);
            } else if (next < end) {
                update(k, next);
                take_out(next);
            }
            put_back(k);
        }
    }

    const TileGrid& grid() const { return g_.a->grid(); }
    Index rows() const { return grid().rows(); }
    Index tile_width() const { return grid().shape().width; }
    const Panel& panel(int k) const { return s_.panels[static_cast<std::size_t>(k)]; }
    int steps() const { return static_cast<int>(s_.panels.size()); }
    Place device_of(const Panel& p) const { return Place::gpu(g_.device_of(p.tile_column)); }
    bool hybrid() const { return choices_.mode == FactorMode::hybrid; }

    /// The first panel at or right of a tile column.
    int first_panel(Index tile_column) const {
        const auto it = std::partition_point(s_.panels.begin(), s_.panels.end(),
                                             [&](const Panel& p) { return p.tile_column < tile_column; });
        return static_cast<int>(it - s_.panels.begin());
    }

    // --- data on their way ---

    Region<T> matrix(const Panel& p, Index begin) const {
        return g_.a->template region<T>(p.tile_column, begin, rows(), p.col_begin, p.col_end());
    }
    void take_slot(int k) { slot_[static_cast<std::size_t>(k)] = static_cast<int>(slots_taken_++ % g_.panel_slots); }
    /// Panel k from row `begin` down, where it is factored and where updates read it.
    Region<T> panel_rows(int k, Index begin) const {
        if (g_.in_place) return matrix(panel(k), begin);
        return g_.panels[static_cast<std::size_t>(slot_[static_cast<std::size_t>(k)])].rows(begin, rows(),
                                                                                            panel(k).width);
    }
    Region<T> panel_rows(int k) const { return panel_rows(k, panel(k).first); }

    void pin_what_is_at_home() {
        for (Index j = 0; j < grid().tile_cols(); ++j) {
            if (g_.out_of_core() || rt_.engine().at_home(*g_.a->datum(j))) return g_.a->pin();
        }
    }

    void bring_to_devices(const ColumnGroup& group) {
        if (group.first == 0) g_.a->make_room_on_gpus(std::min(g_.group_columns, grid().tile_cols()));
        for (Index j = group.first; j < group.last; ++j) {
            rt_.prefetch(g_.a->template region<T>(j, 0, rows(), 0, tile_width()), Place::gpu(g_.device_of(j)));
        }
    }

    void broadcast(int k) {
        if (!g_.in_place) rt_.broadcast(panel_rows(k), urgent);
    }

    /// A panel of an earlier group, from where its factor lies now.
    void reload(int k) {
        take_slot(k);
        rt_.submit({.name = "reload", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = Place::cpu()},
                   read(matrix(panel(k), panel(k).first)), write(panel_rows(k)),
                   [](View<const T> a, View<T> to) { cpu_kernels::copy_elements<T>(a, to); });
    }

    /// Panel k leaves the matrix for whoever factors it.
    void take_out(int k) {
        if (g_.in_place) return;
        take_slot(k);
        rt_.submit(
            {.name = "take out", .priority = urgent, .tile = {k, -1, -1}, .step = k, .place = device_of(panel(k))},
            read(matrix(panel(k), panel(k).first)), write(panel_rows(k)),
            on_any_device(
                [](Stream stream, View<const T> a, View<T> to) { on_stream::copy_elements<T>(stream, a, to); }));
        if (hybrid()) rt_.prefetch(panel_rows(k), Place::cpu(), urgent);
    }

    /// The factor returns to its place in the matrix.
    void put_back(int k) {
        if (g_.in_place) return;
        rt_.submit({.name = "put back", .tile = {k, -1, -1}, .step = k, .place = device_of(panel(k))},
                   read(panel_rows(k)), readwrite(matrix(panel(k), panel(k).first)),
                   on_any_device([](Stream stream, View<const T> from, View<T> a) {
                       on_stream::copy_elements<T>(stream, from, a);
                   }));
    }

    // Updates are rectangles, so they write right of the diagonal too, less than a panel's width from it: what was
    // there is kept aside.

    template <class Access, class Kernel>
    void for_each_saved(TaskName name, const Access& access, const Kernel& kernel) {
        for (Index j = group_.first; j < group_.last; ++j) {
            const Index first = grid().first_col(j), width = grid().tile_width(j);
            const auto square = g_.a->template region<T>(j, first, std::min(first + width, rows()), 0, width);
            access({.name = name, .tile = {static_cast<int>(j), -1, -1}, .place = Place::gpu(g_.device_of(j))}, square,
                   g_.above[static_cast<std::size_t>(j)].rows(0, square.rows, g_.nb), kernel);
        }
    }

    void save_above_diagonal() {
        for_each_saved(
            "save",
            [this](const TaskOptions& options, const Region<T>& square, const Region<T>& saved, const auto& kernel) {
                rt_.submit(options, read(square), write(saved), on_any_device(kernel));
            },
            [](Stream stream, View<const T> a, View<T> saved) { on_stream::save_above_diagonal<T>(stream, a, saved); });
    }

    void restore_above_diagonal() {
        for_each_saved(
            "restore",
            [this](const TaskOptions& options, const Region<T>& square, const Region<T>& saved, const auto& kernel) {
                rt_.submit(options, read(saved), readwrite(square), on_any_device(kernel));
            },
            [](Stream stream, View<const T> saved, View<T> a) {
                on_stream::restore_above_diagonal<T>(stream, saved, a);
            });
    }

    // --- panels ---

    void factor(int k) {
        if (hybrid()) return factor_on_cores(k);
        const auto gpu = static_cast<std::size_t>(g_.device_of(panel(k).tile_column));
        rt_.submit(
            {.name = "panel", .priority = urgent + 1, .tile = {k, k, -1}, .step = k, .place = device_of(panel(k))},
            readwrite(panel_rows(k)), write(g_.workspaces[gpu].region()), readwrite(g_.info[gpu]),
            on_any_device([k](Stream stream, View<T> a, View<Index> workspace, View<Index> info) {
                on_stream::cholesky_panel<T>(stream, a, info.data() + k, workspace.data());
            }));
    }

    /// A gang: one core factors the square on top, all solve for the rows below it.
    void factor_on_cores(int k) {
        const Panel& p = panel(k);
        const int most = static_cast<int>(std::clamp<Index>((rows() - p.end()) / rows_a_thread, 1, rt_.workers()));
        rt_.submit({.name = "panel",
                    .priority = urgent + 1,
                    .threads = {most, most},
                    .tile = {k, k, -1},
                    .step = k,
                    .place = Place::cpu()},
                   readwrite(panel_rows(k)), readwrite(s_.info),
                   [first = p.first](const Team& team, View<T> a, View<Index> info) {
                       const Index n = a.cols(), below = a.rows() - n;
                       const View<T> square = a.block(0, 0, n, n);
                       if (team.rank() == 0 && info[0] == 0) {
                           const Index found = cpu_kernels::factor_triangle(Triangle::lower, square);
                           if (found > 0) info[0] = first + found;
                       }
                       team.barrier();
                       if (info[0] != 0) return;
                       const Index begin = n + below * team.rank() / team.size(),
                                   end = n + below * (team.rank() + 1) / team.size();
                       solve_below<T>(square, a.block(begin, 0, end - begin, n));
                   });
    }

    /// INFO is that of the first panel that failed.
    void collect_info() {
        if (hybrid()) return;
        for (int g = 0; g < g_.gpus; ++g) {
            rt_.submit({.name = "info", .place = Place::cpu()}, read(g_.info[static_cast<std::size_t>(g)]),
                       readwrite(s_.info), [s = &s_, h = &g_, g](View<const Index> found, View<Index> info) {
                           for (int k = 0; k < static_cast<int>(s->panels.size()); ++k) {
                               const Panel& p = s->panels[static_cast<std::size_t>(k)];
                               if (h->device_of(p.tile_column) != g || found[k] == 0) continue;
                               const Index number = p.first + found[k];
                               if (info[0] == 0 || number < info[0]) info[0] = number;
                           }
                       });
        }
    }

    // --- updates ---

    /// Step k on the columns of the next panel alone, so that it can be factored first.
    void update_leading(int k, int next) {
        const Panel& p = panel(next);
        AccessList data;
        data.read(panel_rows(k, p.first)).readwrite(matrix(p, p.first));
        submit_update(k, data, {{next, next + 1}}, g_.device_of(p.tile_column), true);
    }

    /// Step k on all columns of the group from panel `first` on, a task for each GPU.
    void update(int k, int first) {
        for (int g = 0; g < g_.gpus; ++g) {
            AccessList data;
            std::vector<PanelRange> ranges;
            for (Index j = group_.first; j < group_.last; ++j) {
                const PanelRange range{std::max(first, first_panel(j)), first_panel(j + 1)};
                if (g_.device_of(j) != g || range.first >= range.last) continue;
                if (ranges.empty()) data.read(panel_rows(k, panel(range.first).first));
                const Panel& p = panel(range.first);
                data.readwrite(
                    g_.a->template region<T>(j, p.first, rows(), p.col_begin, panel(range.last - 1).col_end()));
                ranges.push_back(range);
            }
            if (ranges.empty()) continue;
            if (g_.by_pieces) data.write(g_.pieces[static_cast<std::size_t>(g)].region());
            submit_update(k, data, std::move(ranges), g, false);
        }
    }

    /// `data`: panel k, then the tile columns of `ranges`.
    /// Behind them, where products are made by pieces, their workspace.
    void submit_update(int k, const AccessList& data, std::vector<PanelRange> ranges, int gpu, bool leading) {
        const Index offset = g_.in_place ? panel(k).col_begin : 0, ld = g_.in_place ? tile_width() : g_.nb;
        const int first = ranges.front().first;
        rt_.submit(
            {.name = leading ? TaskName("update leading") : TaskName("update"),
             .priority = leading ? urgent : -k - 1,
             .tile = {k, first, -1},
             .step = k,
             .place = Place::gpu(gpu)},
            data,
            on_any_device([this_matrix = UpdateShape{s_.panels.data(), rows(), tile_width()}, depth = panel(k).width,
                           offset, ld, ranges = std::move(ranges)](Stream stream, const Addresses& at) {
                void* const pieces = at.size() > ranges.size() + 1 ? at.back() : nullptr;
                const auto l =
                    View<const T>::row_major(static_cast<const T*>(at[0]) + offset, this_matrix.rows, depth, ld);
                for (std::size_t c = 0; c < ranges.size(); ++c) {
                    const auto a = View<T>::row_major(static_cast<T*>(at[c + 1]), this_matrix.rows,
                                                      this_matrix.tile_width, this_matrix.tile_width);
                    update_tile_column(stream, this_matrix, l, a, ranges[c], pieces);
                }
            }));
    }

    struct UpdateShape {
        const Panel* panels;
        Index rows;
        Index tile_width;
    };

    /// C -= A B^T, by pieces where there is a workspace for them and enough to do.
    static void subtract_product(Stream stream, View<const T> a, View<const T> b, View<T> c, void* pieces) {
        if constexpr (std::is_same_v<T, float>) {
            const bool large = a.cols() >= least_depth_by_pieces && std::min(a.rows(), b.rows()) >= least_side_by_pieces;
            if (pieces != nullptr && large) {
                return cuda_kernels::subtract_transposed_product_by_pieces(stream, a, b, c, pieces);
            }
        }
        on_stream::subtract_transposed_product<T>(stream, a, b, c);
    }

    /// A -= L L'^T in some panels of one tile column: the rows below its square in one product, and the square's
    /// triangle panel by panel, so that no more than a panel's square lies right of the diagonal. All of it costs at
    /// most 1 + 3/2 nb/n times the operations of Cholesky.
    static void update_tile_column(Stream stream, const UpdateShape& shape, View<const T> l, View<T> a,
                                   const PanelRange& range, void* pieces) {
        const Panel& first = shape.panels[range.first];
        const Panel& last = shape.panels[range.last - 1];
        const auto product = [&](Index row, Index end, Index col, Index from, Index width) {
            subtract_product(stream, l.block(row, 0, end - row, l.cols()), l.block(from, 0, width, l.cols()),
                             a.block(row, col, end - row, width), pieces);
        };
        if (range.last - range.first == 1)
            return product(first.first, shape.rows, first.col_begin, first.first, first.width);
        for (int p = range.first; p < range.last; ++p) {
            const Panel& own = shape.panels[p];
            product(own.first, last.end(), own.col_begin, own.first, own.width);
        }
        if (last.end() < shape.rows)
            product(last.end(), shape.rows, first.col_begin, first.first, last.end() - first.first);
    }

    /// Above 0: on streams of high priority.
    static constexpr int urgent = 1;

    CholeskyState<T>& s_;
    GpuCholeskyState<T>& g_;
    Runtime& rt_;
    const CholeskyChoices choices_;
    const bool keeps_other_side_;
    ColumnGroup group_{};
    std::vector<int> slot_;  ///< by panel: where it is while it is on its way
    Index slots_taken_ = 0;
};

/// Tiles of the copy: as wide as the matrix's own.
TileGrid transposed_grid(const TileGrid& grid) {
    return TileGrid(grid.cols(), grid.rows(), grid.shape());
}

/// Where one tile column's rows and another one's columns meet, as seen in `storage`.
template <class T>
Region<T> meeting(const MatrixStorage& storage, Index rows_of, Index cols_of) {
    const TileGrid& grid = storage.grid();
    const Index first = grid.first_col(rows_of);
    return storage.region<T>(cols_of, first, first + grid.tile_width(rows_of), 0, grid.tile_width(cols_of));
}

/// to = from^T for one triangle of `to`, by one GPU that has both, or by the cores.
template <class T>
void submit_transposition(Runtime& runtime, const MatrixStorage& from, const MatrixStorage& to, Triangle of_to,
                          Place place) {
    const Index columns = from.grid().tile_cols();
    for (Index j = 0; j < columns; ++j) {
        for (Index i = j; i < columns; ++i) {
            // tile (i, j) of the lower triangle
            const Index row = of_to == Triangle::lower ? i : j, col = of_to == Triangle::lower ? j : i;
            const auto source = meeting<T>(from, col, row), target = meeting<T>(to, row, col);
            const bool square = i == j;
            const TaskOptions options{
                .name = "transpose", .tile = {static_cast<int>(i), static_cast<int>(j), -1}, .place = place};
            // elsewhere all of the tile belongs to the triangle
            const Index offset = square                     ? 0
                                 : of_to == Triangle::lower ? -source.cols - source.rows
                                                            : source.cols + source.rows;
            if (place.is_cpu()) {
                runtime.submit(options, read(source), readwrite(target), [of_to, offset](View<const T> a, View<T> b) {
                    cpu_kernels::copy_triangle<T>(of_to, offset, transposed(a), b);
                });
            } else {
                runtime.submit(options, read(source), readwrite(target),
                               on_any_device([of_to, offset](Stream stream, View<const T> a, View<T> b) {
                                   on_stream::copy_triangle<T>(stream, of_to, offset, transposed(a), b);
                               }));
            }
        }
    }
}

}  // namespace

template <class T>
void submit_cholesky_on_gpus(CholeskyState<T>& state, const CholeskyChoices& choices) {
    const bool upper = state.triangle == Triangle::upper;
    std::shared_ptr<MatrixStorage> storage = state.a;
    if (upper)
        storage =
            std::make_shared<MatrixStorage>(state.runtime, transposed_grid(state.grid()), sizeof(T), "transposed copy");
    auto on_gpus = std::make_shared<GpuCholeskyState<T>>(state, storage, choices);
    state.workspace = on_gpus;
    const Place place = on_gpus->gpus == 1 && !on_gpus->out_of_core() ? Place::gpu(0) : Place::cpu();
    if (upper) submit_transposition<T>(state.runtime, *state.a, *storage, Triangle::lower, place);
    GpuCholeskySubmission<T>(state, *on_gpus, choices).submit();
    if (upper) submit_transposition<T>(state.runtime, *storage, *state.a, Triangle::upper, place);
}

template void submit_cholesky_on_gpus(CholeskyState<float>&, const CholeskyChoices&);
template void submit_cholesky_on_gpus(CholeskyState<double>&, const CholeskyChoices&);

}  // namespace basalt::detail
