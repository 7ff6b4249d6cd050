#include "tiles/panels.hpp"

#include <algorithm>

namespace basalt::detail {

namespace {

/// visit(panel) for the panels from column `first` on, where a panel begins.
template <class Visit>
void for_each_panel(const TileGrid& grid, PanelWidths widths, Index first, const Visit& visit) {
    const Index steps = std::min(grid.rows(), grid.cols());
    while (first < steps) {
        const Index j = grid.tile_col_of(first);
        const Index begin = first - grid.first_col(j);
        const Index columns = std::min({widths.at(steps - first), grid.tile_width(j) - begin, steps - first});
        visit(Panel{j, first, columns, begin});
        first += columns;
    }
}

}  // namespace

std::vector<Panel> cut_panels(const TileGrid& grid, PanelWidths widths) {
    std::vector<Panel> panels;
    for_each_panel(grid, widths, 0, [&](const Panel& panel) { panels.push_back(panel); });
    return panels;
}

Index count_panels(const TileGrid& grid, PanelWidths widths) {
    const Index steps = std::min(grid.rows(), grid.cols());
    Index count = 0, first = 0;
    // All tile columns without a narrower panel at once: a matrix that is only asked about may have very many.
    for (Index end = 0; first < steps; first = end) {
        end = first + grid.tile_width(grid.tile_col_of(first));
        if (end >= steps || widths.at(steps - end) < widths.width) break;
        count += (end - first + widths.width - 1) / widths.width;
    }
    for_each_panel(grid, widths, first, [&](const Panel&) { ++count; });
    return count;
}

int first_panel(const std::vector<Panel>& panels, Index tile_column) {
    const auto it = std::partition_point(panels.begin(), panels.end(),
                                         [&](const Panel& panel) { return panel.tile_column < tile_column; });
    return static_cast<int>(it - panels.begin());
}

std::vector<PanelBlock> cut_blocks(const std::vector<Panel>& panels, Index width) {
    std::vector<PanelBlock> blocks;
    for (int k = 0; k < std::ssize(panels); ++k) {
        const Panel& panel = panels[static_cast<std::size_t>(k)];
        const Panel* const first = blocks.empty() ? nullptr : &panels[static_cast<std::size_t>(blocks.back().first)];
        if (first != nullptr && first->tile_column == panel.tile_column && panel.end() - first->first <= width) {
            blocks.back().last = k + 1;
        } else {
            blocks.push_back({k, k + 1});
        }
    }
    return blocks;
}

std::vector<PanelBlock> cut_deep_blocks(const std::vector<Panel>& panels, Index depth, Index left_a_column,
                                        Index columns) {
    std::vector<PanelBlock> blocks;
    for (int k = 0; k < std::ssize(panels); ++k) {
        const Index end = panels[static_cast<std::size_t>(k)].end();
        const auto joins = [&](const PanelBlock& block) {
            const Index width = end - panels[static_cast<std::size_t>(block.first)].first;
            return width <= depth && columns - end >= width * left_a_column;
        };
        if (!blocks.empty() && joins(blocks.back())) {
            blocks.back().last = k + 1;
        } else {
            blocks.push_back({k, k + 1});
        }
    }
    return blocks;
}

}  // namespace basalt::detail
