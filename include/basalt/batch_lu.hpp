#pragma once

#include <span>

#include "basalt/array.hpp"
#include "basalt/batch.hpp"
#include "basalt/device.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

// LU of batches, A = P L U, in float and double: every matrix is square and has its own order.
//
// Pivots are n x 1 matrices of a batch. They hold LAPACK's IPIV: row k was exchanged with row pivots[k - 1], counted
// from 1, in the order k = 1, 2, ... The pivot is the element of largest magnitude in its column, the first one among
// equals; a NaN becomes the pivot only if it is on the diagonal. The forms without pivots do not pivot.
//
// INFO of matrix k is LAPACK's: 0, or the number of the first pivot that is exactly zero. NaN and infinity stay in
// their matrix.
//
// The calls with views return when the batch is done, as in batch_cholesky.hpp; those with a Batch submit tasks, a task
// for each slice, and return at once. All of them throw UsageError for matrices that are missing or not square, leading
// dimensions below max(1, rows), strides with which matrices overlap, and counts or shapes that do not fit each other.
//
// On cores, matrices of small order are interleaved, so that each lane of a register works on its own matrix, and rows
// are not moved until the end: decision 34.

/// LAPACK's getrf for each matrix of A.
template <class T>
void batch_lu_factor(Runtime& runtime, const BatchView<T>& a, const BatchView<Index>& pivots, std::span<Index> info);
/// The same without pivoting.
template <class T>
void batch_lu_factor(Runtime& runtime, const BatchView<T>& a, std::span<Index> info);

/// LAPACK's getrs for each matrix: B (n x nrhs) becomes the solution of A X = B. Where INFO of the factorization is
/// above 0, the result is unspecified.
template <class T>
void batch_lu_solve(Runtime& runtime, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                    const BatchView<T>& b);
/// With the factors of a factorization without pivoting.
template <class T>
void batch_lu_solve(Runtime& runtime, const BatchView<const T>& factors, const BatchView<T>& b);

/// LAPACK's gesv for each matrix, in one pass over the data: A becomes its factors, B the solution. Where INFO is above
/// 0, B is untouched.
template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchView<T>& a, const BatchView<Index>& pivots,
                           const BatchView<T>& b, std::span<Index> info);
/// The same with A left as it is, which saves writing the factors.
template <class T>
void batch_lu_factor_solve(Runtime& runtime, const BatchView<const T>& a, const BatchView<T>& b, std::span<Index> info);

/// LAPACK's getri for each matrix: factors become the inverse of A. Where INFO is above 0, U is singular and the
/// factors are untouched.
template <class T>
void batch_lu_invert(Runtime& runtime, const BatchView<T>& factors, const BatchView<const Index>& pivots,
                     std::span<Index> info);

/// The same as tasks. `info` has an element for each matrix.
template <class T>
void batch_lu_factor(Runtime& runtime, const Batch<T>& a, const Batch<Index>& pivots, const Array<Index>& info);
template <class T>
void batch_lu_factor(Runtime& runtime, const Batch<T>& a, const Array<Index>& info);
template <class T>
void batch_lu_solve(Runtime& runtime, const Batch<T>& factors, const Batch<Index>& pivots, const Batch<T>& b);
template <class T>
void batch_lu_solve(Runtime& runtime, const Batch<T>& factors, const Batch<T>& b);
template <class T>
void batch_lu_factor_solve(Runtime& runtime, const Batch<T>& a, const Batch<Index>& pivots, const Batch<T>& b,
                           const Array<Index>& info);
template <class T>
void batch_lu_factor_solve(Runtime& runtime, const Batch<T>& a, const Batch<T>& b, const Array<Index>& info);
template <class T>
void batch_lu_invert(Runtime& runtime, const Batch<T>& factors, const Batch<Index>& pivots, const Array<Index>& info);

// The same on a GPU, as in batch_cholesky.hpp: matrices, pivots, lists and `info` lie in its memory, the calls enqueue
// kernels on the stream and return. Throw UsageError as above and for larger orders, and DeviceError where kernels
// cannot be enqueued, also in a build without CUDA.

/// Rows and columns of the matrices of LU and QR on a GPU.
inline constexpr Index largest_gpu_lu_order = 512;

/// getrf; `info` has an element for each matrix.
template <class T>
void batch_lu_factor(Stream stream, const BatchView<T>& a, const BatchView<Index>& pivots, Index* info);
/// The same without pivoting.
template <class T>
void batch_lu_factor(Stream stream, const BatchView<T>& a, Index* info);
/// getrs.
template <class T>
void batch_lu_solve(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                    const BatchView<T>& b);
template <class T>
void batch_lu_solve(Stream stream, const BatchView<const T>& factors, const BatchView<T>& b);
/// gesv: up to order 32 in one pass over the data.
template <class T>
void batch_lu_factor_solve(Stream stream, const BatchView<T>& a, const BatchView<Index>& pivots, const BatchView<T>& b,
                           Index* info);
/// getri, to another place: `inverse` does not overlap the factors. Where INFO is above 0, it is untouched.
template <class T>
void batch_lu_invert(Stream stream, const BatchView<const T>& factors, const BatchView<const Index>& pivots,
                     const BatchView<T>& inverse, Index* info);

}  // namespace basalt
