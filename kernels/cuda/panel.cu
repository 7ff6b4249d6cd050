#include "kernels/cuda/panel.hpp"

#include <algorithm>
#include <cassert>

#include <basalt/error.hpp>

#include "kernels/cuda/launch.cuh"

namespace basalt::cuda_kernels {

template <class T>
bool panel_fits(int, Index, Index, PanelPlan) {
    return false;
}

std::size_t panel_workspace(Index, Index) {
    return 0;
}

template <class T>
void panel_factor(Stream stream, View<T> panel, Index*, Index* info, void*, PanelPlan) {
    assert(panel.col_stride() == 1 || panel.cols() <= 1);
    cuda_detail::check(cudaMemsetAsync(info, 0, sizeof(Index), cuda_detail::native(stream)), "cudaMemsetAsync", stream);
    if (panel.empty()) return;
    throw UsageError("panel_factor: there is no such design of the GPU panel");
}

template bool panel_fits<float>(int, Index, Index, PanelPlan);
template bool panel_fits<double>(int, Index, Index, PanelPlan);
template void panel_factor<float>(Stream, View<float>, Index*, Index*, void*, PanelPlan);
template void panel_factor<double>(Stream, View<double>, Index*, Index*, void*, PanelPlan);

}  // namespace basalt::cuda_kernels
