#pragma once

#include <cstdint>
#include <optional>

namespace basalt {

/// How GPUs multiply matrices of floats in the trailing updates of a factorization. Sums are in single precision.
/// Emulated GPUs round operands in the same way.
enum class ProductPrecision : std::uint8_t {
    plain,       ///< in single precision
    split_bf16,  ///< large products on tensor cores; each number is the sum of three bf16 slices, 24 bits. As accurate
                 ///< as plain products and up to 2.8 times as fast. If an operand is infinite, they may give NaN.
    split_fp16,  ///< large products on tensor cores, half as many as by bf16 slices; each number is the sum of two fp16
                 ///< slices. LU multiplies columns far from 1 by powers of two before and after. Errors are then as
                 ///< small as with plain products relative to each column's largest element. Where rows differ in size
                 ///< by more than 2^3, the smaller ones lose as many digits. If elements grow to more than 2^25 times
                 ///< their column's largest one, factors may become NaN, as with infinite operands. Cholesky scales
                 ///< nothing: there, numbers between 2^-4 and 2^11 keep 22 bits, and larger ones may give NaN.
    tf32,        ///< operands are rounded to 11 significant bits
    bf16,        ///< operands of large products are rounded to 8 significant bits
    fp16,        ///< operands of large products are rounded to 11 significant bits, or to a multiple of 2^-24 where
                 ///< that is coarser. Numbers above 65504 become infinite.
};

/// Whether products are as accurate as those in single precision, whatever the scale of the numbers.
constexpr bool is_single(ProductPrecision products) {
    return products == ProductPrecision::plain || products == ProductPrecision::split_bf16;
}

constexpr const char* name_of(ProductPrecision products) {
    constexpr const char* names[] = {"plain", "split-bf16", "split-fp16", "tf32", "bf16", "fp16"};
    return names[static_cast<int>(products)];
}

/// Whether LU by these products is as accurate as in single precision relative to the largest element of each column.
/// Without any, those that LU chooses itself, which are.
constexpr bool is_single_in_lu(std::optional<ProductPrecision> products) {
    return !products || is_single(*products) || products == ProductPrecision::split_fp16;
}

/// Unit roundoff of operands in these products.
constexpr double roundoff_of(ProductPrecision products) {
    switch (products) {
        case ProductPrecision::split_fp16: return 0x1p-22;
        case ProductPrecision::tf32:
        case ProductPrecision::fp16: return 0x1p-11;
        case ProductPrecision::bf16: return 0x1p-8;
        case ProductPrecision::plain:
        case ProductPrecision::split_bf16: break;
    }
    return 0x1p-24;
}

/// The products that small updates are made by, those inside panels and between neighbours, where operands in another
/// format would cost more than they save: TF32 where the large updates are not more accurate than that, otherwise
/// plain.
constexpr ProductPrecision without_conversion(ProductPrecision updates) {
    const bool tf32 = roundoff_of(updates) >= roundoff_of(ProductPrecision::tf32);
    return tf32 ? ProductPrecision::tf32 : ProductPrecision::plain;
}

}  // namespace basalt
