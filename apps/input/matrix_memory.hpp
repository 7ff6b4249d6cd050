#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "apps/input/settings.hpp"
#include "basalt/tile_shape.hpp"

namespace basalt {

/// Bytes of an m x n matrix in tiles of this shape, padding included. A double: it may exceed 64 bits.
double matrix_bytes(Index m, Index n, TileShape tile, std::size_t element_size);

/// Bytes that this process can still get, and what sets that limit.
struct MemoryLimit {
    std::uint64_t bytes = 0;
    std::string reason;  ///< e.g. "the control group's limit"
};

/// The least of: the machine's available memory, what control groups leave, the address space limit (ulimit
/// -v).
MemoryLimit available_memory();

/// Throws MachineFailure, with the bytes needed and available, where `bytes` do not fit. `what` is named in
/// it.
void require_memory(double bytes, const std::string& what);

}  // namespace basalt
