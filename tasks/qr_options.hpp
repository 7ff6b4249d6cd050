#pragma once

#include "basalt/qr.hpp"

namespace basalt::detail {

/// QrOptions with every choice made. Throws UsageError for options out of range.
struct QrChoices {
    QrChoices(const Tuning& tuning, const QrOptions& options, Index m, Index n, int workers, int gpus);

    /// Threads for a panel of so many rows: fewer for short ones, where synchronising costs more than it gains.
    int panel_threads_for(Index rows) const;

    QrMode mode;  ///< never automatic
    Index panel_width;
    int panel_threads;
    bool panel_threads_given;
    int lookahead;
    bool tree;

  private:
    Index rows_a_panel_thread_;
};

}  // namespace basalt::detail
