#pragma once

#include "kernels/cuda/panel/elimination.cuh"

/// A few columns of a panel, factored on chip.
namespace basalt::cuda_detail {

/// m x n, row-major, in the device's memory.
template <class T>
struct PanelView {
    T* data;
    int ld;
    int rows;
    int cols;

    __device__ T* at(int row, int col) const { return data + static_cast<Index>(row) * ld + col; }
};

/// Rows [begin, end) of a block: those from `top` on are dealt out evenly.
struct BlockRows {
    int begin, end;

    __device__ static BlockRows of(int rank, int size, int top, int rows) {
        const int each = ((rows - top + size - 1) / size + unit_rows - 1) / unit_rows * unit_rows;
        const int begin = min(top + rank * each, rows);
        return {begin, min(begin + each, rows)};
    }
    __device__ int count() const { return end - begin; }
};

/// What the interchanges of a leaf's columns move, in terms of places before and after all of them. Without their
/// order, so that the rest of the panel's columns can move at once.
template <int width>
struct LeafMoves {
    int pivot_source[width];  ///< where the row was that is now number k of the leaf's top rows
    int top_target[width];    ///< where the row is now that was number k of them
};

/// From rows `rows` and columns [col, col + count) of a panel to a staging buffer of `width` columns, for the block;
/// zeros in further columns.
template <int width, int stage_ld, class T>
__device__ __forceinline__ void fetch_to_stage(const PanelView<T>& panel, BlockRows rows, int col, int count, T* stage,
                                               BlockThread thread) {
    // neighbouring threads fetch neighbouring 16 bytes of a row
    constexpr int chunk = 16 / static_cast<int>(sizeof(T));
    constexpr int chunks = width / chunk;
    const int total = rows.count() * chunks;
    for (int i = thread.number; i < total; i += team_threads) {
        const int row = i / chunks, part = i % chunks * chunk;
        T* const to = &stage[row * stage_ld + part];
        const T* const from = panel.at(rows.begin + row, col + part);
        if (part + chunk <= count) {
            copy_to_shared<chunk>(to, from);
        } else {
            for (int c = 0; c < chunk; ++c) to[c] = part + c < count ? from[c] : T{0};
        }
    }
}

/// Columns that all warps of a block eliminate.
template <class T, int leaf_width, int rows_a_thread, class Team>
class Leaf {
    /// Rows of the staging buffer: the padding has a warp's threads hit different banks with 16 bytes each of their
    /// rows.
    static constexpr int pack = 16 / static_cast<int>(sizeof(T));

  public:
    static constexpr int width = leaf_width, stage_ld = width + (width > pack ? pack : 0);
    using Steps = Elimination<T, width, rows_a_thread, Team, stage_ld>;
    static constexpr int block_rows = Steps::block_rows;
    static_assert(Steps::warps == team_warps);
    /// What the block shares.
    struct Shared {
        alignas(16) T stage[block_rows * stage_ld];
        unsigned moved[block_rows / warp_lanes];  ///< by 32 rows of the block: those that change places
    };
    /// The same, that stays as it is between leaves.
    struct Kept {
        typename Steps::Candidates candidates;
        LeafMoves<width> moves;
    };
    static __device__ void prepare(Kept&) {}

    /// Columns [col, col + count) from row `col` on, of which `pivots` are eliminated.
    __device__ Leaf(PanelView<T> panel, int col, int count, int pivots, BlockRows rows, BlockThread thread)
        : panel_(panel), col_(col), count_(count), pivots_(pivots), rows_(rows), thread_(thread), steps_(thread) {}

    /// To the staging buffer, for the block. `staged`: they are there.
    __device__ __forceinline__ void fetch(Shared& shared, bool staged) const {
        if (!staged) fetch_to_stage<width, stage_ld>(panel_, rows_, col_, count_, shared.stage, thread_);
        wait_for_copies();
    }

