#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

/// Products in single precision by tensor cores that take numbers of 8 bits (bfloat16) and add in single precision.
///
/// A float is the sum of three such pieces, x = x_1 + x_2 / 2^8 + x_3 / 2^16, each the nearest to what the former ones
/// left: 24 bits in all, so nothing is lost, and the factors keep small numbers from losing bits to underflow. Of the
/// nine products of pieces the six largest are added, smallest first:
///
///     A B = (A_3 B_1 + A_2 B_2 + A_1 B_3) / 2^16 + (A_2 B_1 + A_1 B_2) / 2^8 + A_1 B_1
///
/// What is left out is 2^-23 of |A| |B| at most, as much as two roundings of a float. Each bracket is one product of
/// depth 3 k, 2 k and k: the pieces of A lie side by side (A_3 A_2 A_1) and those of B one below the other.
/// What is infinite has no other pieces than itself and zeros, so that a product with it may become NaN.
///
/// Source: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
/// Computations" (ARITH 2019), section III.
namespace basalt {

/// Pieces of a number.
inline constexpr int split_pieces = 3;
/// The factor between one piece and the next: what follows a piece of 8 bits is smaller by that at least.
inline constexpr float split_step = 256;

/// Longest sum that tensor cores make, who cut off what they add: the depth of a product goes in stretches of so many.
inline constexpr Index split_depth = 1024;

/// Whether getting the pieces of a product's operands takes less than they save: docs/decisions/0010-lu-on-gpus.md.
constexpr bool worth_splitting(const GpuSplitting& from, Index rows, Index depth, Index cols) {
    return depth >= from.least_depth && static_cast<double>(rows * depth * cols) >= from.least_multiplications;
}

/// Bytes of workspace for C -= A B by pieces, with A of rows x depth and B of depth x cols: 256 bytes aligned.
constexpr std::size_t split_workspace(Index rows, Index depth, Index cols) {
    constexpr std::size_t piece_bytes = 2, alignment = 256;
    const auto part = [](Index elements) {
        return (static_cast<std::size_t>(split_pieces * elements) * piece_bytes + alignment - 1) / alignment *
               alignment;
    };
    return part(rows * depth) + part(depth * cols);
}

}  // namespace basalt
