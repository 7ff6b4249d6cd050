#pragma once

#include "kernels/cuda/common/message_barrier.cuh"
#include "kernels/cuda/panel/leaf.cuh"

namespace basalt::cuda_detail {

/// A leaf of four windows of columns, for the blocks of a cluster. Two of a block's warps lead: they eliminate one
/// window after the other. Two more for each further window follow: they hold its columns of the same rows and do to
/// them what the leaders do to theirs, some steps behind. A step's pivot is known by then, so that only its holder has
/// to send: the pivot row's columns of each window are one message to each block, written into its memory by the
/// holder's follower. When all steps of the former windows are done, followers hand their columns over in the staging
/// buffer, and the leaders go on. Rows do not move before the last step, and between windows the blocks wait for
/// nothing but these messages.
///
/// Who owns what: a row's elements are in the registers of one leader and of one follower a window. A column of the
/// staging buffer belongs to the follower that has it until it hands it over, then to the leaders, which write L into
/// it; followers of later windows read it once its step is in `eliminated`. Rows of U and steps are written once in a
/// leaf, so no reader has to announce that it is done. Each barrier is released by all lanes that wrote and acquired by
/// all that read.
template <class T, int window, int rows_a_thread, class Team>
class WideLeaf {
    static constexpr int pack = 16 / static_cast<int>(sizeof(T));

  public:
    static constexpr int windows = 4, width = windows * window, stage_ld = width + pack;
    using Steps = Elimination<T, window, rows_a_thread, Team, stage_ld, true>;
    static constexpr int block_rows = Steps::block_rows;

  private:
    static constexpr int warps_a_window = Steps::warps;
    static_assert(warps_a_window == 2 && team_warps == warps_a_window * windows);
    /// Rows of U for the windows up to number w: window w has a row for each step of those left of it.
    static constexpr int rows_of_u(int w) { return (w + 1) * w / 2 * window; }
    static constexpr int followed_steps = (windows - 1) * window;
    static constexpr unsigned message_bytes = window * sizeof(T);

  public:
    struct Shared {
        alignas(16) T stage[block_rows * stage_ld];
        alignas(16) T u[rows_of_u(windows - 1) * window];
        int place[block_rows];
    };
    /// Whose row was the pivot of a step.
    struct Step {
        int from;
        unsigned holder;
    };
    struct Kept {
        typename Steps::Candidates candidates;
        LeafMoves<width> moves;
        alignas(16) T outgoing[team_warps][window];  ///< a warp's
        Step steps[width];
        // each has a phase a leaf
        alignas(8) std::uint64_t eliminated[followed_steps];       ///< a step, by the leaders
        alignas(8) std::uint64_t arrived[rows_of_u(windows - 1)];  ///< a row of U
        alignas(8) std::uint64_t handed_over[windows];             ///< a window, by its followers
    };

    /// Before the cluster meets for the first time.
    static __device__ void prepare(Kept& kept) {
        const int n = static_cast<int>(threadIdx.x);
        static_assert(rows_of_u(windows - 1) <= team_threads);
        if (n < followed_steps) prepare_barrier(&kept.eliminated[n], warps_a_window * warp_lanes);
        if (n < rows_of_u(windows - 1)) prepare_barrier(&kept.arrived[n], 1);
        if (n < windows) prepare_barrier(&kept.handed_over[n], warps_a_window * warp_lanes);
    }

    /// Columns [col, col + count) from row `col` on, of which `pivots` are eliminated.
    __device__ WideLeaf(PanelView<T> panel, int col, int count, int pivots, BlockRows rows, BlockThread thread)
        : panel_(panel), col_(col), count_(count), pivots_(pivots), rows_(rows), thread_(thread) {}

    __device__ __forceinline__ void fetch(Shared& shared, bool staged) const {
        if (!staged) fetch_to_stage<width, stage_ld>(panel_, rows_, col_, count_, shared.stage, thread_);
        wait_for_copies();
    }

