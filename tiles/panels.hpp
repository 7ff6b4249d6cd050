#pragma once

#include <vector>

#include "tiles/grid.hpp"

namespace basalt::detail {

/// A panel: `width` columns from matrix column (and row) `first` on, inside one tile column.
struct Panel {
    Index tile_column;
    Index first;
    Index width;
    Index col_begin;  ///< first column, counted inside the tile column

    Index col_end() const { return col_begin + width; }
    Index end() const { return first + width; }
};

/// Widths of panels: `width` columns, and half of that where fewer than `narrow_below` columns are left. With
/// `left_a_column` > 0 a panel is halved, down to `narrowest`, until `left_a_column` columns are left for each of its
/// own.
struct PanelWidths {
    Index width;
    Index narrow_below = 0;
    Index left_a_column = 0;
    Index narrowest = 1;

    Index at(Index columns_left) const {
        Index columns = columns_left < narrow_below ? (width + 1) / 2 : width;
        while (columns >= 2 * narrowest && columns_left <= columns * left_a_column) columns = (columns + 1) / 2;
        return columns;
    }
};

/// Panels [first, last), neighbours.
struct PanelBlock {
    int first;
    int last;

    int panels() const { return last - first; }
};

/// The panels of a factorization, none across a border of tile columns.
std::vector<Panel> cut_panels(const TileGrid& grid, PanelWidths widths);
/// How many there are.
Index count_panels(const TileGrid& grid, PanelWidths widths);

/// The number of the first panel at or right of a tile column; how many there are, if none is.
int first_panel(const std::vector<Panel>& panels, Index tile_column);

/// The panels in blocks of `width` columns at most, or of one panel. None across a border of tile columns.
std::vector<PanelBlock> cut_blocks(const std::vector<Panel>& panels, Index width);

/// The panels in blocks whose updates of the trailing matrix are made together: of `depth` columns at most and with
/// `left_a_column` columns left for each of their own, or of one panel. They may span tile columns.
std::vector<PanelBlock> cut_deep_blocks(const std::vector<Panel>& panels, Index depth, Index left_a_column,
                                        Index columns);

}  // namespace basalt::detail
