// Interchanges left of the panels: composed, and applied at once.
#include "tasks/lu_interchanges.hpp"

#include <algorithm>
#include <vector>

namespace basalt::detail {

namespace {

/// Enough of a row to be moved at the memory's speed, and so few that all cores have a part of a wide panel: who comes
/// for the first tile columns, whose tasks go first, need not wait for the others.
constexpr Index columns_a_task = 128;

}  // namespace

template <class T>
RowPermutation left_permutation(const LuState<T>& state, int k) {
    const Index top = state.panels[static_cast<std::size_t>(k)].end();
    std::vector<Interchanges> lists;
    for (std::size_t later = static_cast<std::size_t>(k) + 1; later < state.panels.size(); ++later) {
        const Panel& p = state.panels[later];
        lists.push_back({p.first - top, state.pivot_numbers.data() + p.first, p.width});
    }
    return RowPermutation(state.grid().rows() - top, lists);
}

template <class T>
void submit_interchange_left(LuState<T>& state, int k) {
    const Panel& panel = state.panels[static_cast<std::size_t>(k)];
    for (Index begin = panel.col_begin; begin < panel.col_end(); begin += columns_a_task) {
        const auto columns = state.a->template region<T>(panel.tile_column, panel.end(), state.grid().rows(), begin,
                                                         std::min(begin + columns_a_task, panel.col_end()));
        state.runtime.submit({.name = "interchange", .priority = -k, .tile = {k, -1, -1}, .place = Place::cpu()},
                             read(state.pivots.rows(panel.end(), state.pivots.size())), readwrite(columns),
                             [s = &state, k](View<const Index>, View<T> a) {
                                 std::vector<T> row(static_cast<std::size_t>(a.cols()));
                                 left_permutation(*s, k).apply(a, row.data());
                             });
    }
}

template RowPermutation left_permutation(const LuState<float>&, int);
template RowPermutation left_permutation(const LuState<double>&, int);
template void submit_interchange_left(LuState<float>&, int);
template void submit_interchange_left(LuState<double>&, int);

}  // namespace basalt::detail
