#pragma once

#include <basalt/batch_cholesky.hpp>

#include "kernels/on_stream/kernel.hpp"

/// Cholesky of batches in a device's memory. Arguments are checked by the callers: uniform or bounded batches of square
/// matrices, of order 256 at most, equal counts and rows. Triangles and INFO are as in basalt/batch_cholesky.hpp.
namespace basalt::on_stream {

/// How a GPU factors matrices in blocks: of orders above 96, in double precision 64, and above 32 in the fused call
/// with several right-hand sides that discards the factor.
struct BatchPlan {
    int width = 8;  ///< columns of a panel: 8, 16 or 32
};

template <class T>
struct BatchPotrf : Kernel<BatchPotrf<T>, void(Triangle, BatchView<T> a, Index* info, BatchPlan)> {};
/// potrf for each matrix; info has an element for each of them, in the device's memory.
template <class T>
inline constexpr BatchPotrf<T> batch_potrf{};

template <class T>
struct BatchPotrs : Kernel<BatchPotrs<T>, void(Triangle, BatchView<const T> factors, BatchView<T> b)> {};
/// potrs for each matrix.
template <class T>
inline constexpr BatchPotrs<T> batch_potrs{};

template <class T>
struct BatchPosv
    : Kernel<BatchPosv<T>, void(Triangle, BatchView<T> a, BatchView<T> b, Index* info, BatchFactor, BatchPlan)> {};
/// posv for each matrix. Throws UsageError where the factor is to be discarded and is too large for shared memory:
/// in double above order 224 on GPUs with 227 kB of it.
template <class T>
inline constexpr BatchPosv<T> batch_posv{};

}  // namespace basalt::on_stream
