#pragma once

#include "basalt/view.hpp"

namespace basalt {

/// Height and width of a tile, in elements. The two are chosen apart: a tile need not be square.
/// Where a shape is optional, 0 x 0 lets the library choose by size and machine.
struct TileShape {
    Index height = 0;
    Index width = 0;

    friend bool operator==(const TileShape&, const TileShape&) = default;
};

/// How tile columns are dealt to several GPUs, in rounds of one column to each. Two GPUs get them in turn in any case.
enum class Deal {
    /// Each round begins one GPU further: all have as much to do, where columns are done from left to right and those on
    /// the right are updated as a whole, as by LU and QR.
    balanced,
    /// Each round begins with GPU 0: a GPU's columns are equally far apart, which Cholesky's updates, triangles, need for
    /// large batches of products. ScaLAPACK's 1D block-cyclic distribution.
    cyclic
};

}  // namespace basalt
