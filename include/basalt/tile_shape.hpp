#pragma once

#include "basalt/view.hpp"

namespace basalt {

/// Height and width of a tile, in elements. A tile need not be square. Where a shape is optional, 0 x 0 lets the
/// library choose by size and machine.
struct TileShape {
    Index height = 0;
    Index width = 0;

    friend bool operator==(const TileShape&, const TileShape&) = default;
};

}  // namespace basalt
