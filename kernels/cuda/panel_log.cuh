#pragma once

#include "kernels/panel_log.hpp"

namespace basalt::cuda_detail {

/// A block's place in a log. It lies in shared memory, since only thread 0 uses it; the others' calls do nothing.
class PanelLogCursor {
  public:
    __device__ void open(PanelLog log, int block) {
        if (threadIdx.x != 0) return;
        counts_ = nullptr;
        if (!log || block >= log.blocks) return;
        counts_ = log.of_block(block);
        next_ = counts_ + 1 + counts_->clock;
        end_ = counts_ + 1 + log.capacity;
        if (end_ - next_ < 2) {  // two readings at least
            ++counts_->state;
            counts_ = nullptr;
            return;
        }
        *next_++ = reading();
    }

    __device__ void enter(PanelState state) {
        if (threadIdx.x != 0 || counts_ == nullptr) return;
        if (end_ - next_ < 2) {
            ++counts_->state;
        } else {
            *next_++ = {clock64(), static_cast<std::int64_t>(state)};
        }
    }

    __device__ void close() {
        if (threadIdx.x != 0 || counts_ == nullptr) return;
        *next_++ = reading();
        counts_->clock = next_ - (counts_ + 1);
    }

  private:
    static __device__ PanelLogEntry reading() {
        std::int64_t timer;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(timer));
        return {clock64(), ~timer};
    }

    PanelLogEntry* counts_;  ///< nullptr: nothing is recorded
    PanelLogEntry* next_;
    PanelLogEntry* end_;
};

/// The block's cursor.
__device__ inline PanelLogCursor& block_log() {
    __shared__ alignas(PanelLogCursor) unsigned char memory[sizeof(PanelLogCursor)];
    return *reinterpret_cast<PanelLogCursor*>(memory);
}

/// A team that records what its blocks are busy with: a kind of its own, so that the others' kernels hold none of it.
template <class Team>
class LoggedTeam : public Team {
  public:
    struct Memory {
        typename Team::Memory team;
        PanelLog log;
    };

    __device__ explicit LoggedTeam(Memory memory) : Team(memory.team) { block_log().open(memory.log, Team::rank()); }

    __device__ void enter(PanelState state) { block_log().enter(state); }
    __device__ void leave() { block_log().close(); }
};

}  // namespace basalt::cuda_detail
