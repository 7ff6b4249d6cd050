#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/cuda/common/cluster_launch.cuh"
#include "kernels/cuda/common/launch.cuh"
#include "kernels/cuda/panel/kernel.cuh"
#include "kernels/cuda/panel/plan.hpp"

/// Launching panel_kernel. Its variants take long to compile, so that each kind of team has a file for each precision.
namespace basalt::cuda_detail {

/// Kinds of teams, in which the first `warps` warps of a block eliminate `width` columns one by one.
struct Clusters {
    static constexpr bool in_cluster = true, holds_tall = false, follows = true;
    template <class T, int width, int warps>
    using Team = ClusterTeam<T, width, warps>;
};
struct Grids {
    static constexpr bool in_cluster = false, follows = false;
    static constexpr bool holds_tall = true;  ///< panels of leaves that are less than 16 wide
    template <class T, int width, int warps>
    using Team = GridTeam<T, width>;
};
template <class Kind>
struct Logged {
    static constexpr bool in_cluster = Kind::in_cluster, holds_tall = false;
    static constexpr bool follows = false;  ///< the log begins with the kernel
    template <class T, int width, int warps>
    using Team = LoggedTeam<typename Kind::template Team<T, width, warps>>;
};

/// Kinds of leaves by the rows that a thread holds.
template <int rows_a_thread>
struct NarrowLeaves {
    template <class T, int width, class Team>
    using Leaf = Leaf<T, width, rows_a_thread, Team>;
};
template <int rows_a_thread>
struct WideLeaves {
    template <class T, int width, class Team>
    using Leaf = WideLeaf<T, width, rows_a_thread, Team>;
};

template <class T, class Kind, class Leaves, int eliminated_width, int warps>
struct Variant {
    using Team = typename Kind::template Team<T, eliminated_width, warps>;
    using Leaf = typename Leaves::template Leaf<T, eliminated_width, Team>;
    static constexpr auto kernel = panel_kernel<T, Leaf, Team>;
    static constexpr int width = Leaf::width;
    static constexpr bool in_cluster = Kind::in_cluster;
    static constexpr Index rows_a_block = Leaf::block_rows;
    static constexpr std::size_t shared_bytes = sizeof(PanelShared<T, Leaf, Team>);
    static_assert(shared_bytes <= 227 * 1024 && width <= product_cols);

    /// Blocks that can run at once: of one cluster, or on the whole GPU, which is the calling thread's. Asked once.
    static int most_blocks(int device) {
        static AskedOnce<int> asked;
        return asked(device, [&] { return ask_most_blocks(device); });
    }

    /// `log`: of a team that records.
    static void launch(Stream stream, const PanelView<T>& panel, Index* pivots, Index* info, RowMoves moves,
                       void* workspace, PanelLog log, int blocks) {
        if (!in_cluster) {
            check(cudaMemsetAsync(workspace, 0, sizeof(typename Team::Global), native(stream)), "cudaMemsetAsync",
                  stream);
        }
        LaunchAttributes attributes{};
        cudaLaunchConfig_t shape = launch_shape(attributes, blocks, native(stream));
        if (Kind::follows) follow_closely(attributes, shape);
        const auto memory = [&] {
            auto* const global = static_cast<typename Team::Global*>(workspace);
            if constexpr (std::is_same_v<typename Team::Memory, typename Team::Global*>) {
                return global;
            } else {
                return typename Team::Memory{global, log};
            }
        };
        check(cudaLaunchKernelEx(&shape, kernel, panel, pivots, info, moves, memory()), "panel_kernel", stream);
    }

  private:
    static cudaLaunchConfig_t launch_shape(LaunchAttributes& attributes, int blocks, cudaStream_t stream) {
        cudaLaunchConfig_t shape =
            cluster_shape(attributes, static_cast<unsigned>(blocks), 1, team_threads, shared_bytes, stream);
        if (!in_cluster) {
            attributes[0].id = cudaLaunchAttributeCooperative;
            attributes[0].val.cooperative = 1;
        }
        return shape;
    }

    static int ask_most_blocks(int device) {
        int processors = 0;
        if (!has_clusters(device)) return 0;  // nor what grids need
        if (!succeeded(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device))) return 0;
        if constexpr (!in_cluster) {
            return allow_shared_bytes(kernel, shared_bytes) ? std::min(processors, Team::most_blocks) : 0;
        } else {
            if (!allow_clusters(kernel, shared_bytes)) return 0;
            for (int blocks = Team::most_blocks; blocks >= Team::least_blocks; blocks /= 2) {
                LaunchAttributes attributes{};
                if (most_clusters(kernel, launch_shape(attributes, blocks, nullptr)) > 0) return blocks;
            }
            return 0;
        }
    }
};

/// Leaves of 2, 4 and 8 columns, for tall panels. Where a triangle is copied whole units are read: with this many rows
/// there is always something below it.
constexpr bool is_tall_width(int width) { return width == 2 || width == 4 || width == 8; }
inline constexpr Index least_tall_rows = resident_cols + unit_rows;

