#pragma once

#include <cstdint>
#include <limits>

#include <cooperative_groups.h>

#include "kernels/cuda/block_thread.cuh"
#include "kernels/cuda/panel_log.cuh"

/// The blocks that factor a panel together: how they agree on a pivot, and how they wait for each other.
namespace basalt::cuda_detail {

// With eight warps a thread has 255 registers: four rows of sixteen columns fit. With sixteen the rows are half as
// many, but all that every warp does for itself is done twice as often.
constexpr int team_warps = 8;
constexpr int team_threads = team_warps * warp_lanes;
constexpr int most_cluster_blocks = 16;

/// How good a row is as a pivot: the larger absolute value, of equal ones the row that is further up. Absolute values
/// are compared as integers, as which they are in the same order.
struct alignas(16) PivotKey {
    std::uint64_t magnitude = 0;
    unsigned row = ~0U;
    unsigned unused = 0;  ///< fills the 16 bytes that are copied at once

    __device__ bool better_than(const PivotKey& other) const {
        // no branches: all rows of a thread are compared one after the other
        return (magnitude > other.magnitude) | ((magnitude == other.magnitude) & (row < other.row));
    }
};

template <class T>
__device__ std::uint64_t absolute_bits(T value) {
    if constexpr (sizeof(T) == 8) {
        return static_cast<std::uint64_t>(__double_as_longlong(value)) & ~(std::uint64_t{1} << 63);
    } else {
        return static_cast<std::uint64_t>(__float_as_uint(value) & 0x7fffffffU) << 32;
    }
}

/// As BLAS's idamax: what is not a number is never better than another, but stays where it comes first.
template <class T>
__device__ std::uint64_t magnitude(T value, bool on_diagonal) {
    const std::uint64_t bits = absolute_bits(value);
    const std::uint64_t no_number = on_diagonal ? ~std::uint64_t{0} : 0;
    return bits > absolute_bits(std::numeric_limits<T>::infinity()) ? no_number : bits;
}

/// The first half of best_lane(), which takes its time: something else may be done before the second.
__device__ inline unsigned highest_of_warp(const PivotKey& mine) {
    return __reduce_max_sync(0xffffffffU, static_cast<unsigned>(mine.magnitude >> 32));
}

/// The lane of a warp that has the best key.
__device__ inline int best_lane(const PivotKey& mine, unsigned highest) {
    constexpr unsigned all = 0xffffffffU;
    const auto high = static_cast<unsigned>(mine.magnitude >> 32), low = static_cast<unsigned>(mine.magnitude);
    unsigned best = __ballot_sync(all, high == highest);
    if ((best & (best - 1)) != 0) {  // 20 bits of the mantissa do not tell
        const unsigned lowest = __reduce_max_sync(all, high == highest ? low : 0U);
        const bool tied = high == highest && low == lowest;
        const unsigned row = __reduce_min_sync(all, tied ? mine.row : ~0U);
        best = __ballot_sync(all, tied && mine.row == row);
        best &= ~best + 1;  // several where there are no rows at all
    }
    return 31 - __clz(static_cast<int>(best));  // one instruction less than __ffs()
}

__device__ inline int best_lane(const PivotKey& mine) { return best_lane(mine, highest_of_warp(mine)); }

/// What a column is multiplied by where an element becomes the pivot.
template <class T>
struct alignas(16) PivotScale {
    T inverse;          ///< of the pivot, of the pivot times 2^k, or 1 where the pivot is zero
    unsigned denormal;  ///< whether the column is multiplied by 2^k first, since the pivot's own inverse may overflow
};

/// A row that some threads propose as pivot.
template <class T, int width>
struct alignas(16) ProposedRow {
    PivotKey key;
    struct alignas(16) Row {
        PivotScale<T> scale;
        T values[width];
    } row;

    static constexpr int words = static_cast<int>((sizeof(PivotKey) + sizeof(Row)) / sizeof(uint4));
    static_assert(sizeof(Row) == sizeof(PivotScale<T>) + width * sizeof(T));
};

/// Which of `count` <= 32 candidates is best, known to all lanes of the warp.
template <class C>
__device__ int best_candidate(const C* candidates, int count, int lane) {
    return best_lane(lane < count ? candidates[lane].key : PivotKey{});
}

/// The block's dynamic shared memory. What a team needs of it comes first. Named anew in each function, since a pointer
/// that went through a call is no longer known to be one to shared memory.
__device__ inline char* dynamic_shared() {
    extern __shared__ __align__(16) char memory[];
    return memory;
}

/// The blocks of one cluster. A candidate travels as stores to the other blocks' shared memory that count on a barrier
/// there: a block goes on as soon as it has all candidates, with no round trip.
template <class T, int width>
class ClusterTeam {
  public:
    using Message = ProposedRow<T, width>;
    struct Shared {
        // by parity of the step: who is one step ahead writes to the other half
        Message arrived[2][most_cluster_blocks];
        alignas(8) std::uint64_t barrier[2];
    };
    struct Global {};  ///< nothing in the device's memory
    using Memory = Global*;
    static constexpr bool in_cluster = true;

