#pragma once

#include <vector>

#include <basalt/view.hpp>

namespace basalt {

/// One of the reflections whose product, in this order, is a step of tile QR.
struct TileReflection {
    /// head: a block of rows by itself. square: a block below a triangle. triangle: a triangle below another one.
    enum class Kind { head, square, triangle };
    Kind kind;
    Index top;         ///< first row of the triangle that gets the result
    Index begin, end;  ///< the rows of V
    int domain;        ///< number of that triangle
    int other;         ///< kind triangle: number of the triangle that becomes V

    bool operator==(const TileReflection&) const = default;
};

/// The reflections of a panel of `width` columns in rows [first, rows), width <= rows - first. Blocks end at multiples
/// of `height`, domains at multiples of `domain_tiles` blocks (0: there is one domain). A domain's rows are reduced one
/// block after the other; a binary tree reduces the domains' triangles. Rows too short for a triangle join the block
/// next to them.
std::vector<TileReflection> tile_reflections(Index first, Index rows, Index width, Index height, Index domain_tiles);

}  // namespace basalt
