#pragma once

#include <vector>

#include <basalt/view.hpp>

namespace basalt {

/// One of the reflections that a step of tile QR is the product of, in this order.
struct TileReflection {
    /// head: a block of rows by itself. square: a block below a triangle. triangle: a triangle below another one.
    enum class Kind { head, square, triangle };
    Kind kind;
    Index top;         ///< row of the matrix from which on the triangle stands that gets the result
    Index begin, end;  ///< rows that V belongs to
    int domain;        ///< number of that triangle
    int other;         ///< kind triangle: number of the one that becomes V

    bool operator==(const TileReflection&) const = default;
};

/// The reflections of a panel of `width` columns in rows [first, rows), width <= rows - first. Blocks end at multiples
/// of `height`, domains at multiples of `domain_tiles` blocks, 0: there is one. A domain's rows are reduced one block
/// after the other, the domains' triangles by a binary tree. What is too short for a triangle belongs to what is next
/// to it.
std::vector<TileReflection> tile_reflections(Index first, Index rows, Index width, Index height, Index domain_tiles);

}  // namespace basalt