    /// Eliminates; columns of L go to the staging buffer. `pivots`: nullptr but for one block, which also writes the
    /// rows of U.
    __device__ __forceinline__ void factor(Team& team, Kept& kept, Shared& shared, Index* pivots, int& info) {
        // lane k of warp 0 follows the leaf's top row number k and notes where pivot k came from
        Followed followed{col_ + thread_.lane, col_ + thread_.lane, pivots, info};
        steps_.begin(col_, pivots_);
        steps_.take_places(rows_.begin, rows_.count());
        steps_.take(shared.stage);
        steps_.template propose<width>(0, team, kept.candidates, [] {});
        // the other columns' updates so far: now, since this waits for writes as candidates do for each other
        team.arrive();
        steps_.eliminate_all(team, kept.candidates, shared.stage, [&](int j, const auto& pivot, T element) {
            follow(j, static_cast<int>(pivot.from), element, followed);
        });
        team.leaf_done();
        info = followed.info;
        if (thread_.warp == 0 && thread_.lane < width) {
            kept.moves.pivot_source[thread_.lane] = followed.source;
            kept.moves.top_target[thread_.lane] = followed.top_place;
        }
    }

    /// Writes columns of L to the rows' new places.
    __device__ __forceinline__ void store(Shared& shared) {
        store_moved(shared);
        __syncthreads();
        constexpr int chunk = pack;
        constexpr int chunks = width / chunk;
        const int total = rows_.count() * chunks;
        for (int i = thread_.number; i < total; i += team_threads) {
            const int row = i / chunks, part = i % chunks * chunk;
            if ((shared.moved[row / warp_lanes] >> row % warp_lanes & 1U) != 0) continue;
            const T* const from = &shared.stage[row * stage_ld + part];
            T* const to = panel_.at(rows_.begin + row, col_ + part);
            if (part + chunk <= count_) {
                *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
            } else {
                for (int c = 0; c < chunk; ++c) {
                    if (part + c < count_) to[c] = from[c];
                }
            }
        }
    }

  private:
    /// Rows that change places, or that are new to U; notes which they are.
    __device__ __forceinline__ void store_moved(Shared& shared) {
        steps_.for_each_row([&](int r, int row, int place) {
            const bool stays = place == rows_.begin + row && place >= col_ + width;
            const unsigned moved = __ballot_sync(0xffffffffU, !stays);
            if (thread_.lane == 0) shared.moved[r * Steps::warps + thread_.warp] = moved;
            if (stays || place == Steps::nowhere) return;
            // left of the diagonal only, where the row is one of U
            const int known = min(place - col_, count_);
            for (int c = 0; c < known; ++c) *panel_.at(place, col_ + c) = shared.stage[row * stage_ld + c];
        });
    }

    struct Followed {
        int top_place, source;
        Index* pivots;
        int info;
    };

    /// Warp 0 notes what step j exchanged, while the next candidates are on their way.
    __device__ __forceinline__ void follow(int j, int from, T pivot_element, Followed& f) const {
        if (thread_.warp != 0) return;
        const int diagonal = col_ + j;
        const unsigned was_top = __ballot_sync(0xffffffffU, thread_.lane < width && f.top_place == from);
        if (thread_.lane == j) f.source = was_top != 0 ? col_ + __ffs(static_cast<int>(was_top)) - 1 : from;
        f.top_place = after_exchange(f.top_place, from, diagonal);
        if (f.pivots == nullptr) return;
        if (thread_.lane == 0) {
            f.pivots[diagonal] = from;
            if (pivot_element == T{0} && f.info == 0) f.info = diagonal + 1;
        }
        // all blocks have taken their rows, or they would not have proposed any
        if (thread_.lane < count_ - j) *panel_.at(diagonal, diagonal + thread_.lane) = pivot_element;
    }

    const PanelView<T> panel_;
    const int col_, count_, pivots_;
    const BlockRows rows_;
    const BlockThread thread_;
    Steps steps_;
};

}  // namespace basalt::cuda_detail
