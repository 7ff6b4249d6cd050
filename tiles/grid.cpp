#include "tiles/grid.hpp"

#include <string>

#include <basalt/error.hpp>

namespace basalt {

namespace {

void require_at_least(const char* what, Index value, Index least) {
    if (value < least) {
        throw UsageError("tile grid: " + std::string(what) + " is " + std::to_string(value) + "; it must be at least " +
                         std::to_string(least));
    }
}

Index checked_product(const char* what, Index a, Index b) {
    Index product = 0;
    if (__builtin_mul_overflow(a, b, &product)) {
        throw UsageError("tile grid: " + std::string(what) + ", " + std::to_string(a) + " x " + std::to_string(b) +
                         ", is more than the largest 64-bit index, " + std::to_string(INT64_MAX));
    }
    return product;
}

Index tiles_needed(Index size, Index extent) { return size / extent + (size % extent != 0 ? 1 : 0); }

}  // namespace

TileGrid::TileGrid(Index m, Index n, TileShape shape) : m_(m), n_(n), shape_(shape) {
    require_at_least("the number of rows", m, 0);
    require_at_least("the number of columns", n, 0);
    require_at_least("the tile height", shape.height, 1);
    require_at_least("the tile width", shape.width, 1);
    tile_rows_ = tiles_needed(m, shape.height);
    tile_cols_ = tiles_needed(n, shape.width);

    checked_product("the number of elements of a tile", shape.height, shape.width);
    const Index rows = checked_product("the number of padded rows", tile_rows_, shape.height);
    const Index cols = checked_product("the number of padded columns", tile_cols_, shape.width);
    checked_product("the number of elements of a tile column", rows, shape.width);
    checked_product("the number of padded elements", rows, cols);
}

}  // namespace basalt
