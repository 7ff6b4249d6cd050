// Interchanges left of the panels: composed, and applied at once.
#include "tasks/lu/interchanges.hpp"

#include <algorithm>
#include <vector>

#include "basalt/tuning.hpp"

namespace basalt::detail {

template <class T>
RowPermutation left_permutation(const LuState<T>& state, int k, int later) {
    const Index top = state.panels[static_cast<std::size_t>(k)].end();
    std::vector<Interchanges> lists;
    for (; later < std::ssize(state.panels); ++later) {
        const Panel& p = state.panel(later);
        lists.push_back({p.first - top, state.pivot_numbers.data() + p.first, p.width});
    }
    return RowPermutation(state.grid().rows() - top, lists);
}

template <class T>
void submit_interchange_left(LuState<T>& state, int k, int later) {
    const Panel& panel = state.panels[static_cast<std::size_t>(k)];
    const Index columns_a_task = state.runtime.tuning().cpu.lu.interchanged_columns;
    for (Index begin = panel.col_begin; begin < panel.col_end(); begin += columns_a_task) {
        const auto columns = state.a->template region<T>(panel.tile_column, panel.end(), state.grid().rows(), begin,
                                                         std::min(begin + columns_a_task, panel.col_end()));
        state.runtime.submit({.name = "interchange", .priority = -k, .tile = {k}, .place = Place::cpu()},
                             read(state.pivots.rows(panel.end(), state.pivots.size())), readwrite(columns),
                             [s = &state, k, later](View<const Index>, View<T> a) {
                                 std::vector<T> row(static_cast<std::size_t>(a.cols()));
                                 left_permutation(*s, k, later).apply(a, row.data());
                             });
    }
}

template RowPermutation left_permutation(const LuState<float>&, int, int);
template RowPermutation left_permutation(const LuState<double>&, int, int);
template void submit_interchange_left(LuState<float>&, int, int);
template void submit_interchange_left(LuState<double>&, int, int);

}  // namespace basalt::detail
