#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/product_precision.hpp>
#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

#include "kernels/powers_of_two.hpp"

/// Products in single precision by tensor cores, which multiply numbers of 8 bits (bfloat16, bf16) or of 11 bits (fp16)
/// and add in single precision.
///
/// A float is the sum of three bf16 slices, x = x_1 + x_2 / 2^8 + x_3 / 2^16. Each slice is the number nearest to the
/// remainder of x after the slices before it. Together they have 24 bits, so nothing is lost; the factors keep the
/// slices of small numbers from losing bits to underflow. Of the nine products of slices the six largest are added,
/// smallest first:
///
///     A B = (A_3 B_1 + A_2 B_2 + A_1 B_3) / 2^16 + (A_2 B_1 + A_1 B_2) / 2^8 + A_1 B_1
///
/// The omitted products are at most 2^-23 of |A| |B|, as much as two roundings of a float. All six are one product of
/// six times the depth, so that C is read and written once: the slices of A, divided by the powers of two, lie next to
/// each other (A_3 / 2^16, A_2 / 2^16, A_1 / 2^16, A_2 / 2^8, A_1 / 2^8, A_1) and those of B one below the other. B is
/// not divided, since it may be as small as a denormal number. The slices of an infinite number are the number itself
/// and zeros, so a product with it may become NaN.
///
/// Two fp16 slices, x = x_1 + x_2 / 2^12, have 22 bits and need three products; what is omitted is at most 2^-21 of
/// |A| |B|. Here both sides are divided by 2^6. fp16's range is small: numbers below 2^-8 become denormal, wrong by
/// 2^-25 at most, in products that are divided by 2^6 once more, and numbers from 2^15 on become infinite. So A should
/// have elements up to 1, as L of LU has, and B's should be near 1. Since B's may grow, A is multiplied by a power of
/// two that B is divided by (OperandRange::balanced). One slice is the rounded number itself.
///
/// Source: Henry, Tang, Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
/// Computations" (ARITH 2019), section III.
namespace basalt {

/// How floats are multiplied.
enum class Multiplication { plain, by_slices };

/// Most slices of a number.
inline constexpr int split_slices = 3;

enum class SliceFormat { bf16, fp16 };

/// Whether a power of two passes from B to A first, see balance_of().
enum class OperandRange { as_it_is, balanced };

/// How numbers are cut into slices.
struct Slicing {
    int count;
    SliceFormat format;
    OperandRange range;
    /// Both sides are divided by their factor once for each place that a slice stands behind the first one: powers of
    /// two.
    float left, right;

    /// A slice counts `step` times as much as the next one: the remainder after a slice is smaller by almost this
    /// factor.
    constexpr float step() const { return left * right; }
};

/// A slice of A and one of B that are multiplied, counted from 0.
struct SliceProduct {
    int left, right;
};

/// How many such products are added up.
constexpr int slice_products(int slices) { return slices * (slices + 1) / 2; }

/// The i-th of them. Each slice is divided by its side's factor left + right times.
constexpr SliceProduct slice_product(int slices, int i) {
    int sum = slices - 1;  // of the two numbers
    for (; i > sum; --sum) i -= sum + 1;
    return {sum - i, i};
}

/// For products that are made by slices; of others, the slices that lose nothing.
constexpr Slicing slicing_of(ProductPrecision products) {
    constexpr Slicing split_bf16{split_slices, SliceFormat::bf16, OperandRange::as_it_is, 0x1p8F, 1};
    switch (products) {
        case ProductPrecision::split_fp16: return {2, SliceFormat::fp16, OperandRange::balanced, 0x1p6F, 0x1p6F};
        case ProductPrecision::fp16: return {1, SliceFormat::fp16, OperandRange::as_it_is, 1, 1};
        case ProductPrecision::bf16: return {1, SliceFormat::bf16, OperandRange::as_it_is, 1, 1};
        case ProductPrecision::plain:
        case ProductPrecision::tf32:
        case ProductPrecision::split_bf16: break;
    }
    return split_bf16;
}

/// Whether large products are made by slices.
constexpr bool has_slices(ProductPrecision products) {
    return products != ProductPrecision::plain && products != ProductPrecision::tf32;
}

/// Largest depth of one product by slices. Tensor cores truncate where they add, so deeper products are added up from
/// products of this depth.
inline constexpr Index split_depth = 1024;

/// Whether splitting a product's operands takes less time than it saves: docs/decisions/0010-lu-on-gpus.md.
constexpr bool worth_splitting(const GpuSplitting& from, Index rows, Index depth, Index cols) {
    return depth >= from.least_depth && static_cast<double>(rows * depth * cols) >= from.least_multiplications;
}

/// The exponent of the power of two that A is multiplied by and B divided by, from B's largest finite element. B may
/// have elements up to 2^30 then. In LU of a matrix whose columns are near 1, larger ones mean that no digit is left.
BASALT_DEVICE int balance_of(float largest_right) {
    constexpr int usual = 4, most = 15, top = 14;
    const int needed = exponent_of(largest_right) - top;
    return needed < usual ? usual : needed > most ? most : needed;
}

/// Where the workspace of C -= A B by any slices, A rows x depth and B depth x cols, holds what: the slices of A from
/// its beginning on, then B's largest element, then the slices of B. Bytes, each a multiple of 256.
struct SplitWorkspace {
    std::size_t largest, right, bytes;

    constexpr SplitWorkspace(Index rows, Index depth, Index cols)
        : largest(part(rows * depth)), right(largest + alignment), bytes(right + part(depth * cols)) {}

  private:
    static constexpr std::size_t alignment = 256, slice_bytes = 2;
    static constexpr std::size_t part(Index elements) {
        return (static_cast<std::size_t>(slice_products(split_slices) * elements) * slice_bytes + alignment - 1) /
               alignment * alignment;
    }
};
constexpr std::size_t split_workspace(Index rows, Index depth, Index cols) {
    return SplitWorkspace(rows, depth, cols).bytes;
}

}  // namespace basalt