    static __device__ int rank() { return static_cast<int>(cooperative_groups::this_cluster().block_rank()); }
    static __device__ int size() { return static_cast<int>(cooperative_groups::this_cluster().num_blocks()); }

    __device__ explicit ClusterTeam(Global*) : rank_(rank()), size_(size()) {
        if (threadIdx.x < 2) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&shared().barrier[threadIdx.x]))
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        arrive();
        wait();
        const BlockThread thread;
        for (int n = 0; n < blocks_a_warp; ++n) {
            const int block = min(thread.warp + n * team_warps, size_ - 1);
            slots_[n] = remote(address(&shared().arrived[0][rank_]), block) + thread.lane * sizeof(uint4);
            barriers_[n] = remote(address(&shared().barrier[0]), block);
        }
    }

    /// Called by all threads after the block's warps have written their candidates and met. `step`: of the leaf,
    /// from 0.
    __device__ void propose(int step, const Message* of_warps, BlockThread thread) {
        const int half = step & 1;
        const uint4* const from =
            reinterpret_cast<const uint4*>(&of_warps[best_candidate(of_warps, team_warps, thread.lane)]);
        const uint4 word = thread.lane < Message::words ? from[thread.lane] : uint4{};
        if (threadIdx.x == warp_lanes - 1) {
            asm volatile(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&shared().barrier[half])),
                "r"(static_cast<unsigned>(size_ * sizeof(Message)))
                : "memory");
        }
#pragma unroll
        for (int n = 0; n < blocks_a_warp; ++n) {
            if (thread.lane >= Message::words || thread.warp + n * team_warps >= size_) continue;
            const unsigned to = slots_[n] + half * sizeof(shared().arrived[0]);
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                    to),
                "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w),
                "r"(barriers_[n] + half * static_cast<unsigned>(sizeof(shared().barrier[0])))
                : "memory");
        }
    }

    /// The best of what the blocks proposed, when all have. Valid until the next call.
    __device__ const Message& agreed(int step, BlockThread thread) {
        const int half = step & 1;
        const unsigned phase = static_cast<unsigned>(step >> 1 & 1);  // leaves take a multiple of four steps
        unsigned done = 0;
        // Acquired for the block, whose shared memory is all that is read: for the cluster it would also empty the
        // first cache of the device's memory, in each step.
        while (done == 0) {
            asm volatile(
                "{\n\t.reg .pred p;\n\t"
                "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n\t"
                "selp.u32 %0, 1, 0, p;\n\t}"
                : "=r"(done)
                : "r"(address(&shared().barrier[half])), "r"(phase)
                : "memory");
        }
        const Message* const arrived = shared().arrived[half];
        return arrived[best_candidate(arrived, size_, thread.lane)];
    }

    __device__ void leaf_done() {}
    static __device__ void enter(PanelState) {}
    static __device__ void leave() {}

    /// What all threads of all blocks wrote before arrive() is seen by all behind wait().
    __device__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
    __device__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

  private:
    static __device__ unsigned address(const void* shared) {
        return static_cast<unsigned>(__cvta_generic_to_shared(shared));
    }
    static __device__ unsigned remote(unsigned address, int block) {
        unsigned there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
        return there;
    }

    static constexpr int blocks_a_warp = most_cluster_blocks / team_warps;

    static __device__ Shared& shared() { return *reinterpret_cast<Shared*>(dynamic_shared()); }

    int rank_, size_;
    unsigned slots_[blocks_a_warp];  ///< in the blocks that this warp sends to: where this lane's part goes
    unsigned barriers_[blocks_a_warp];
};

/// Any blocks that are resident at the same time. Candidates are exchanged through the device's memory: 16 bytes are
/// written and read as a whole, and carry the number of the step, so that no flag has to be waited for beside them.
template <class T, int width>
class GridTeam {
  public:
    using Message = ProposedRow<T, width>;
    static constexpr int most_blocks = 256;
    static constexpr int row_words = static_cast<int>(sizeof(typename Message::Row)) / 8;
    static_assert(row_words < warp_lanes);
    struct Shared {
        Message agreed[2];
    };
    /// Zeros at the start.
    struct Global {
        uint4 keys[2][most_blocks];
        uint4 rows[2][most_blocks][row_words];  ///< eight bytes of a row and the step's number
        unsigned arrived;
    };
    using Memory = Global*;
    static constexpr bool in_cluster = false;

