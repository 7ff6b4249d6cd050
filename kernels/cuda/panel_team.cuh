#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <cooperative_groups.h>

#include "kernels/cuda/block_thread.cuh"
#include "kernels/cuda/panel_log.cuh"

/// The blocks that factor a panel together: how they agree on a pivot, and how they wait for each other.
namespace basalt::cuda_detail {

// With eight warps a thread has 255 registers: four rows of sixteen columns fit, or two of 32. With sixteen the rows
// are half as many, but all that every warp does for itself is done twice as often.
constexpr int team_warps = 8;
constexpr int team_threads = team_warps * warp_lanes;
constexpr int most_cluster_blocks = 16;
constexpr unsigned lane_bits = warp_lanes - 1;

/// How good a row is as a pivot: the larger absolute value, of equal ones the row that is further up. Absolute values
/// are compared as integers, as which they are in the same order.
struct alignas(16) PivotKey {
    std::uint64_t magnitude = 0;
    unsigned row = ~0U;
    unsigned unused = 0;  ///< fills the 16 bytes that are copied at once

    __device__ bool exists() const { return row != ~0U; }
    __device__ unsigned upper() const { return static_cast<unsigned>(magnitude >> 32); }

    __device__ bool better_than(const PivotKey& other) const {
        // no branches: all rows of a thread are compared one after the other
        return (magnitude > other.magnitude) | ((magnitude == other.magnitude) & (row < other.row));
    }
};

template <class T>
__device__ unsigned upper_absolute_bits(T value) {
    if constexpr (sizeof(T) == 8) {
        return static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffU;
    } else {
        return __float_as_uint(value) & 0x7fffffffU;
    }
}

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

/// The upper half of a key's magnitude, of which the lowest five bits name the lane, the first one by the largest
/// number: the largest of a warp names the lane that has the best key, where no other has the same upper bits, and the
/// first where no lane has any.
struct Tagged {
    unsigned bits;

    __device__ Tagged(unsigned upper, int lane)
        : bits((upper & ~lane_bits) | (static_cast<unsigned>(lane) ^ lane_bits)) {}

    /// All lanes call it. It takes its time: something else may be done before the result is asked for.
    __device__ void take_largest_of_warp() { bits = __reduce_max_sync(0xffffffffU, bits); }
    __device__ int lane() const { return static_cast<int>(~bits & lane_bits); }
    __device__ bool level_with(unsigned upper) const { return ((upper ^ bits) & ~lane_bits) == 0; }
};

/// The lane of a warp that has the best key, by all bits.
__device__ inline int best_lane(const PivotKey& mine) {
    constexpr unsigned all = 0xffffffffU;
    const unsigned high = mine.upper(), low = static_cast<unsigned>(mine.magnitude);
    const unsigned highest = __reduce_max_sync(all, high), lowest = __reduce_max_sync(all, high == highest ? low : 0U);
    const bool tied = high == highest && low == lowest;
    const unsigned row = __reduce_min_sync(all, tied ? mine.row : ~0U);
    return __ffs(static_cast<int>(__ballot_sync(all, tied && mine.row == row))) - 1;
}

/// Whether it need not be the lane that `best` names.
__device__ inline bool contested(const PivotKey& mine, const Tagged& best, int lane) {
    return __any_sync(0xffffffffU, mine.exists() && best.level_with(mine.upper()) && lane != best.lane());
}

__device__ inline int best_lane(const PivotKey& mine, int lane) {
    Tagged best(mine.upper(), lane);
    best.take_largest_of_warp();
    return contested(mine, best, lane) ? best_lane(mine) : best.lane();
}

/// What a column is multiplied by where an element becomes the pivot.
template <class T>
struct alignas(16) PivotScale {
    T inverse;  ///< of the pivot times `first`, or 1 where the pivot is zero
    T first;    ///< 1, or of a denormal pivot, whose own inverse may overflow, a power of two
};

/// A row that some threads propose as pivot.
template <class T, int width>
struct alignas(16) ProposedRow {
    PivotKey key;
    struct alignas(16) Row {
        PivotScale<T> scale;
        T values[width];  ///< from the pivot's column on
    } row;

