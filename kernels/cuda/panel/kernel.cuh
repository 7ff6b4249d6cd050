#pragma once

#include <cstddef>

#include "kernels/cuda/panel/update.cuh"
#include "kernels/cuda/panel/wide_leaf.cuh"
#include "kernels/cuda/rows/row_moves.cuh"

namespace basalt::cuda_detail {

template <class T, class Leaf, class Team>
struct PanelShared {
    typename Team::Shared team;  ///< where the team looks for it
    // Other blocks write only to a leaf: all that they send is awaited before the leaf ends, and nothing of the next
    // one is sent before this block has fetched its columns and proposed a row of them.
    union {
        typename Leaf::Shared leaf;
        ProductShared<T> product;
    };
    using Few = FewShared<T, Leaf::width>;
    Few few;
    typename Leaf::Kept kept;

    /// Where moves of rows are found when the last product has been stored.
    static_assert(sizeof(ProductShared<T>) >= row_moves_shared(static_cast<int>(resident_cols)));
};

/// The same value, hidden from the compiler: expressions of it are computed where they are used and not kept in
/// registers throughout the kernel.
template <class T>
__device__ PanelView<T> opaque(PanelView<T> panel) {
    asm volatile("" : "+r"(panel.ld), "+l"(panel.data));
    __builtin_assume(__isGlobal(panel.data));
    return panel;
}
/// 0, likewise.
__device__ inline int opaque_zero() {
    int zero;
    asm volatile("mov.u32 %0, 0;" : "=r"(zero));
    return zero;
}
__device__ inline BlockThread opaque(BlockThread thread) {
    asm volatile("" : "+r"(thread.number), "+r"(thread.lane), "+r"(thread.warp));
    return thread;
}

/// A function of its own, with the registers to itself.
template <class T, class Leaf, class Team>
__device__ __noinline__ Team factor_leaf(Team team, PanelView<T> panel, int col, int count, int pivots_here,
                                         BlockRows rows, bool staged, Index* pivots, int& info) {
    auto& shared = *reinterpret_cast<PanelShared<T, Leaf, Team>*>(dynamic_shared());
    int own_info = info;
    Leaf columns(panel, col, count, pivots_here, rows, opaque(BlockThread()));
    team.enter(PanelState::load);
    columns.fetch(shared.leaf, staged);
    team.enter(PanelState::eliminate);
    columns.factor(team, shared.kept, shared.leaf, pivots, own_info);
    __syncthreads();  // the moves
    team.enter(PanelState::store);
    columns.store(shared.leaf);
    info = own_info;
    return team;
}

// What a team shares has base classes: no standard layout, but one that all compilers of CUDA agree on.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1427

/// Each block all of U.
template <class Shared, class T>
__device__ __forceinline__ void solve_by_all(const PanelView<T>& panel, const PanelUpdate& update, bool few,
                                             BlockThread thread) {
    constexpr int u = offsetof(Shared, product);
    const int strips = (update.cols + strip_cols - 1) / strip_cols;
    const int behind_u = u + strips * static_cast<int>(sizeof(T)) * strip_size;
    if constexpr (Shared::Few::exists) {
        constexpr int few_u = offsetof(Shared, few.u), few_l = offsetof(Shared, few.l);
        solve_for(panel, update, few ? few_u : u, few ? few_l : behind_u, thread);
    } else {
        solve_for(panel, update, u, behind_u, thread);
    }
}

/// Each block some columns of U, which it stores.
template <class Shared, class T>
__device__ __forceinline__ void solve_by_shares(const PanelView<T>& panel, const PanelUpdate& update, const T* u,
                                                int rank, int size, BlockThread thread) {
    constexpr int u_at = offsetof(Shared, product), l_at = u_at + static_cast<int>(sizeof(T)) * strip_size;
    const int each = ((update.cols + size - 1) / size + tile_cols - 1) / tile_cols * tile_cols;
    const int end = min((rank + 1) * each, update.cols);
#pragma unroll 1
    for (int c = rank * each; c < end; c += strip_cols) {
        const PanelUpdate part{update.top, update.order, update.right + c, min(strip_cols, end - c)};
        solve_for(panel, part, u_at, l_at, thread);
        store_u(panel, part, u, 0, 1, thread);
        __syncthreads();
    }
}

#pragma nv_diagnostic pop

/// INFO and what the interchanges move, by one block, whose products in shared memory are no longer needed.
template <class Shared>
__device__ void report(int info, Index* info_out, const Index* pivots, RowMoves moves, Shared& shared) {
    if (threadIdx.x == 0) *info_out = info;
    __syncthreads();
    find_row_moves(pivots, moves, reinterpret_cast<int4*>(shared.product.u));
}

/// The whole panel in one kernel: a team of blocks, one to an SM. Recursive: after leaf number i, of `width` columns,
/// the columns of the subtree that ends with it update as many right of them. `moves`, of all or
/// none of the pivots, gets what the interchanges move.
template <class T, class Leaf, class Team>
__global__ void __launch_bounds__(team_threads, 1)
    panel_kernel(PanelView<T> whole, Index* pivots, Index* info_out, RowMoves moves, typename Team::Memory memory) {
#if __CUDA_ARCH__ >= 900  // resident_fits() refuses others
    using Shared = PanelShared<T, Leaf, Team>;
    constexpr int width = Leaf::width;
    Leaf::prepare(reinterpret_cast<Shared*>(dynamic_shared())->kept);
    Team team(memory);
    wait_for_kernel_before();
    const int rank = Team::rank(), size = Team::size();
    int info = 0;
    bool staged = false;  // whether the leaf's columns are in the staging buffer already
    BlockRows own = BlockRows::of(rank, size, 0, whole.rows);  // of the next leaf
#pragma unroll 1
    for (int leaf = 0; leaf * width < whole.cols; ++leaf) {
        const PanelView<T> panel = opaque(whole);
        const BlockThread thread = opaque(BlockThread());
        Shared& shared = *reinterpret_cast<Shared*>(dynamic_shared() + opaque_zero());
        const int col = leaf * width, count = min(width, panel.cols - col), right = col + count;
        const int here = min(count, panel.rows - col);  // pivots of the leaf
        if (here > 0) {
            team = factor_leaf<T, Leaf>(team, panel, col, count, here, own, staged, rank == 0 ? pivots : nullptr, info);
            team.enter(PanelState::barrier);
            team.wait();
            team.enter(PanelState::move);
            move_rows(panel, col, count, here, shared.kept.moves, rank, size, opaque(thread));
        }
        if (right >= panel.cols) break;
        const int order = width << (__ffs(leaf + 1) - 1), first = right - order;
        const int known = min(order, panel.rows - first), cols = min(order, panel.cols - right);
        if (known <= 0) continue;
        team.enter(PanelState::barrier);
        team.arrive();
        own = BlockRows::of(rank, size, right, panel.rows);
        team.wait();
        const bool few = order <= strip_cols, by_all = order <= most_solved_by_all;
        const T* u = shared.product.u[0];
        if constexpr (Shared::Few::exists) u = few ? shared.few.u : u;
        const PanelUpdate update{first, known, right, cols};
        team.enter(PanelState::triangle);
        if (by_all) {
            solve_by_all<Shared>(panel, update, few, opaque(thread));
            team.arrive();  // all have read what U takes the place of
        } else {
            solve_by_shares<Shared>(panel, update, u, rank, size, opaque(thread));
            team.enter(PanelState::barrier);
            team.arrive();
            team.wait();
            copy_to_strips(opaque(thread), static_cast<const T*>(panel.at(first, right)), panel.ld, known, cols,
                           shared.product.u[0]);
            wait_for_copies();
        }
        team.enter(PanelState::product);
        if (few) {
            if constexpr (Shared::Few::exists) {
                const Staging<T> staging{shared.leaf.stage, Leaf::stage_ld, width};
                multiply_few<Shared::Few::stages>(panel, own, update, u, staging, opaque(thread));
            }
        } else {
            multiply<Leaf::block_rows>(panel, own, update, u, opaque(thread));
        }
        if (by_all) {
            team.enter(PanelState::barrier);
            team.wait();
            team.enter(PanelState::store);
            store_u(panel, update, u, rank, size, opaque(thread));
        }
        staged = few && Shared::Few::stages;
        __syncthreads();
    }
    let_next_kernel_launch();
    team.enter(PanelState::barrier);
    team.arrive();  // no block leaves while others write to its shared memory
    if (rank == 0) report(info, info_out, pivots, moves, *reinterpret_cast<Shared*>(dynamic_shared()));
    team.wait();
    team.leave();
#endif
}

}  // namespace basalt::cuda_detail
