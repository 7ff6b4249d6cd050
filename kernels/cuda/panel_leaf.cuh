#pragma once

#include <limits>

#include "kernels/cuda/panel_team.cuh"

/// A few columns of a panel, factored on chip: each thread holds whole rows of them in registers, and the blocks of a
/// team meet once a column.
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

template <class T, int width, int rows_a_thread>
struct LeafShared {
    /// Rows of the staging buffer: the padding has a warp's threads hit different banks with 16 bytes each of their
    /// rows.
    static constexpr int stage_ld = width + 16 / static_cast<int>(sizeof(T));
    alignas(16) T stage[team_threads * rows_a_thread * stage_ld];
    unsigned moved[team_warps * rows_a_thread];  ///< by 32 rows of the block: those that change places
};

/// A thread's rows.
template <class T, int width, int rows_a_thread, class Team>
class Leaf {
  public:
    using Shared = LeafShared<T, width, rows_a_thread>;
    /// One a warp, by parity of the column: a warp may be one column ahead of another.
    using Candidates = typename Team::Message[2][team_warps];

    /// Columns [col, col + count) from row `col` on, of which `pivots` are eliminated.
    __device__ Leaf(PanelView<T> panel, int col, int count, int pivots, BlockRows rows, BlockThread thread)
        : panel_(panel), col_(col), count_(count), pivots_(pivots), rows_(rows), thread_(thread) {}