    static_assert(sizeof(Row) == sizeof(PivotScale<T>) + width * sizeof(T));

    /// Words of 16 bytes that hold the first `values` values and what comes before them.
    static __device__ int words_with(int values) {
        constexpr int word = static_cast<int>(sizeof(uint4)),
                      first = static_cast<int>(sizeof(PivotKey) + offsetof(Row, values));
        return (first + values * static_cast<int>(sizeof(T)) + word - 1) / word;
    }
};

/// The row that all agree on, and what of it is needed first.
template <class Row>
struct PivotRow {
    unsigned from;
    const Row* row;
    decltype(Row::scale) scale;
    std::remove_cvref_t<decltype(Row::values[0])> second;  ///< value

    __device__ PivotRow(const PivotKey& key, const Row& of)
        : from(key.row), row(&of), scale(of.scale), second(of.values[1]) {}
};

/// The block's dynamic shared memory. What a team needs of it comes first. Named anew in each function, since a pointer
/// that went through a call is no longer known to be one to shared memory.
__device__ inline char* dynamic_shared() {
    extern __shared__ __align__(16) char memory[];
    return memory;
}

/// The blocks of one cluster, 4, 8 or 16, of which the first `warps` warps eliminate. A candidate travels as stores to
/// the other blocks' shared memory that count on a barrier there: a block goes on as soon as it has all candidates,
/// with no round trip. Candidates are those of blocks, or of warps where these are few enough.
template <class T, int width, int warps = team_warps>
class ClusterTeam {
  public:
    using Row = typename ProposedRow<T, width>::Row;
    static constexpr int eliminating_warps = warps;
    static constexpr bool warps_propose = warps < team_warps;
    static constexpr int candidates_a_block = warps_propose ? warps : 1;
    // A warp sends eight words to four blocks at once: more blocks take longer, and so do branches around lanes.
    static constexpr int words_at_once = 8, blocks_at_once = warp_lanes / words_at_once;
    static constexpr int least_blocks = blocks_at_once,
                         most_blocks = std::min(most_cluster_blocks, warp_lanes / candidates_a_block);
    static constexpr bool in_cluster = true;

  private:
    static constexpr int rounds =
        (static_cast<int>(sizeof(ProposedRow<T, width>) / sizeof(uint4)) + words_at_once - 1) / words_at_once;

  public:
    struct Message : ProposedRow<T, width> {
        // whole rounds are sent; there is some for all widths and precisions, or the array would be refused
        char unused[rounds * words_at_once * sizeof(uint4) - sizeof(ProposedRow<T, width>)];
    };
    struct Shared {
        // by parity of the step: who is one step ahead writes to the other half
        struct Arrived {
            PivotKey keys[most_blocks * candidates_a_block];  // side by side, as the lanes of a warp read them
            struct Slot {
                Row row;
                char unused[sizeof(Message) - sizeof(PivotKey) - sizeof(Row)];
            } rows[most_blocks * candidates_a_block];
        } arrived[2];
        alignas(8) std::uint64_t barrier[2];
    };
    struct Global {};  ///< nothing in the device's memory
    using Memory = Global*;

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
        const int part = thread.lane % words_at_once, block = thread.lane / words_at_once;
        const auto& arrived = shared().arrived[0];
        const int number = warps_propose ? rank_ * warps + thread.warp % warps : rank_;
        const unsigned row = address(&arrived.rows[number]) + (part - 1) * sizeof(uint4);
        key_ = remote(part == 0 ? address(&arrived.keys[number]) : row, block);
        row_ = remote(row, block);
        barrier_ = remote(address(&shared().barrier[0]), block);
        // all blocks' windows are equally far apart; not used where there are no more blocks
        next_blocks_ = remote(row, block + blocks_at_once) - row_;
    }

