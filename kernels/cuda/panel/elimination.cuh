#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/panel/team.cuh"

namespace basalt::cuda_detail {

/// 16 bytes between shared memory and registers.
template <class T>
__device__ void load_packed(const T* from, T* to) {
    const uint4 word = *reinterpret_cast<const uint4*>(from);
    memcpy(to, &word, sizeof word);
}
template <class T>
__device__ void store_packed(const T* from, T* to) {
    uint4 word;
    memcpy(&word, from, sizeof word);
    *reinterpret_cast<uint4*>(to) = word;
}

/// Where a row is after those at two places were exchanged.
__device__ inline int after_exchange(int place, int from, int to) {
    return place == from ? to : place == to ? from : place;
}

/// The rows that one of a panel's threads holds in registers, `width` columns of them, while these are eliminated: the
/// blocks of the team meet once a column. The block's first Team::eliminating_warps warps have rows. Columns of L go to
/// the staging buffer in shared memory, whose rows are `stage_ld` apart. `names_holder`: keys say in whose registers a
/// row is.
template <class T, int width, int rows_a_thread, class Team, int stage_ld, bool names_holder = false>
class Elimination {
    static constexpr int pack = 16 / static_cast<int>(sizeof(T));

  public:
    static constexpr int warps = Team::eliminating_warps;
    static constexpr int block_rows = warps * warp_lanes * rows_a_thread;
    using Message = typename Team::Message;
    /// What a block's warps propose.
    struct Candidates {
        PivotKey of_warps[2][team_warps];  ///< by parity of the column: a warp may be one column ahead of another
        /// Written by the warp that proposes it, which alone reads it.
        Message rows[Team::warps_propose ? warps : 1];
    };

    __device__ explicit Elimination(BlockThread thread) : thread_(thread) {}

    /// The next steps are those of `pivots` columns from `col` on, whose first pivot belongs to row `col`.
    __device__ void begin(int col, int pivots) {
        col_ = col;
        pivots_ = pivots;
    }

    /// The thread's rows, of `count` that begin with row `first` of the panel.
    __device__ __forceinline__ void take_places(int first, int count) {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) place_[r] = local_row(r) < count ? first + local_row(r) : nowhere;
    }
    /// Their columns, from the staging buffer.
    __device__ __forceinline__ void take(const T* stage) {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) {
            const T* const from = &stage[local_row(r) * stage_ld];
#pragma unroll
            for (int c = 0; c < width; c += pack) {
                if (place_[r] != nowhere) {
                    load_packed(from + c, &a_[r][c]);
                } else {
#pragma unroll
                    for (int q = 0; q < pack; ++q) a_[r][c + q] = T{0};
                }
            }
        }
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
        mine.scale = {normal_reciprocal(mine.value), T{1}};  // each lane for its own candidate, while updates run
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
        if constexpr (names_holder)
            mine.key.holder = static_cast<unsigned>(Team::rank() * block_rows + local_row(mine.number));
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

    /// Step j. Before it a_[r][c] is in column j + c, after it in column j + 1 + c. noted(pivot, element): called when
    /// the thread's part is done, and the next candidates are on their way; `element`: in lane k, number k of the
    /// pivot's row from the pivot on.
    template <int cols, class F>
    __device__ __forceinline__ void eliminate(int j, Team& team, Candidates& candidates, T* stage, const F& noted) {
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
            place_[r] = after_exchange(place_[r], from, diagonal);
            // rows of U are not used any more: no branches
            l[r] = a_[r][0] * pivot.scale.first * pivot.scale.inverse;
        }
        update(1, pivot.second);
        propose<cols>(j + 1, team, candidates, [&] {
#pragma unroll
            for (int c = 2; c < cols; ++c) update(c, u[c]);
#pragma unroll
            for (int r = 0; r < rows_a_thread; ++r) {
                if (place_[r] > diagonal) stage[local_row(r) * stage_ld + j] = l[r];
            }
        });
        noted(pivot, pivot_element);
    }

    /// All steps, of which number j is noted by noted(j, pivot, element), after the first candidates were proposed.
    template <class F>
    __device__ __forceinline__ void eliminate_all(Team& team, Candidates& candidates, T* stage, const F& noted) {
        // loops, not unrolled: unrolled code would have to be fetched first
        const auto step = [&](auto cols, int j) {
            eliminate<decltype(cols)::value>(j, team, candidates, stage,
                                             [&](const auto& pivot, T element) { noted(j, pivot, element); });
        };
#pragma unroll 1
        for (int j = 0; j < min(width / 2, pivots_); ++j) step(std::integral_constant<int, width>(), j);
#pragma unroll 1
        for (int j = width / 2; j < pivots_; ++j) step(std::integral_constant<int, width / 2>(), j);
    }

    /// Where the thread's rows are now.
    template <class F>
    __device__ __forceinline__ void for_each_row(const F& f) const {
#pragma unroll
        for (int r = 0; r < rows_a_thread; ++r) f(r, local_row(r), place_[r]);
    }

    static constexpr int nowhere = -1;  ///< of a row that does not exist: comes before all columns

  private:
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

    /// 1 / x for normal x with a normal reciprocal, in straight-line code that the compiler can interleave with other
    /// instructions: an approximation of 23 bits, and Newton's steps.
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

    // 16 bytes to shared memory, without a branch, which takes longer than the stores.
    static __device__ void store_if(bool condition, const PivotKey& key, PivotKey* to) {
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t@p st.shared.v2.b64 [%0], {%1, %2};\n\t}" ::"r"(
                         shared_address(to)),
                     "l"(key.magnitude), "l"(static_cast<std::uint64_t>(key.holder) << 32 | key.row),
                     "r"(condition ? 1 : 0)
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

    const BlockThread thread_;
    int col_ = 0, pivots_ = 0;
    T a_[rows_a_thread][width];
    int place_[rows_a_thread];  ///< the row's place so far
};

}  // namespace basalt::cuda_detail
