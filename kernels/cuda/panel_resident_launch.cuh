#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <type_traits>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/panel.hpp"
#include "kernels/cuda/panel_kernel.cuh"

/// Launching panel_kernel. Its variants take long to compile, so that each kind of team has a file for each precision.
namespace basalt::cuda_detail {

constexpr int most_numbered_devices = 64;

template <class T, int width, int rows_a_thread, template <class, int> class TeamOf>
struct Variant {
    static constexpr auto kernel = panel_kernel<T, width, rows_a_thread, TeamOf<T, width>>;
    using Team = TeamOf<T, width>;
    static constexpr bool in_cluster = Team::in_cluster;
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

    /// `log`: of a team that records.
    static void launch(Stream stream, const PanelView<T>& panel, Index* pivots, Index* info, void* workspace,
                       PanelLog log, int blocks) {
        if (!in_cluster) {
            check(cudaMemsetAsync(workspace, 0, sizeof(typename GridTeam<T, width>::Global), native(stream)),
                  "cudaMemsetAsync", stream);
        }
        cudaLaunchAttribute together{};
        const cudaLaunchConfig_t shape = launch_shape(together, blocks, native(stream));
        const auto memory = [&] {
            auto* const global = static_cast<typename Team::Global*>(workspace);
            if constexpr (std::is_same_v<typename Team::Memory, typename Team::Global*>) {
                return global;
            } else {
                return typename Team::Memory{global, log};
            }
        };
        check(cudaLaunchKernelEx(&shape, kernel, panel, pivots, info, memory()), "panel_kernel", stream);
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
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) return 0;
        if (major < 9) return 0;
        if (cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 0;
        if (!allow()) return 0;
        if constexpr (!in_cluster) {
            return std::min(processors, GridTeam<T, width>::most_blocks);
        } else {
            for (int blocks = most_cluster_blocks; blocks > 1; blocks /= 2) {
                cudaLaunchAttribute together{};
                const cudaLaunchConfig_t shape = launch_shape(together, blocks, nullptr);
                int clusters = 0;
                const cudaError_t asked = cudaOccupancyMaxActiveClusters(&clusters, kernel, &shape);
                if (asked == cudaSuccess && clusters > 0) return blocks;
            }
            static_cast<void>(cudaGetLastError());
            return 1;
        }
    }

    static bool allow() {
        const bool allowed =
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)) ==
                cudaSuccess &&
            (!in_cluster ||
             cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
        if (!allowed) static_cast<void>(cudaGetLastError());
        return allowed;
    }
};

/// Blocks that the variant takes for the panel; 0: it does not fit.
template <class T, int width, int rows_a_thread, template <class, int> class TeamOf>
int blocks_for(Variant<T, width, rows_a_thread, TeamOf> variant, int device, Index rows, cuda_kernels::PanelPlan plan) {
    if (plan.leaf_width != 0 && plan.leaf_width != width) return 0;
    const int most = variant.most_blocks(device);
    // a cluster of one block has no other block's memory: compute-sanitizer takes the stores to it for errors
    const int least = variant.in_cluster ? 2 : 1;
    const int useful =
        static_cast<int>(std::clamp<Index>(divide_up(rows, plan.rows_a_block), least, std::max(most, least)));
    const int blocks = plan.blocks == 0 ? useful : std::max(plan.blocks, least);
    const Index each = divide_up(divide_up(rows, std::max(blocks, 1)), unit_rows) * unit_rows;
    return blocks >= 1 && blocks <= most && each <= variant.rows_a_block ? blocks : 0;
}

/// With a kind of team. Sixteen columns to a leaf; as few rows to a thread as do, since all of them cost time.
template <class T, template <class, int> class TeamOf>
struct ResidentPanel {
    static bool fits(int device, Index rows, cuda_kernels::PanelPlan plan);

    /// It fits. `log`: of a team that records.
    static void launch(Stream stream, int device, const PanelView<T>& panel, Index* pivots, Index* info,
                       void* workspace, cuda_kernels::PanelPlan plan, PanelLog log = {});

  private:
    using Most = Variant<T, 16, sizeof(T) == 8 ? 4 : 5, TeamOf>;  // what the registers hold
};

// Not inside of it: there they would be inline, and compiled, kernels and all, by whoever calls them.

template <class T, template <class, int> class TeamOf>
bool ResidentPanel<T, TeamOf>::fits(int device, Index rows, cuda_kernels::PanelPlan plan) {
    return blocks_for(Most(), device, rows, plan) > 0;
}

template <class T, template <class, int> class TeamOf>
void ResidentPanel<T, TeamOf>::launch(Stream stream, int device, const PanelView<T>& panel, Index* pivots, Index* info,
                                      void* workspace, cuda_kernels::PanelPlan plan, PanelLog log) {
    const auto try_variant = [&](auto variant) {
        const int blocks = blocks_for(variant, device, panel.rows, plan);
        if (blocks > 0) variant.launch(stream, panel, pivots, info, workspace, log, blocks);
        return blocks > 0;
    };
    if constexpr (Most::in_cluster) {
        // few variants, since each takes long to compile
        if (try_variant(Variant<T, 16, 1, TeamOf>()) || try_variant(Variant<T, 16, 2, TeamOf>())) return;
    }
    try_variant(Most());
}

template <class T, int width>
using LoggedClusterTeam = LoggedTeam<ClusterTeam<T, width>>;
template <class T, int width>
using LoggedGridTeam = LoggedTeam<GridTeam<T, width>>;

extern template struct ResidentPanel<float, ClusterTeam>;
extern template struct ResidentPanel<double, ClusterTeam>;
extern template struct ResidentPanel<float, GridTeam>;
extern template struct ResidentPanel<double, GridTeam>;
extern template struct ResidentPanel<double, LoggedClusterTeam>;
extern template struct ResidentPanel<double, LoggedGridTeam>;

}  // namespace basalt::cuda_detail
