#pragma once

#include <algorithm>
#include <cstdint>

#include <cooperative_groups.h>

#include "kernels/cuda/common/cluster_barrier.cuh"
#include "kernels/cuda/common/message_barrier.cuh"
#include "kernels/cuda/panel/candidate.cuh"
#include "kernels/cuda/panel/log.cuh"
#include "kernels/cuda/panel/shape.hpp"

/// The blocks that factor a panel together: how they agree on a pivot, and how they wait for each other.
namespace basalt::cuda_detail {

// With eight warps a thread has 255 registers: four rows of sixteen columns fit, or two of 32. With sixteen the rows
// are half as many, but all that every warp does for itself is done twice as often.
constexpr int team_warps = 8;
constexpr int team_threads = team_warps * warp_lanes;

/// The block's dynamic shared memory; the team's part comes first. Each function calls this instead of passing the
/// pointer on, since the compiler does not know that an argument points to shared memory.
__device__ inline char* dynamic_shared() {
    extern __shared__ __align__(16) char memory[];
    return memory;
}

/// The 4, 8 or 16 thread blocks of one cluster. The first `warps` warps of each block eliminate. A candidate travels as
/// stores to the other blocks' shared memory that count on a barrier there: a block goes on as soon as it has all
/// candidates, with no round trip. Candidates are those of blocks, or of warps where these are few enough.
template <class T, int width, int warps = team_warps>
class ClusterTeam {
  public:
    using Row = typename ProposedRow<T, width>::Row;
    static constexpr int eliminating_warps = warps;
    static constexpr bool warps_propose = warps < team_warps;
    static constexpr int candidates_a_block = warps_propose ? warps : 1;
    // A warp sends eight words to four blocks at once: more blocks take longer, and so do branches around lanes.
    static constexpr int words_at_once = 8, blocks_at_once = warp_lanes / words_at_once;
    static constexpr int least_blocks = least_cluster,
                         most_blocks = std::min(most_cluster, warp_lanes / candidates_a_block);
    static_assert(least_blocks == blocks_at_once);

  private:
    static constexpr int rounds =
        (static_cast<int>(sizeof(ProposedRow<T, width>) / sizeof(uint4)) + words_at_once - 1) / words_at_once;

  public:
    struct Message : ProposedRow<T, width> {
        // whole rounds are sent; there is some for all widths and precisions, or the array would be refused
        char unused[rounds * words_at_once * sizeof(uint4) - sizeof(ProposedRow<T, width>)];
    };
    struct Shared {
        // by parity of the step: a block that is one step ahead writes to the other half
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
        if (threadIdx.x < 2) prepare_barrier(&shared().barrier[threadIdx.x], 1);
        show_barriers_to_cluster();
        arrive();
        wait();
        const BlockThread thread;
        const int part = thread.lane % words_at_once, block = thread.lane / words_at_once;
        const auto& arrived = shared().arrived[0];
        const int number = warps_propose ? rank_ * warps + thread.warp % warps : rank_;
        const unsigned row = shared_address(&arrived.rows[number]) + (part - 1) * sizeof(uint4);
        key_ = remote_address(part == 0 ? shared_address(&arrived.keys[number]) : row, block);
        row_ = remote_address(row, block);
        barrier_ = remote_address(shared_address(&shared().barrier[0]), block);
        // all blocks' windows are equally far apart; not used where there are no more blocks
        next_blocks_ = remote_address(row, block + blocks_at_once) - row_;
    }

    /// Called by each warp that proposes. `step`: of the columns that are eliminated together, from 0.
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
                send(to + n * next_blocks_, word, barrier + n * next_blocks_);
            }
        }
        if (thread.lane == 0 && (!warps_propose || thread.warp == 0)) {
            const int sent = (words + words_at_once - 1) / words_at_once * words_at_once;
            arrive_and_expect(&shared().barrier[half],
                              static_cast<unsigned>(size_ * candidates_a_block * sent * sizeof(uint4)));
        }
    }

    /// The best of all proposals, once all blocks have proposed. Valid until the next call. Called by the warps that
    /// eliminate.
    __device__ PivotRow<Row> agreed(int step, BlockThread thread) {
        const int half = step & 1;
        const unsigned phase = static_cast<unsigned>(step >> 1 & 1);  // all but the last take a multiple of four steps
        wait_at(&shared().barrier[half], phase);
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
    __device__ void arrive() { arrive_in_cluster(); }
    __device__ void wait() { wait_for_cluster(); }

  private:
    static __device__ Shared& shared() { return *reinterpret_cast<Shared*>(dynamic_shared()); }

    int rank_, size_;
    // where this lane's words of a candidate go in the first block that it sends to, and how far it is to the next one
    unsigned key_, row_, barrier_, next_blocks_;
};

/// Any blocks that are resident at the same time. Candidates are exchanged through the device's memory: 16 bytes are
/// written and read as a whole, and carry the number of the step, so that no separate flag has to be waited for.
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
