#pragma once

#include <vector>

#include "tiles/panels.hpp"

namespace basalt::detail {

/// A block of an update: rows [row, end) of a tile column's columns [col, col + width), which are the matrix's columns
/// from `first` on, get C -= L(row:end, k) L(first:first + width, k)^T. Of the upper triangle L is U^T.
struct BlockProduct {
    Index row, end;
    Index col, width;
    Index first;
};

/// Panels [first, last).
struct PanelRange {
    int first = 0;
    int last = 0;
    bool empty() const { return first >= last; }
};

/// Products of equal shape at equal distances, one after the other.
struct ProductBatch {
    Index column;  ///< of the first product, counted in a list of tile columns
    BlockProduct first;
    Index count = 1;
    Index columns_apart = 0, cols_apart = 0, rows_apart = 0, firsts_apart = 0;

    Index column_of(Index i) const { return column + i * columns_apart; }
    BlockProduct operator[](Index i) const {
        return {first.row + i * rows_apart, first.end + i * rows_apart, first.col + i * cols_apart, first.width,
                first.first + i * firsts_apart};
    }
};

/// A step's products for the rows of some panels in one tile column of an upper triangle, whose panels are `columns`.
/// One product takes the rows above these panels; the triangle at their own rows is taken panel by panel, so that no
/// more than a panel's square lies on the other side of the diagonal. Rows below the diagonal get none.
std::vector<BlockProduct> upper_products(const std::vector<Panel>& panels, PanelRange rows, PanelRange columns);

/// A step's products for some panels of several tile columns, ascending, of a lower triangle with `rows` rows. The
/// panels are halved down to single ones, with the rectangle below the left half between the two triangles, so that no
/// more than a panel's square lies right of the diagonal. All products together cost at most 1 + 3/2 nb/n times the
/// operations of Cholesky. They form few batches of large products: a GPU waits for products of small rectangles, and
/// for many launches.
std::vector<ProductBatch> lower_batches(const std::vector<Panel>& panels, Index rows,
                                        const std::vector<PanelRange>& columns);

/// upper_products() of several tile columns, ascending, in batches. `columns`: all panels of each.
std::vector<ProductBatch> upper_batches(const std::vector<Panel>& panels, PanelRange rows,
                                        const std::vector<PanelRange>& columns);

}  // namespace basalt::detail
