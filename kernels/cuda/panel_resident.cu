#include "kernels/cuda/panel_resident.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cuda/panel_resident_launch.cuh"

namespace basalt::cuda_detail {

using cuda_kernels::PanelDesign;
using cuda_kernels::PanelPlan;

template <class T>
bool resident_fits(int device, Index rows, Index cols, PanelPlan plan) {
    if (cols > most_resident_cols) return false;
    return plan.design == PanelDesign::cluster ? ResidentPanel<T, ClusterTeam>::fits(device, rows, plan)
                                               : ResidentPanel<T, GridTeam>::fits(device, rows, plan);
}

std::size_t resident_workspace() {
    return std::max(sizeof(GridTeam<double, 16>::Global), sizeof(GridTeam<float, 16>::Global));
}

template <class T>
void factor_resident(Stream stream, View<T> panel, Index* pivots, Index* info, void* workspace, PanelPlan plan) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice", stream);
    assert(panel.row_stride() <= std::numeric_limits<int>::max() && panel.rows() <= std::numeric_limits<int>::max());
    const PanelView<T> view{panel.data(), static_cast<int>(panel.row_stride()), static_cast<int>(panel.rows()),
                            static_cast<int>(panel.cols())};
    [[maybe_unused]] const bool launched =
        plan.design == PanelDesign::cluster
            ? ResidentPanel<T, ClusterTeam>::launch(stream, device, view, pivots, info, workspace, plan)
            : ResidentPanel<T, GridTeam>::launch(stream, device, view, pivots, info, workspace, plan);
    assert(launched);
}

template bool resident_fits<float>(int, Index, Index, PanelPlan);
template bool resident_fits<double>(int, Index, Index, PanelPlan);
template void factor_resident(Stream, View<float>, Index*, Index*, void*, PanelPlan);
template void factor_resident(Stream, View<double>, Index*, Index*, void*, PanelPlan);

}  // namespace basalt::cuda_detail
