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

/// Of a block with so many rows.
template <class T, int width, int rows>
struct LeafShared {
    /// Rows of the staging buffer: the padding has a warp's threads hit different banks with 16 bytes each of their
    /// rows.
    static constexpr int stage_ld = width + 16 / static_cast<int>(sizeof(T));
    alignas(16) T stage[rows * stage_ld];
    unsigned moved[rows / warp_lanes];  ///< by 32 rows of the block: those that change places
};

/// A thread's rows. The block's first Team::eliminating_warps warps have them; the others help to load and to store.
template <class T, int width, int rows_a_thread, class Team>
class Leaf {
  public:
    static constexpr int warps = Team::eliminating_warps;
    static constexpr int block_rows = warps * warp_lanes * rows_a_thread;
    using Shared = LeafShared<T, width, block_rows>;
    using Message = typename Team::Message;
    /// What a block's warps propose.
    struct Candidates {
        PivotKey of_warps[2][team_warps];  ///< by parity of the column: a warp may be one column ahead of another
        /// Written by the warp that proposes it, which alone reads it.
        Message rows[Team::warps_propose ? warps : 1];
    };

    /// Columns [col, col + count) from row `col` on, of which `pivots` are eliminated.
    __device__ Leaf(PanelView<T> panel, int col, int count, int pivots, BlockRows rows, BlockThread thread)
        : panel_(panel), col_(col), count_(count), pivots_(pivots), rows_(rows), thread_(thread) {}

    __device__ bool eliminates() const { return warps == team_warps || thread_.warp < warps; }

    /// To the staging buffer, for the block. `staged`: they are there.
    __device__ void fetch(Shared& shared, bool staged) {
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
    }

    /// The thread's rows from there.
    __device__ __forceinline__ void take(const Shared& shared) {
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
        if (eliminates()) store_moved(shared);
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
    /// Rows that change places, or that are new to U; notes which they are.
    __device__ __forceinline__ void store_moved(Shared& shared) {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const int row = local_row(r);
            const bool stays = place_[r] == rows_.begin + row && place_[r] >= col_ + width;
            const unsigned moved = __ballot_sync(0xffffffffU, !stays);
            if (thread_.lane == 0) shared.moved[r * warps + thread_.warp] = moved;
            if (stays || place_[r] == nowhere) continue;
            // left of the diagonal only, where the row is one of U
            const int known = min(place_[r] - col_, count_);
            for (int c = 0; c < known; ++c) *panel_.at(place_[r], col_ + c) = shared.stage[row * Shared::stage_ld + c];
        }
    }

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
    static __device__ bool has_normal_reciprocal(unsigned upper) {
        return upper - least_normal < least_with_denormal_reciprocal - least_normal;
    }

