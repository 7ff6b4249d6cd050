#include "tiles/panels.hpp"

#include <algorithm>

namespace basalt::detail {

std::vector<Panel> cut_panels(const TileGrid& grid, PanelWidths widths) {
    std::vector<Panel> panels;
    const Index steps = std::min(grid.rows(), grid.cols());
    for (Index first = 0; first < steps;) {
        const Index j = grid.tile_col_of(first);
        const Index begin = first - grid.first_col(j);
        const Index columns = std::min({widths.at(steps - first), grid.tile_width(j) - begin, steps - first});
        panels.push_back({j, first, columns, begin});
        first += columns;
    }
    return panels;
}

}  // namespace basalt::detail
