#pragma once

#include <cstdint>

namespace basalt::detail {

/// Where tasks work on the tile columns of a matrix.
enum class ColumnsAt : std::uint8_t {
    cores,
    gpus,  ///< to which they are dealt
};

}  // namespace basalt::detail
