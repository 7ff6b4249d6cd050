#pragma once

#include <basalt/triangle.hpp>
#include <basalt/view.hpp>

#include "tiles/transposed.hpp"

namespace basalt {

/// Which side of the unknown the triangular matrix stands on: left is T X = B, right is X T = B.
enum class Side { left, right };

}  // namespace basalt
