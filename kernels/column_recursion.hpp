#pragma once

#include <basalt/view.hpp>

namespace basalt {

/// Recursion over columns [first, first + cols) of a QR panel, Elmroth and Gustavson (IBM J. Res. Dev. 44,
/// 2000): the left half, a multiple of `leaf_width`, is factored, applied to the right one, which is factored
/// then, and T of both is joined. `panel` has leaf(first, cols), apply(first, left, right) and join(first,
/// left, right).
template <class Panel>
void factor_by_halves(Panel& panel, Index first, Index cols, Index leaf_width) {
    if (cols <= leaf_width) return panel.leaf(first, cols);
    const Index left = (cols / 2 + leaf_width - 1) / leaf_width * leaf_width, right = cols - left;
    factor_by_halves(panel, first, left, leaf_width);
    panel.apply(first, left, right);
    factor_by_halves(panel, first + left, right, leaf_width);
    panel.join(first, left, right);
}

}  // namespace basalt