    static __device__ int rank() { return static_cast<int>(blockIdx.x); }
    static __device__ int size() { return static_cast<int>(gridDim.x); }

    __device__ explicit GridTeam(Global* global) : global_(global) {}

    __device__ void propose(int step, const Message* of_warps, BlockThread thread) {
        if (thread.warp != 0) return;
        const int half = step & 1;
        const unsigned epoch = steps_done_ + static_cast<unsigned>(step) + 1;
        const Message& best = of_warps[best_candidate(of_warps, team_warps, thread.lane)];
        if (thread.lane == 0) {
            const auto magnitude = best.key.magnitude;
            store(&global_->keys[half][rank()],
                  {static_cast<unsigned>(magnitude), static_cast<unsigned>(magnitude >> 32), best.key.row, epoch});
        } else if (thread.lane <= row_words) {
            const uint2 word = reinterpret_cast<const uint2*>(&best.row)[thread.lane - 1];
            store(&global_->rows[half][rank()][thread.lane - 1], {word.x, word.y, epoch, 0});
        }
    }

    /// The best of what the blocks proposed.
    __device__ const Message& agreed(int step, BlockThread thread) {
        const int half = step & 1;
        const unsigned epoch = steps_done_ + static_cast<unsigned>(step) + 1;
        Message& agreed = shared().agreed[half];
        if (thread.warp == 0) {
            PivotKey mine;
            unsigned from = 0;
            for (int block = thread.lane; block < size(); block += warp_lanes) {
                uint4 word;
                do word = load(&global_->keys[half][block]);
                while (word.w != epoch);
                const PivotKey key{static_cast<std::uint64_t>(word.y) << 32 | word.x, word.z, 0};
                if (key.better_than(mine)) {
                    mine = key;
                    from = static_cast<unsigned>(block);
                }
            }
            const int lane = best_lane(mine);
            from = __shfl_sync(0xffffffffU, from, lane);
            if (thread.lane == lane) agreed.key = mine;
            if (thread.lane < row_words) {
                uint4 word;
                do word = load(&global_->rows[half][from][thread.lane]);
                while (word.z != epoch);
                reinterpret_cast<uint2*>(&agreed.row)[thread.lane] = make_uint2(word.x, word.y);
            }
        }
        __syncthreads();
        return agreed;
    }
    __device__ void leaf_done() { steps_done_ += width; }
    static __device__ void enter(PanelState) {}
    static __device__ void leave() {}

    __device__ void arrive() {
        __syncthreads();
        if (threadIdx.x != 0) return;
        __threadfence();  // release: what the block's threads wrote before the barrier above
        atomicAdd(&global_->arrived, 1U);
        expected_ += static_cast<unsigned>(size());
    }
    __device__ void wait() {
        if (threadIdx.x == 0) {
            unsigned arrived;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(&global_->arrived) : "memory");
            while (arrived < expected_);
            __threadfence();
        }
        __syncthreads();
    }

  private:
    static __device__ void store(uint4* to, uint4 word) {
        asm volatile(
            "{\n\t.reg .b64 low, high;\n\t.reg .b128 word;\n\t"
            "mov.b64 low, {%1, %2};\n\tmov.b64 high, {%3, %4};\n\tmov.b128 word, {low, high};\n\t"
            "st.relaxed.gpu.global.b128 [%0], word;\n\t}" ::"l"(to),
            "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
            : "memory");
    }
    static __device__ uint4 load(const uint4* from) {
        uint4 word;
        asm volatile(
            "{\n\t.reg .b64 low, high;\n\t.reg .b128 word;\n\t"
            "ld.relaxed.gpu.global.b128 word, [%4];\n\tmov.b128 {low, high}, word;\n\t"
            "mov.b64 {%0, %1}, low;\n\tmov.b64 {%2, %3}, high;\n\t}"
            : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
            : "l"(from)
            : "memory");
        return word;
    }

    static __device__ Shared& shared() { return *reinterpret_cast<Shared*>(dynamic_shared()); }

    Global* global_;
    unsigned steps_done_ = 0;  ///< of former leaves
    unsigned expected_ = 0;    ///< thread 0's
};

}  // namespace basalt::cuda_detail
