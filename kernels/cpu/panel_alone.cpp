#include "kernels/cpu/panel_alone.hpp"

#include "kernels/cpu/panel.hpp"

namespace basalt::cpu_kernels {

template <class T>
void panel_factor(View<T> panel, Index* pivots, Index* info) {
    TeamBarrier barrier(1);
    Team team(0, barrier);
    PanelWorkspace<T> workspace(1, panel.rows(), panel.cols());
    *info = basalt::panel_factor<T>(team, panel, pivots, workspace);
}

template void panel_factor<float>(View<float>, Index*, Index*);
template void panel_factor<double>(View<double>, Index*, Index*);

}  // namespace basalt::cpu_kernels