    /// `staged`: the columns are in the staging buffer, where they are fetched to otherwise.
    __device__ void load(Shared& shared, bool staged) {
        // neighbouring threads fetch neighbouring pieces of a row
        constexpr int piece = pack;
        constexpr int pieces = width / piece;
        const int total = staged ? 0 : rows_.count() * pieces;
        for (int i = thread_.number; i < total; i += team_threads) {
            const int row = i / pieces, part = i % pieces * piece;
            T* const to = &shared.stage[row * Shared::stage_ld + part];
            const T* const from = panel_.at(rows_.begin + row, col_ + part);
            if (part + piece <= count_) {
                copy_to_shared<piece>(to, from);
            } else {
                for (int c = 0; c < piece; ++c) to[c] = part + c < count_ ? from[c] : T{0};
            }
        }
        wait_for_copies();
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const int row = local_row(r);
            const bool exists = row < rows_.count();
            place_[r] = exists ? rows_.begin + row : nowhere;
            const T* const from = &shared.stage[row * Shared::stage_ld];
#pragma unroll
            for (int c = 0; c < width; c += pack) {
                if (exists) {
                    load_packed(from + c, &a_[r][c]);
                } else {
#pragma unroll
                    for (int q = 0; q < pack; ++q) a_[r][c + q] = T{0};
                }
            }
        }
    }

    /// Eliminates; columns of L go to the staging buffer. `pivots`: nullptr but for one block, which also writes the
    /// rows of U.
    __device__ __forceinline__ void factor(Team& team, Candidates& candidates, Shared& shared, LeafMoves<width>& moves,
                                           Index* pivots, int& info) {
        // lane k of warp 0 follows the leaf's top row number k and notes where pivot k came from
        Followed followed{col_ + thread_.lane, col_ + thread_.lane, pivots, info};
        propose<width>(0, team, candidates, [] {});
        // what the other columns got so far: now, since it waits for what was written as candidates do for each other
        team.arrive();
        // loops, not unrolled: the code itself would be what is waited for
#pragma unroll 1
        for (int j = 0; j < min(width / 2, pivots_); ++j) eliminate<width>(j, team, candidates, shared, followed);
#pragma unroll 1
        for (int j = width / 2; j < pivots_; ++j) eliminate<width / 2>(j, team, candidates, shared, followed);
        team.leaf_done();
        info = followed.info;
        if (thread_.warp == 0 && thread_.lane < width) {
            moves.pivot_source[thread_.lane] = followed.source;
            moves.top_target[thread_.lane] = followed.top_place;
        }
    }

    /// Writes columns of L to the rows' new places.
    __device__ __forceinline__ void store(Shared& shared) {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const int row = local_row(r);
            const bool stays = place_[r] == rows_.begin + row && place_[r] >= col_ + width;
            const unsigned moved = __ballot_sync(0xffffffffU, !stays);
            if (thread_.lane == 0) shared.moved[r * team_warps + thread_.warp] = moved;
            if (stays || place_[r] == nowhere) continue;
            // left of the diagonal only, where the row is one of U
            const int known = min(place_[r] - col_, count_);
            for (int c = 0; c < known; ++c) *panel_.at(place_[r], col_ + c) = shared.stage[row * Shared::stage_ld + c];
        }
        __syncthreads();
        constexpr int piece = pack;
        constexpr int pieces = width / piece;
        const int total = rows_.count() * pieces;
        for (int i = thread_.number; i < total; i += team_threads) {
            const int row = i / pieces, part = i % pieces * piece;
            if ((shared.moved[row / warp_lanes] >> row % warp_lanes & 1U) != 0) continue;
            const T* const from = &shared.stage[row * Shared::stage_ld + part];
            T* const to = panel_.at(rows_.begin + row, col_ + part);
            if (part + piece <= count_) {
                *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
            } else {
                for (int c = 0; c < piece; ++c) {
                    if (part + c < count_) to[c] = from[c];
                }
            }
        }
    }

  private:
    struct Followed {
        int top_place, source;
        Index* pivots;
        int info;
    };

    static constexpr int nowhere = -1;  ///< of a row that does not exist: comes before all columns
    static constexpr T denormal_scale = sizeof(T) == 8 ? T(1ULL << 54) : T(1ULL << 25);

    // by the upper half of magnitude(): above 2^1021 or 2^126 a reciprocal may be denormal
    static constexpr unsigned least_normal = sizeof(T) == 8 ? 1U << 20 : 1U << 23;
    static constexpr unsigned least_with_denormal_reciprocal = sizeof(T) == 8 ? 0x7fcU << 20 : 0xfdU << 23;
    static __device__ bool has_normal_reciprocal(std::uint64_t magnitude) {
        return static_cast<unsigned>(magnitude >> 32) - least_normal < least_with_denormal_reciprocal - least_normal;
    }

    /// Of zero, denormal and huge pivots and those that are no numbers.
    static __device__ PivotScale<T> careful_scale(T pivot, std::uint64_t magnitude) {
        if (magnitude == 0) return {T{1}, 0};
        const bool denormal = static_cast<unsigned>(magnitude >> 32) < least_normal;
        return {T{1} / (denormal ? pivot * denormal_scale : pivot), denormal};
    }

    /// Here, not only where it is used.
    static __device__ void computed(double& value) { asm volatile("" : "+d"(value)); }
    static __device__ void computed(float& value) { asm volatile("" : "+f"(value)); }

    /// 1 / x for normal x with a normal reciprocal, in a straight line, beside which other work can be scheduled: an
    /// approximation of 23 bits, and Newton's steps.
    static __device__ double normal_reciprocal(double x) {
        double y;
        asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
        y = fma(y, fma(-x, y, 1.0), y);
        return fma(y, fma(-x, y, 1.0), y);
    }
    static __device__ float normal_reciprocal(float x) {
        float y;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
        return fmaf(y, fmaf(-x, y, 1.0F), y);
    }

    static constexpr int pack = 16 / static_cast<int>(sizeof(T));
    static __device__ void load_packed(const T* from, T* to) {
        const uint4 word = *reinterpret_cast<const uint4*>(from);
        memcpy(to, &word, sizeof word);
    }
    static __device__ void store_packed(const T* from, T* to) {
        uint4 word;
        memcpy(&word, from, sizeof word);
        *reinterpret_cast<uint4*>(to) = word;
    }

    __device__ int local_row(int r) const { return r * team_threads + thread_.number; }

    /// The warp's best row for column j goes to shared memory, the block's best to the others. Of the row, the columns
    /// from j on: at most `cols`. Of these rest() updates all but the first, while the warp finds its best row.
    /// Behind the last pivot there is nothing to propose.
    template <int cols, class F>
    __device__ __forceinline__ void propose(int j, Team& team, Candidates& candidates, const F& rest) {
        PivotKey mine;
        T value{};
        int best_r = 0;
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const bool eligible = place_[r] >= col_ + j;
            const PivotKey key{eligible ? magnitude(a_[r][0], place_[r] == col_ + j) : 0,
                               eligible ? static_cast<unsigned>(place_[r]) : ~0U, 0};
            const bool better = r == 0 || key.better_than(mine);
            mine.magnitude = better ? key.magnitude : mine.magnitude;
            mine.row = better ? key.row : mine.row;
            value = better ? a_[r][0] : value;
            best_r = better ? r : best_r;
        }
        const unsigned highest = highest_of_warp(mine);
        PivotScale<T> scale{normal_reciprocal(value), 0};  // each lane its own candidate's, beside the updates
        rest();
        computed(scale.inverse);
        if (j >= pivots_) return;
        if (thread_.lane == best_lane(mine, highest)) {
            if (!has_normal_reciprocal(mine.magnitude)) scale = careful_scale(value, mine.magnitude);
            typename Team::Message& to = candidates[j & 1][thread_.warp];
            to.key = mine;
            to.row.scale = scale;
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) {
                if (r != best_r) continue;
#pragma unroll
                for (int c = 0; c < cols; c += pack) store_packed(&a_[r][c], &to.row.values[c]);
            }
        }
        __syncthreads();
        team.propose(j, candidates[j & 1], thread_);
    }

    /// Step j. Before it a_[r][c] is in column j + c of the leaf, after it in column j + 1 + c.
    template <int cols>
    __device__ __forceinline__ void eliminate(int j, Team& team, Candidates& candidates, Shared& shared,
                                              Followed& followed) {
        team.enter(PanelState::meet);
        const typename Team::Message& pivot_row = team.agreed(j, thread_);
        team.enter(PanelState::eliminate);
        const int diagonal = col_ + j, from = static_cast<int>(pivot_row.key.row);
        const auto [inverse, denormal] = pivot_row.row.scale;
        const T pivot_element = thread_.lane < width ? pivot_row.row.values[thread_.lane] : T{0};
        if (denormal != 0) {
            __syncwarp();  // a branch: nobody else should pay for this
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) a_[r][0] *= denormal_scale;
        }
        const T next_u = pivot_row.row.values[1];  // before anything is written, behind which it would be loaded
        T l[rows_a_thread];
        const auto update = [&](int c, T u) {
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) a_[r][c - 1] = a_[r][c] - l[r] * u;
        };
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            place_[r] = place_[r] == from ? diagonal : place_[r] == diagonal ? from : place_[r];
            l[r] = a_[r][0] * inverse;  // what a row of U becomes is of no matter: no branches
        }
        update(1, next_u);
        propose<cols>(j + 1, team, candidates, [&] {
#pragma unroll
            for (int c = 2; c < cols; ++c) update(c, pivot_row.row.values[c]);
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) {
                if (place_[r] > diagonal) shared.stage[local_row(r) * Shared::stage_ld + j] = l[r];
            }
        });
        follow(j, from, pivot_element, followed);
    }

    /// Warp 0 notes what step j exchanged, while the next candidates are on their way.
    __device__ __forceinline__ void follow(int j, int from, T pivot_element, Followed& f) const {
        if (thread_.warp != 0) return;
        const int diagonal = col_ + j;
        const unsigned was_top = __ballot_sync(0xffffffffU, thread_.lane < width && f.top_place == from);
        if (thread_.lane == j) f.source = was_top != 0 ? col_ + __ffs(static_cast<int>(was_top)) - 1 : from;
        f.top_place = f.top_place == from ? diagonal : f.top_place == diagonal ? from : f.top_place;
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
    T a_[rows_a_thread][width];
    int place_[rows_a_thread];  ///< the row's place so far
};

}  // namespace basalt::cuda_detail
