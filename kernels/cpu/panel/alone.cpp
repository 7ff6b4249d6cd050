#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>

#include "kernels/cpu/panel/member.hpp"
#include "kernels/cpu/panel/panel.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/panel.hpp"
#include "kernels/on_stream/rows.hpp"

namespace basalt::on_stream {

namespace {

/// Records each phase as the state that it corresponds to in the kernel of a GPU.
class LoggingClock {
  public:
    explicit LoggingClock(PanelLog log) : counts_(log.of_block(0)), next_(counts_ + 1), end_(next_ + log.capacity) {
        for (int block = 0; block < log.blocks; ++block) *log.of_block(block) = {};
        put(reading());
    }
    ~LoggingClock() {
        *next_++ = reading();
        counts_->clock = next_ - (counts_ + 1);
    }
    LoggingClock(const LoggingClock&) = delete;
    LoggingClock& operator=(const LoggingClock&) = delete;

    void enter(PanelPhase phase) { put({now(), static_cast<std::int64_t>(state_of(phase))}); }

  private:
    static std::int64_t now() {
        const auto time = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    }
    static PanelLogEntry reading() {
        const std::int64_t time = now();
        return {time, ~time};
    }

    void put(const PanelLogEntry& entry) {
        if (end_ - next_ < 2) {  // the last one is for the reading at the end
            ++counts_->state;
        } else {
            *next_++ = entry;
        }
    }

    static PanelState state_of(PanelPhase phase) {
        switch (phase) {
            case PanelPhase::load: return PanelState::load;
            case PanelPhase::exchange: return PanelState::meet;
            case PanelPhase::store: return PanelState::store;
            case PanelPhase::swap: return PanelState::move;
            case PanelPhase::solve: return PanelState::triangle;
            case PanelPhase::barrier: return PanelState::barrier;
            default: return PanelState::eliminate;
        }
    }

    PanelLogEntry* const counts_;
    PanelLogEntry* next_;
    PanelLogEntry* const end_;
};

}  // namespace

template <class T>
bool run_on_cpu(PanelFits<T>, Index, const PanelPlan&) {
    return true;
}

/// The gang panel (kernels/cpu/panel/panel.hpp) with a gang of one. The log's clock is std::chrono::steady_clock.
template <class T>
void run_on_cpu(PanelFactor<T>, View<T> panel, Index* pivots, Index* info, void*, const PanelPlan&,
                const PanelProducts&, PanelLog log, RowMoves moves) {
    assert(moves.count == 0 || moves.count == std::min(panel.rows(), panel.cols()));
    TeamBarrier barrier(1);
    Team team(0, barrier);
    PanelWorkspace<T> workspace(1, panel.rows(), panel.cols());
    if (log) {
        LoggingClock clock(log);
        *info = factor_timed<T>(team, panel, pivots, workspace, clock);
    } else {
        *info = basalt::panel_factor<T>(team, panel, pivots, workspace);
    }
    find_row_moves.on_cpu(pivots, moves);
}

template <>
const PanelFits<float>::Cpu Code<PanelFits<float>>::cpu = cpu_code<PanelFits<float>>;
template <>
const PanelFits<double>::Cpu Code<PanelFits<double>>::cpu = cpu_code<PanelFits<double>>;
template <>
const PanelFactor<float>::Cpu Code<PanelFactor<float>>::cpu = cpu_code<PanelFactor<float>>;
template <>
const PanelFactor<double>::Cpu Code<PanelFactor<double>>::cpu = cpu_code<PanelFactor<double>>;

}  // namespace basalt::on_stream
