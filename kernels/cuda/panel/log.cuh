#pragma once

#include "kernels/panel_log.hpp"

namespace basalt::cuda_detail {

/// A block's place in a log. It lies in shared memory, since only thread 0 uses it; the others' calls do nothing. It is
/// volatile, or the compiler has all threads read it before they know that they are not thread 0: they would not use
/// what they read while thread 0 writes, but it is a race.
class PanelLogCursor {
  public:
    __device__ void open(PanelLog log, int block) {
        if (threadIdx.x != 0) return;
        counts_ = nullptr;
        if (!log || block >= log.blocks) return;
        PanelLogEntry* const counts = log.of_block(block);
        PanelLogEntry* const next = counts + 1 + counts->clock;
        end_ = counts + 1 + log.capacity;
        if (end_ - next < 2) {  // two readings at least
            ++counts->state;
            return;
        }
        *next = reading();
        next_ = next + 1;
        counts_ = counts;
    }

    __device__ void enter(PanelState state) {
        if (threadIdx.x != 0) return;
        PanelLogEntry* const counts = counts_;
        if (counts == nullptr) return;
        PanelLogEntry* const next = next_;
        if (end_ - next < 2) {
            ++counts->state;
        } else {
            *next = {clock64(), static_cast<std::int64_t>(state)};
            next_ = next + 1;
        }
    }

    __device__ void close() {
        if (threadIdx.x != 0) return;
        PanelLogEntry* const counts = counts_;
        if (counts == nullptr) return;
        PanelLogEntry* const next = next_;
        *next = reading();
        counts->clock = next - counts;
    }

  private:
    static __device__ PanelLogEntry reading() {
        std::int64_t timer;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(timer));
        return {clock64(), ~timer};
    }

    PanelLogEntry* volatile counts_;  ///< nullptr: nothing is recorded
    PanelLogEntry* volatile next_;
    PanelLogEntry* volatile end_;
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