/// Blocks that the variant takes for the panel; 0: it does not fit. Clusters have a power of two of them. `most_rows`:
/// of a block of any variant, so that whatever fits does so with fewer rows too.
template <class V>
int blocks_for(V variant, int device, Index rows, cuda_kernels::PanelPlan plan, Index most_rows) {
    if (plan.leaf_width != 0 && plan.leaf_width != V::width) return 0;
    if (is_tall_width(V::width) && rows < least_tall_rows) return 0;
    const int least = V::Team::least_blocks, most = variant.most_blocks(device);
    const Index wished = plan.blocks == 0 ? divide_up(rows, std::min(plan.rows_a_block, most_rows)) : plan.blocks;
    if (most < least || (plan.blocks != 0 && plan.blocks > most)) return 0;
    const int few = static_cast<int>(std::clamp<Index>(wished, least, most));
    const int blocks = V::in_cluster ? cluster_blocks(few) : few;
    const Index each = divide_up(divide_up(rows, blocks), unit_rows) * unit_rows;
    return each <= V::rows_a_block ? blocks : 0;
}

/// With a kind of team: as few rows to a thread as do, since all of them cost time. In clusters two warps of a block
/// lead in wide leaves, as long as they hold the rows, else all eight warps eliminate leaves of 16.
template <class T, class Kind>
struct ResidentPanel {
    static bool fits(int device, Index rows, cuda_kernels::PanelPlan plan);

    /// It fits. `log`: of a team that records.
    static void launch(Stream stream, int device, const PanelView<T>& panel, Index* pivots, Index* info, RowMoves moves,
                       void* workspace, cuda_kernels::PanelPlan plan, PanelLog log = {});

  private:
    // Wide leaves of 128, 64 and 32 columns, of floats 128 and 64: windows are as wide as registers hold their rows.
    template <int rows_a_thread>
    using Low = Variant<T, Kind, WideLeaves<rows_a_thread>, 32, 2>;
    using Middle = Variant<T, Kind, WideLeaves<4>, sizeof(T) == 8 ? 16 : 32, 2>;
    using High = Variant<T, Kind, WideLeaves<8>, sizeof(T) == 8 ? 8 : 16, 2>;
    using Higher = Variant<T, Kind, NarrowLeaves<sizeof(T) == 8 ? 2 : 4>, 32, team_warps>;
    using Highest = Variant<T, Kind, NarrowLeaves<sizeof(T) == 8 ? 4 : 5>, 16, team_warps>;
    // 512 bytes of registers for fewer columns of more rows.
    template <int width>
    using Tall = Variant<T, Kind, NarrowLeaves<512 / sizeof(T) / width>, width, team_warps>;

    /// f(variant, blocks) of the first that takes the panel; whether there is one. Few variants, since each takes long
    /// to compile.
    template <class F>
    static bool with_variant(int device, Index rows, cuda_kernels::PanelPlan plan, const F& f) {
        // the last parts of a wide panel are short
        if (Kind::holds_tall && is_tall_width(plan.leaf_width) && rows < least_tall_rows) plan.leaf_width = 0;
        const auto takes = [&](auto variant) {
            const int blocks = blocks_for(variant, device, rows, plan, Highest::rows_a_block);
            if (blocks > 0) f(variant, blocks);
            return blocks > 0;
        };
        if constexpr (Kind::in_cluster) {
            if (takes(Low<1>()) || takes(Low<2>()) || takes(Middle()) || takes(High())) return true;
        }
        if constexpr (sizeof(T) == sizeof(float)) {
            if (takes(Higher())) return true;
        }
        if (takes(Highest())) return true;
        // Where blocks are named, a plan with more of them holds the panel in wider leaves, which is faster.
        if constexpr (Kind::holds_tall) {
            if (plan.blocks != 0 && plan.leaf_width == 0) return false;
            if (takes(Tall<8>()) || takes(Tall<4>())) return true;
            if constexpr (sizeof(T) == sizeof(double)) return takes(Tall<2>());
        }
        return false;
    }
};

// Not inside the class: inline definitions would be compiled, with their kernels, by every caller.

template <class T, class Kind>
bool ResidentPanel<T, Kind>::fits(int device, Index rows, cuda_kernels::PanelPlan plan) {
    return with_variant(device, rows, plan, [](auto, int) {});
}

template <class T, class Kind>
void ResidentPanel<T, Kind>::launch(Stream stream, int device, const PanelView<T>& panel, Index* pivots, Index* info,
                                    RowMoves moves, void* workspace, cuda_kernels::PanelPlan plan, PanelLog log) {
    const bool fits = with_variant(device, panel.rows, plan, [&](auto variant, int blocks) {
        variant.launch(stream, panel, pivots, info, moves, workspace, log, blocks);
    });
    if (!fits) throw std::logic_error("panel_kernel: a plan that does not fit " + std::to_string(panel.rows) + " rows");
}

extern template struct ResidentPanel<float, Clusters>;
extern template struct ResidentPanel<double, Clusters>;
extern template struct ResidentPanel<float, Grids>;
extern template struct ResidentPanel<double, Grids>;
extern template struct ResidentPanel<double, Logged<Clusters>>;
extern template struct ResidentPanel<double, Logged<Grids>>;

}  // namespace basalt::cuda_detail