    /// Of zero, denormal and huge pivots and those that are no numbers.
    static __device__ PivotScale<T> careful_scale(T pivot, std::uint64_t magnitude) {
        if (magnitude == 0) return {T{1}, T{1}};
        const T first = upper_half(magnitude) < least_normal ? denormal_scale : T{1};
        return {T{1} / (pivot * first), first};
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

    // 16 bytes to shared memory, without a branch, which takes longer than the stores.
    static __device__ void store_if(bool condition, const PivotKey& key, PivotKey* to) {
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t@p st.shared.v2.b64 [%0], {%1, %2};\n\t}" ::"r"(
                         shared_address(to)),
                     "l"(key.magnitude), "l"(static_cast<std::uint64_t>(key.row)), "r"(condition ? 1 : 0)
                     : "memory");
    }
    static __device__ void store_if(bool condition, const PivotScale<double>& scale, PivotScale<double>* to) {
        const double values[] = {scale.inverse, scale.first};
        store_if(condition, values, &to->inverse);
    }
    static __device__ void store_if(bool condition, const PivotScale<float>& scale, PivotScale<float>* to) {
        if (condition) *to = scale;
    }
    static __device__ void store_if(bool condition, const double* values, double* to) {
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t@p st.shared.v2.f64 [%0], {%1, %2};\n\t}" ::"r"(
                         shared_address(to)),
                     "d"(values[0]), "d"(values[1]), "r"(condition ? 1 : 0)
                     : "memory");
    }
    static __device__ void store_if(bool condition, const float* values, float* to) {
        asm volatile(
            "{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t@p st.shared.v4.f32 [%0], {%1, %2, %3, %4};\n\t}" ::"r"(
                shared_address(to)),
            "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3]), "r"(condition ? 1 : 0)
            : "memory");
    }

    __device__ int local_row(int r) const { return r * warps * warp_lanes + thread_.number; }

    /// The best of a thread's rows.
    struct Proposal {
        PivotKey key;
        PivotScale<T> scale;
        T value;
        int number;

        __device__ void take(int r, T candidate, int place) {
            value = candidate;
            key.row = static_cast<unsigned>(place);
            number = r;
        }
    };

    /// By all bits, and whatever its value is.
    __device__ Proposal proposal(int j) const {
        Proposal best{};
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            if (place_[r] < col_ + j) continue;
            const PivotKey key{magnitude(a_[r][0], place_[r] == col_ + j), static_cast<unsigned>(place_[r]), 0};
            if (!key.better_than(best.key)) continue;
            best.take(r, a_[r][0], place_[r]);
            best.key = key;
        }
        const bool normal = has_normal_reciprocal(best.key.upper());
        best.scale =
            normal ? PivotScale<T>{normal_reciprocal(best.value), T{1}} : careful_scale(best.value, best.key.magnitude);
        return best;
    }

    /// The best row for column j, of the warp or of the block, is proposed to the others: its columns from j on, at
    /// most `cols`. Of these rest() updates all but the first, while the warp finds its best row. Behind the last pivot
    /// there is nothing to propose.
    template <int cols, class F>
    __device__ __forceinline__ void propose(int j, Team& team, Candidates& candidates, const F& rest) {
        // NaN and infinity are too large for has_normal_reciprocal(), zeros and rows that do not take part too small:
        // where such a row is the best one, or several may be, all bits are looked at.
        unsigned upper[rows_a_thread], most = 0;
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            upper[r] = place_[r] >= col_ + j ? upper_absolute_bits(a_[r][0]) : 0;
            most = max(most, upper[r]);
        }
        Tagged tagged(most, thread_.lane);
        tagged.take_largest_of_warp();
        Proposal mine{};
        int level = 0;
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            if (r == 0 || upper[r] == most) mine.take(r, a_[r][0], place_[r]);
            level += tagged.level_with(upper[r]) ? 1 : 0;
        }
        mine.scale = {normal_reciprocal(mine.value), T{1}};  // each lane its own candidate's, beside the updates
        rest();
        computed(mine.scale.inverse);
        if (j >= pivots_) return;
        mine.key.magnitude = absolute_bits(mine.value);
        int best = tagged.lane();
        const bool rivals = __any_sync(0xffffffffU, level > (thread_.lane == best ? 1 : 0));
        if (rivals || !has_normal_reciprocal(tagged.bits)) {
            mine = proposal(j);
            best = best_lane(mine.key);
        }
        const bool proposes = thread_.lane == best;
        if constexpr (!Team::warps_propose) {
            PivotKey* const of_warps = candidates.of_warps[j & 1];
            if (proposes) of_warps[thread_.warp] = mine.key;
            thread_.meet();
            const PivotKey of_warp = thread_.lane < warps ? of_warps[thread_.lane] : PivotKey{};
            if (thread_.warp != best_lane(of_warp, thread_.lane)) return;
        }
        Message& message = candidates.rows[Team::warps_propose ? thread_.warp : 0];
        store_if(proposes, mine.key, &message.key);
        store_if(proposes, mine.scale, &message.row.scale);
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const bool row_proposed = proposes && r == mine.number;
#pragma unroll
            for (int c = 0; c < cols; c += pack) store_if(row_proposed, &a_[r][c], &message.row.values[c]);
        }
        __syncwarp();
        team.propose(j, message, thread_);
        __syncwarp();  // the message was read: the next one may take its place
    }

    /// Step j. Before it a_[r][c] is in column j + c of the leaf, after it in column j + 1 + c.
    template <int cols>
    __device__ __forceinline__ void eliminate(int j, Team& team, Candidates& candidates, Shared& shared,
                                              Followed& followed) {
        team.enter(PanelState::meet);
        const auto pivot = team.agreed(j, thread_);
        team.enter(PanelState::eliminate);
        const int diagonal = col_ + j, from = static_cast<int>(pivot.from);
        const T* const u = pivot.row->values;
        const T pivot_element = thread_.lane < width ? u[thread_.lane] : T{0};
        T l[rows_a_thread];
        const auto update = [&](int c, T of_pivot) {
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) a_[r][c - 1] = a_[r][c] - l[r] * of_pivot;
        };
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            place_[r] = place_[r] == from ? diagonal : place_[r] == diagonal ? from : place_[r];
            // what a row of U becomes is of no matter: no branches
            l[r] = a_[r][0] * pivot.scale.first * pivot.scale.inverse;
        }
        update(1, pivot.second);
        propose<cols>(j + 1, team, candidates, [&] {
#pragma unroll
            for (int c = 2; c < cols; ++c) update(c, u[c]);
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
