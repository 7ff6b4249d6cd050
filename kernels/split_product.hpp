#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

/// Products in single precision by tensor cores, which multiply numbers of 8 bits (bfloat16, bf16) and add in single
/// precision.
///
/// A float is the sum of three bf16 slices, x = x_1 + x_2 / 2^8 + x_3 / 2^16. Each slice is the number nearest to the
/// remainder of x after the slices before it. Together they have 24 bits, so nothing is lost; the factors keep the
/// slices of small numbers from losing bits to underflow. Of the nine products of slices the six largest are added,
/// smallest first:
///
///     A B = (A_3 B_1 + A_2 B_2 + A_1 B_3) / 2^16 + (A_2 B_1 + A_1 B_2) / 2^8 + A_1 B_1
///
/// The omitted products are at most 2^-23 of |A| |B|, as much as two roundings of a float. Each bracket is one product,
/// of depth 3 k, 2 k and k: the slices of A lie next to each other (A_3 A_2 A_1) and those of B one below the other.
/// The slices of an infinite number are the number itself and zeros, so a product with it may become NaN.
///
/// Source: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
/// Computations" (ARITH 2019), section III.
namespace basalt {

/// How floats are multiplied.
enum class Multiplication { plain, by_slices };

/// Slices of a number.
inline constexpr int split_slices = 3;
/// The factor between one slice and the next: the remainder after a slice of 8 bits is smaller by at least this factor.
inline constexpr float split_step = 256;

/// Largest depth of one product by slices. Tensor cores truncate where they add, so deeper products are added up from
/// products of this depth.
inline constexpr Index split_depth = 1024;

/// Whether splitting a product's operands takes less time than it saves: docs/decisions/0010-lu-on-gpus.md.
constexpr bool worth_splitting(const GpuSplitting& from, Index rows, Index depth, Index cols) {
    return depth >= from.least_depth && static_cast<double>(rows * depth * cols) >= from.least_multiplications;
}

/// Bytes of workspace for C -= A B by slices, with A of rows x depth and B of depth x cols: 256 bytes aligned.
constexpr std::size_t split_workspace(Index rows, Index depth, Index cols) {
    constexpr std::size_t slice_bytes = 2, alignment = 256;
    const auto part = [](Index elements) {
        return (static_cast<std::size_t>(split_slices * elements) * slice_bytes + alignment - 1) / alignment *
               alignment;
    };
    return part(rows * depth) + part(depth * cols);
}

}  // namespace basalt