    /// As Leaf's. `pivots`: nullptr but for one block.
    __device__ __forceinline__ void factor(Team& team, Kept& kept, Shared& shared, Index* pivots, int& info) const {
        if (thread_.number < rows_of_u(windows - 1)) arrive_and_expect(&kept.arrived[thread_.number], message_bytes);
        if (thread_.warp < warps_a_window) {
            lead(team, kept, shared, pivots, info);
        } else {
            team.arrive();
            follow(kept, shared);
        }
        team.leaf_done();
        if (count_ < panel_.cols) {  // others move
            __syncthreads();
            find_moves(kept);
        }
    }

    /// Writes all rows of L to their new places.
    __device__ __forceinline__ void store(const Shared& shared) const {
        constexpr int chunks = width / pack;
        const int total = rows_.count() * chunks;
#pragma unroll 1
        for (int i = thread_.number; i < total; i += team_threads) {
            const int row = i / chunks, part = i % chunks * pack, place = shared.place[row];
            // left of the diagonal only, where the row is one of U
            const int known = min(place - col_, count_);
            const T* const from = &shared.stage[row * stage_ld + part];
            T* const to = panel_.at(place, col_ + part);
            if (part + pack <= known) {
                *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
            } else {
                for (int c = 0; part + c < known; ++c) to[c] = from[c];
            }
        }
    }

  private:
    /// Of all barriers of this leaf. They complete once a leaf, since one that does not take all its steps, or has no
    /// columns for some followers, is the last.
    __device__ unsigned phase() const { return static_cast<unsigned>(col_ / width) & 1U; }

    __device__ __forceinline__ void lead(Team& team, Kept& kept, Shared& shared, Index* pivots, int& info) const {
        Steps steps(thread_);
        steps.take_places(rows_.begin, rows_.count());
#pragma unroll 1
        for (int w = 0; w * window < pivots_; ++w) {
            const int first = w * window;
            T* const stage = shared.stage + first;
            if (w > 0) wait_at(&kept.handed_over[w], phase());
            steps.begin(col_ + first, min(window, pivots_ - first));
            steps.take(stage);
            steps.template propose<window>(0, team, kept.candidates, [] {});
            if (w == 0) team.arrive();
            steps.eliminate_all(team, kept.candidates, stage, [&](int j, const auto& pivot, T element) {
                const int step = first + j;
                if (thread_.warp == 0) note(step, window - j, pivot, element, kept, pivots, info);
                if (step < followed_steps) arrive_at(&kept.eliminated[step]);
            });
        }
        steps.for_each_row([&](int, int row, int place) { shared.place[row] = place; });
    }

    /// `cols`: of the window, from the pivot on.
    template <class Pivot>
    __device__ __forceinline__ void note(int step, int cols, const Pivot& pivot, T element, Kept& kept, Index* pivots,
                                         int& info) const {
        const int diagonal = col_ + step, from = static_cast<int>(pivot.from);
        if (thread_.lane == 0) kept.steps[step] = {from, pivot.holder};
        if (pivots == nullptr) return;
        if (thread_.lane == 0) {
            pivots[diagonal] = from;
            if (element == T{0} && info == 0) info = diagonal + 1;
        }
        // all blocks have fetched their rows, or they would not have proposed any
        if (thread_.lane < min(cols, count_ - step)) *panel_.at(diagonal, diagonal + thread_.lane) = element;
    }

