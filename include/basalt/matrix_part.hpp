#pragma once

#include <cstdint>

namespace basalt {

/// The part of a matrix that a product takes.
enum class MatrixPart : std::uint8_t {
    all,
    upper,           ///< the diagonal and the elements right of it
    strictly_lower,  ///< the elements left of the diagonal
    magnitudes,      ///< |a_ij| of all elements; with x = (1, ..., 1) these are row sums, the largest of which is the
                     ///< infinity norm
};

}  // namespace basalt
