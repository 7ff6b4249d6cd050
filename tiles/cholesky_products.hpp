#pragma once

#include <vector>

#include "tiles/panels.hpp"

namespace basalt::detail {

/// A block of an update: rows [row, end) of a tile column's columns [col, col + width), which are the
/// matrix's columns from `first` on, get C -= L(row:end, k) L(first:first + width, k)^T. Of the upper
/// triangle L is U^T.
struct BlockProduct {
    Index row, end;
    Index col, width;
    Index first;
};

/// Panels [first, last).
struct PanelRange {
    int first;
    int last;
    bool empty() const { return first >= last; }
};

/// What a step does to some panels of one tile column of a lower triangle with `rows` rows: the rows below
/// them in one product, and the triangle beside them panel by panel, so that no more than a panel's square
/// lies right of the diagonal. All of it costs at most 1 + 3/2 nb/n times the operations of Cholesky.
std::vector<BlockProduct> lower_products(const std::vector<Panel>& panels, Index rows, PanelRange columns);

/// The same for the rows of some panels of one tile column of an upper triangle; `columns`: all of its
/// panels. Rows below its diagonal are not its own.
std::vector<BlockProduct> upper_products(const std::vector<Panel>& panels, PanelRange rows,
                                         PanelRange columns);

}  // namespace basalt::detail