    __device__ __forceinline__ void follow(Kept& kept, Shared& shared) const {
        // Warps that are four apart share a scheduler: the leaders' have the followers that are done first.
        const int w = thread_.warp < 4 ? 3 : thread_.warp < 6 ? 1 : 2;
        if (w * window >= count_) return;
        constexpr int rows = block_rows / warps_a_window;  // of a warp
        const int part = thread_.warp % warps_a_window, top = part * rows;
        T* const own = &shared.stage[(top + thread_.lane) * stage_ld];
        T a[rows_a_thread][window];
        for_each_chunk([&](int r, int c) { load_packed(own + r * warp_lanes * stage_ld + w * window + c, &a[r][c]); });
        const unsigned first = static_cast<unsigned>(Team::rank() * block_rows + top);
        const int steps = min(w * window, pivots_);
        const std::uint64_t* const arrived = kept.arrived + rows_of_u(w - 1);
        const T* const u = shared.u + rows_of_u(w - 1) * window;
#pragma unroll 1
        for (int s = 0; s < steps; ++s) {
            wait_at(&kept.eliminated[s], phase());
            const unsigned row = kept.steps[s].holder - first;
            if (row < rows) {
#pragma unroll
                for (int r = 0; r < rows_a_thread; ++r) {
                    if (row != static_cast<unsigned>(r * warp_lanes + thread_.lane)) continue;
#pragma unroll
                    for (int c = 0; c < window; c += pack) store_packed(&a[r][c], &kept.outgoing[thread_.warp][c]);
                }
                __syncwarp();
                send_to_all(kept.outgoing[thread_.warp], u + s * window, arrived + s);
                __syncwarp();  // the next row may take its place
            }
            T l[rows_a_thread];
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) l[r] = own[r * warp_lanes * stage_ld + s];
            wait_at(&arrived[s], phase());
#pragma unroll
            for (int c = 0; c < window; c += pack) {
                T of_pivot[pack];
                load_packed(&u[s * window + c], of_pivot);
#pragma unroll
                for (int q = 0; q < pack; ++q) {
#pragma unroll
                    for (int r = 0; r < rows_a_thread; ++r) a[r][c + q] -= l[r] * of_pivot[q];
                }
            }
        }
        if (w * window < pivots_) {
            for_each_chunk(
                [&](int r, int c) { store_packed(&a[r][c], own + r * warp_lanes * stage_ld + w * window + c); });
            arrive_at(&kept.handed_over[w]);
        }
        // the block's share of the rows of U, while the leaders take further steps
        const int col = w * window + thread_.lane, size = Team::size();
        if (thread_.lane >= window || col >= count_) return;
#pragma unroll 1
        for (int s = Team::rank() + part * size; s < steps; s += warps_a_window * size)
            *panel_.at(col_ + s, col_ + col) = u[s * window + thread_.lane];
    }

    /// A window's columns of a row, to the same place in all blocks.
    __device__ __forceinline__ void send_to_all(const T* row, const T* to, const std::uint64_t* barrier) const {
        constexpr int words = window / pack, at_once = warp_lanes / words;
        const int word = thread_.lane % words, size = Team::size();
        const unsigned here = shared_address(to + word * pack),
                       apart = remote_address(here, 1) - remote_address(here, 0);
        const int block = thread_.lane / words;
        const unsigned there = remote_address(here, block), counted = remote_address(shared_address(barrier), block);
        const uint4 value = reinterpret_cast<const uint4*>(row)[word];
#pragma unroll
        for (int n = 0; n < most_cluster; n += at_once) {
            if (n + block < size) send(there + n * apart, value, counted + n * apart);
        }
    }

    /// What the leaf's interchanges move, from the list of its pivots: a warp for each 32 of the top rows.
    __device__ __forceinline__ void find_moves(Kept& kept) const {
        for (int k = thread_.number; k < pivots_; k += team_threads) kept.moves.pivot_source[k] = kept.steps[k].from;
        __syncthreads();
        if (thread_.warp * warp_lanes >= width) return;
        const int first = col_ + thread_.warp * warp_lanes;
        int place = first + thread_.lane;
#pragma unroll 1
        for (int j = 0; j < pivots_; ++j) {
            const int from = kept.steps[j].from, diagonal = col_ + j;
            const unsigned was_top = __ballot_sync(0xffffffffU, place == from);
            if (was_top != 0 && thread_.lane == 0)
                kept.moves.pivot_source[j] = first + __ffs(static_cast<int>(was_top)) - 1;
            place = after_exchange(place, from, diagonal);
        }
        kept.moves.top_target[first - col_ + thread_.lane] = place;
    }

    template <class F>
    static __device__ __forceinline__ void for_each_chunk(const F& f) {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
#pragma unroll
            for (int c = 0; c < window; c += pack) f(r, c);
        }
    }

    const PanelView<T> panel_;
    const int col_, count_, pivots_;
    const BlockRows rows_;
    const BlockThread thread_;
};

}  // namespace basalt::cuda_detail
