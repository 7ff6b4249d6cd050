// Interchanges left of the panels: composed, and applied at once.
#include "tasks/lu_interchanges.hpp"

namespace basalt::detail {

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
    state.runtime.submit({.name = "interchange", .tile = {k, -1, -1}, .place = Place::cpu()},
                         read(state.pivots.rows(panel.end(), state.pivots.size())),
                         readwrite(state.region(panel, panel.end(), state.grid().rows())),
                         [s = &state, k](View<const Index>, View<T> a) {
                             std::vector<T> row(static_cast<std::size_t>(a.cols()));
                             left_permutation(*s, k).apply(a, row.data());
                         });
}

template RowPermutation left_permutation(const LuState<float>&, int);
template RowPermutation left_permutation(const LuState<double>&, int);
template void submit_interchange_left(LuState<float>&, int);
template void submit_interchange_left(LuState<double>&, int);

}  // namespace basalt::detail
