#pragma once

#include <cstddef>

#include <basalt/tuning.hpp>

#include "tiles/triangle_strips.hpp"

namespace basalt::detail {

/// Seconds until a triangle in strips has come from a GPU to the host, as far as they depend on the strips:
/// its elements at the link's rate, and a launch for each strip, which a copy out of the matrix brings into
/// the array that travels.
double transfer_seconds(const GpuTuning& gpu, const TriangleStrips& strips, std::size_t element_size);

/// The strips of least transfer_seconds(), of equals the fewest. r strips have n^2 / 2 (1 + 1/r) elements, so
/// r is about n sqrt(element_size / (2 rate launch_seconds)): 1 where a launch costs more than half of the
/// square.
TriangleStrips strips_of_least_time(const GpuTuning& gpu, Index order, std::size_t element_size);

}  // namespace basalt::detail
