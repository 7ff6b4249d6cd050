#pragma once

#include <cstddef>
#include <cstdint>

namespace basalt::detail {

/// How the kernels of a relay share a buffer, the same for all its hops. Each warp is a channel. Channel c copies the
/// chunks c, c + channels(), ..., so data arrive in the order of addresses, and announces them in a word of its own.
/// Kernels call the constexpr functions, too.
struct RelayShape {
    int blocks = 1;
    int warps = 1;                  ///< of a block
    std::size_t chunk_bytes = 512;  ///< which a warp moves at once; a multiple of 16

    static constexpr int most_warps = 16;
    /// Words of a block, whose first ones are its warps': each block has a line of memory to itself.
    static constexpr int block_words = 32;

    constexpr std::size_t words() const { return static_cast<std::size_t>(blocks) * block_words; }

    constexpr std::size_t channels() const {
        return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(warps);
    }
    /// Number of a channel's chunks in a buffer of `bytes` bytes. Channel 0 has the most.
    constexpr std::uint32_t chunks_of(std::size_t channel, std::size_t bytes) const {
        const std::size_t chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
        return static_cast<std::uint32_t>(chunks > channel ? (chunks - channel - 1) / channels() + 1 : 0);
    }
    /// Offset of a channel's chunk `i`.
    constexpr std::size_t begin_of(std::size_t channel, std::uint32_t i) const {
        return (i * channels() + channel) * chunk_bytes;
    }
};

}  // namespace basalt::detail
