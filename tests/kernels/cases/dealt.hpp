#pragma once

#include <array>
#include <string>
#include <vector>

#include <basalt/tile_shape.hpp>

#include "tiles/grid.hpp"
#include "tiles/tile_columns.hpp"

namespace basalt_tests {

using namespace basalt;

/// Matrices and tile shapes, ragged in every way, and which of their tile columns are dealt to one of how
/// many.
struct Dealt {
    TileGrid grid;
    TileDeal deal;

    Index columns() const {
        return deal.first < grid.tile_cols() ? (grid.tile_cols() - deal.first + deal.step - 1) / deal.step : 0;
    }
    TileColumns<char> shape() const { return stored_tile_columns<char>(grid, nullptr, columns()); }
};

inline std::vector<Dealt> dealt_matrices() {
    std::vector<Dealt> cases;
    for (const auto& [m, n] :
         {std::array<Index, 2>{0, 0}, {1, 1}, {0, 9}, {9, 0}, {64, 64}, {70, 130}, {130, 71}, {200, 33}, {33, 200}}) {
        for (const TileShape shape : {TileShape{1, 1}, {32, 32}, {16, 50}, {64, 7}, {300, 128}}) {
            for (const TileDeal deal : {TileDeal{0, 1}, {1, 2}, {0, 3}}) cases.push_back({TileGrid(m, n, shape), deal});
        }
    }
    return cases;
}

inline std::string describe(const Dealt& dealt) {
    const TileGrid& grid = dealt.grid;
    return std::to_string(grid.rows()) + " x " + std::to_string(grid.cols()) + " in tiles of " +
           std::to_string(grid.shape().height) + " x " + std::to_string(grid.shape().width) + ", every " +
           std::to_string(dealt.deal.step) + ". from " + std::to_string(dealt.deal.first);
}

}  // namespace basalt_tests
