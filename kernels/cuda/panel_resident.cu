#include "kernels/cuda/panel_resident.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/panel_kernel.cuh"

namespace basalt::cuda_detail {

namespace {

using cuda_kernels::PanelDesign;
using cuda_kernels::PanelPlan;

constexpr int most_numbered_devices = 64;

template <class T, int width, int rows_a_thread, template <class, int> class TeamOf>
struct Variant {
    using Team = TeamOf<T, width>;
    static constexpr bool in_cluster = std::is_same_v<Team, ClusterTeam<T, width>>;
    static constexpr Index rows_a_block = Index{team_threads} * rows_a_thread;
    static constexpr std::size_t shared_bytes = sizeof(PanelShared<T, width, rows_a_thread, Team>);

    /// Blocks that can run at once: of one cluster, or on the whole GPU. Asked once for each device.
    static int most_blocks(int device) {
        static std::array<std::once_flag, most_numbered_devices> asked;
        static std::array<int, most_numbered_devices> answer{};
        if (device < 0 || device >= most_numbered_devices) return 0;
        const auto d = static_cast<std::size_t>(device);
        std::call_once(asked[d], [&] { answer[d] = ask_most_blocks(device); });
        return answer[d];
    }

    static bool launch(Stream stream, const PanelView<T>& panel, Index* pivots, Index* info, void* workspace, int blocks) {
        const bool wide = reinterpret_cast<std::uintptr_t>(panel.data) % 16 == 0 &&
                          panel.ld * static_cast<Index>(sizeof(T)) % 16 == 0;
        if (!in_cluster) {
            check(cudaMemsetAsync(workspace, 0, sizeof(typename GridTeam<T, width>::Global), native(stream)), "cudaMemsetAsync", stream);
        }
        cudaLaunchAttribute together{};
        const cudaLaunchConfig_t shape = launch_shape(together, blocks, native(stream));
        const auto kernel = wide ? panel_kernel<T, width, rows_a_thread, true, Team> : panel_kernel<T, width, rows_a_thread, false, Team>;
        check(cudaLaunchKernelEx(&shape, kernel, panel, pivots, info, static_cast<typename Team::Global*>(workspace)), "panel_kernel",
              stream);
        return true;
    }

  private:
    static cudaLaunchConfig_t launch_shape(cudaLaunchAttribute& together, int blocks, cudaStream_t stream) {
        if (in_cluster) {
            together.id = cudaLaunchAttributeClusterDimension;
            together.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
        } else {
            together.id = cudaLaunchAttributeCooperative;
            together.val.cooperative = 1;
        }
        cudaLaunchConfig_t shape{};
        shape.gridDim = static_cast<unsigned>(blocks);
        shape.blockDim = team_threads;
        shape.dynamicSmemBytes = shared_bytes;
        shape.stream = stream;
        shape.attrs = &together;
        shape.numAttrs = 1;
        return shape;
    }

    static int ask_most_blocks(int device) {
        int major = 0, processors = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess || major < 9) return 0;
        if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 0;
        if (!allow(panel_kernel<T, width, rows_a_thread, true, Team>)) return 0;
        if (!allow(panel_kernel<T, width, rows_a_thread, false, Team>)) return 0;
        if (!in_cluster) return std::min(processors, GridTeam<T, width>::most_blocks);
        for (int blocks = most_cluster_blocks; blocks > 1; blocks /= 2) {
            cudaLaunchAttribute together{};
            const cudaLaunchConfig_t shape = launch_shape(together, blocks, nullptr);
            int clusters = 0;
            if (cudaOccupancyMaxActiveClusters(&clusters, panel_kernel<T, width, rows_a_thread, true, Team>, &shape) == cudaSuccess &&
                clusters > 0) {
                return blocks;
            }
        }
        static_cast<void>(cudaGetLastError());
        return 1;
    }

    template <class Kernel>
    static bool allow(Kernel* kernel) {
        const bool allowed =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)) == cudaSuccess &&
            (!in_cluster || cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
        if (!allowed) static_cast<void>(cudaGetLastError());
        return allowed;
    }
};

/// visit(Variant) for the variants of a design, the widest leaf first, until it says true.
template <class T, class F>
bool any_variant(PanelDesign design, const F& visit) {
    constexpr int most_rows = sizeof(T) == 8 ? 4 : 5;
    if (design == PanelDesign::cluster) {
        return visit(Variant<T, 16, most_rows, ClusterTeam>()) || visit(Variant<T, 8, 8, ClusterTeam>());
    }
    return visit(Variant<T, 16, most_rows, GridTeam>()) || visit(Variant<T, 8, 8, GridTeam>());
}

/// Blocks that the variant takes for the panel; 0: it does not fit.
template <class T, int width, int rows_a_thread, template <class, int> class TeamOf>
int blocks_for(Variant<T, width, rows_a_thread, TeamOf> variant, int device, Index rows, PanelPlan plan) {
    if (plan.leaf_width != 0 && plan.leaf_width != width) return 0;
    const int most = variant.most_blocks(device);
    // fewer rows to a block than half a warp each are not worth the company
    constexpr Index fewest_rows = 64;
    const int useful = static_cast<int>(std::clamp<Index>(divide_up(rows, fewest_rows), 1, std::max(most, 1)));
    const int blocks = plan.blocks == 0 ? useful : plan.blocks;
    const Index each = divide_up(divide_up(rows, std::max(blocks, 1)), unit_rows) * unit_rows;
    return blocks >= 1 && blocks <= most && each <= variant.rows_a_block ? blocks : 0;
}

}  // namespace

template <class T>
bool resident_fits(int device, Index rows, Index cols, PanelPlan plan) {
    if (cols > most_resident_cols) return false;
    return any_variant<T>(plan.design, [&](auto variant) { return blocks_for(variant, device, rows, plan) > 0; });
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
    [[maybe_unused]] const bool launched = any_variant<T>(plan.design, [&](auto variant) {
        const int blocks = blocks_for(variant, device, panel.rows(), plan);
        return blocks > 0 && variant.launch(stream, view, pivots, info, workspace, blocks);
    });
    assert(launched);
}

template bool resident_fits<float>(int, Index, Index, PanelPlan);
template bool resident_fits<double>(int, Index, Index, PanelPlan);
template void factor_resident(Stream, View<float>, Index*, Index*, void*, PanelPlan);
template void factor_resident(Stream, View<double>, Index*, Index*, void*, PanelPlan);

}  // namespace basalt::cuda_detail
