#include "kernels/cpu/panel/panel.hpp"

#include "kernels/cpu/panel/member.hpp"

namespace basalt {

template <class T>
Index panel_factor(Team& team, View<T> panel, Index* pivots, PanelWorkspace<T>& shared) {
    NoPanelClock clock;
    return factor_timed(team, panel, pivots, shared, clock);
}

template Index panel_factor(Team&, View<float>, Index*, PanelWorkspace<float>&);
template Index panel_factor(Team&, View<double>, Index*, PanelWorkspace<double>&);

}  // namespace basalt
