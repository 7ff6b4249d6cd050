#pragma once

#include <vector>

#include "kernels/panel_log.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// The logs of the panels that GPUs factor. Each panel has a buffer of its own, so that no panel waits until an earlier
/// log has been read. Refers to the buffers.
class PanelLogs {
  public:
    /// The log of a panel of a matrix of `rows` rows: a row for each thread block.
    static ScratchShape shape(const Runtime& runtime, const Panel& panel, Index rows);

    /// `buffers`: by panel, or none where nothing is logged.
    explicit PanelLogs(const std::vector<ScratchMatrix<Index>>& buffers) : logs_(buffers) {}

    bool empty() const { return logs_.empty(); }
    /// For the task that factors panel k, which writes it.
    Region<Index> region(int k) const { return logs_[static_cast<std::size_t>(k)].region(); }
    /// The log in such a region; none in an empty one.
    static PanelLog log_in(View<Index> region) { return log_at(region.data(), region.rows(), region.cols()); }

    /// Submits a task on the cores that adds panel k's log to the trace, once `device` has factored the panel. Does
    /// nothing without logs.
    void submit_reading(Runtime& runtime, int k, int device) const;

  private:
    static PanelLog log_at(Index* memory, Index blocks, Index words);
    static void record(const PanelLog& log, const Runtime& runtime, int k, int device);

    const std::vector<ScratchMatrix<Index>>& logs_;
};

}  // namespace basalt::detail
