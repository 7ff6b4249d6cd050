#pragma once

#include <vector>

#include "kernels/panel_log.hpp"
#include "runtime/memory/host_pool.hpp"
#include "tasks/lu_state.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// The logs of the panels that GPUs factor, one each, so that no panel waits for an earlier one's log to be read.
class PanelLogs {
  public:
    /// None.
    PanelLogs() = default;
    /// For panels of a matrix of `rows` rows.
    PanelLogs(Runtime& runtime, const std::vector<Panel>& panels, Index rows);

    bool empty() const { return logs_.empty(); }
    /// For the task that factors panel k, which writes it.
    Region<Index> region(int k) const { return logs_[static_cast<std::size_t>(k)].region(); }
    /// The log in such a region, where it is; none in an empty one.
    static PanelLog log_in(View<Index> region) { return log_at(region.data(), region.rows(), region.cols()); }

    /// A task on the cores that adds panel k's log to the trace, when `device` has factored it. Nothing where there are
    /// none.
    void submit_reading(Runtime& runtime, int k, int device) const;

  private:
    static PanelLog log_at(Index* memory, Index blocks, Index words);
    static void record(const PanelLog& log, Engine& engine, int k, int device);

    PooledBuffer memory_;
    std::vector<ScratchMatrix<Index>> logs_;  ///< a row a block
};

}  // namespace basalt::detail