    /// Called by each warp that proposes. `step`: of the leaf, from 0.
    __device__ void propose(int step, const Message& candidate, BlockThread thread) {
        const int half = step & 1, words = Message::words_with(width - step);
        const unsigned in_half = half * static_cast<unsigned>(sizeof(shared().arrived[0])),
                       barrier = barrier_ + half * static_cast<unsigned>(sizeof(shared().barrier[0]));
        const auto* const from = reinterpret_cast<const uint4*>(&candidate) + thread.lane % words_at_once;
        uint4 parts[rounds];
#pragma unroll
        for (int r = 0; r < rounds; ++r) parts[r] = from[r * words_at_once];
#pragma unroll
        for (int r = 0; r < rounds; ++r) {
            if (r > 0 && r * words_at_once >= words) break;
            const uint4 word = parts[r];
            const unsigned to =
                in_half + (r == 0 ? key_ : row_ + r * words_at_once * static_cast<unsigned>(sizeof word));
#pragma unroll
            for (int n = 0; n < most_blocks / blocks_at_once; ++n) {
                // sizes are powers of two
                if (n > 0 && (n & (n - 1)) == 0 && n * blocks_at_once >= size_) break;
                asm volatile(
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
                    "[%5];" ::"r"(to + n * next_blocks_),
                    "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w), "r"(barrier + n * next_blocks_)
                    : "memory");
            }
        }
        if (thread.lane == 0 && (!warps_propose || thread.warp == 0)) {
            const int sent = (words + words_at_once - 1) / words_at_once * words_at_once;
            asm volatile(
                "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&shared().barrier[half])),
                "r"(static_cast<unsigned>(size_ * candidates_a_block * sent * sizeof(uint4)))
                : "memory");
        }
    }

    /// The best of what was proposed, when all have. Valid until the next call. Called by the warps that eliminate.
    __device__ PivotRow<Row> agreed(int step, BlockThread thread) {
        const int half = step & 1;
        const unsigned phase = static_cast<unsigned>(step >> 1 & 1);  // leaves take a multiple of four steps
        // Acquired for the block, whose shared memory is all that is read: for the cluster it would also empty the
        // first cache of the device's memory, in each step. Uniform, since a warp's lanes ask the same barrier at once.
        asm volatile(
            "{\n\t.reg .pred p;\n\tAGAIN_%=:\n\t"
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n\t"
            "@!p bra.uni AGAIN_%=;\n\t}" ::"r"(address(&shared().barrier[half])),
            "r"(phase)
            : "memory");
        const auto& arrived = shared().arrived[half];
        const auto row = [&](int candidate) {
            return PivotRow<Row>(arrived.keys[candidate], arrived.rows[candidate].row);
        };
        const PivotKey mine = thread.lane < size_ * candidates_a_block ? arrived.keys[thread.lane] : PivotKey{};
        Tagged best(mine.upper(), thread.lane);
        best.take_largest_of_warp();
        PivotRow<Row> agreed = row(best.lane());  // fetched while it is not certain yet
        if (contested(mine, best, thread.lane)) agreed = row(best_lane(mine));
        return agreed;
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

    static __device__ Shared& shared() { return *reinterpret_cast<Shared*>(dynamic_shared()); }

    int rank_, size_;
    // where this lane's words of a candidate go in the first block that it sends to, and how far it is to the next one
    unsigned key_, row_, barrier_, next_blocks_;
};

/// Any blocks that are resident at the same time. Candidates are exchanged through the device's memory: 16 bytes are
/// written and read as a whole, and carry the number of the step, so that no flag has to be waited for beside them.
template <class T, int width>
class GridTeam {
  public:
    using Message = ProposedRow<T, width>;
    using Row = typename Message::Row;
    static constexpr int least_blocks = 1, most_blocks = 256;
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
    static constexpr int eliminating_warps = team_warps;
    static constexpr bool warps_propose = false;

    static __device__ int rank() { return static_cast<int>(blockIdx.x); }
    static __device__ int size() { return static_cast<int>(gridDim.x); }

    __device__ explicit GridTeam(Global* global) : global_(global) {}

    /// Called by the warp that has the block's best row.
    __device__ void propose(int step, const Message& best, BlockThread thread) {
        const int half = step & 1;
        const unsigned epoch = steps_done_ + static_cast<unsigned>(step) + 1;
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
    __device__ PivotRow<Row> agreed(int step, BlockThread thread) {
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
            const int lane = best_lane(mine, thread.lane);
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
        return PivotRow<Row>(agreed.key, agreed.row);
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
