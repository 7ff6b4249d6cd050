#pragma once

#include <cstdint>

namespace basalt {

/// What of a matrix a product takes.
enum class MatrixPart : std::uint8_t {
    all,
    upper,           ///< the diagonal and what is right of it
    strictly_lower,  ///< what is left of the diagonal
    magnitudes,      ///< |a_ij| of all: with x = (1, ..., 1) the sums of rows whose largest is the infinity norm
};

}  // namespace basalt
