#pragma once

#include <span>

#include "basalt/array.hpp"
#include "basalt/batch.hpp"
#include "basalt/device.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

// QR of batches by Householder's reflectors, in float and double: every matrix has its own shape m x n.
//
// TAU is a batch of min(m, n) x 1 matrices. Reflectors and R are arranged as LAPACK's geqrf has them. A column that is
// zero below its diagonal, or so small that its square is, gets tau = 0.
//
// NaN and infinity stay in their matrix. The calls with views return when the batch is done, as in batch_cholesky.hpp;
// those with a Batch submit tasks and return at once. All of them throw UsageError for matrices that are missing,
// leading dimensions below max(1, rows), strides with which matrices overlap, and counts or shapes that do not fit each
// other. Source of the blocks of reflectors: Schreiber, Van Loan, "A Storage-Efficient WY Representation for Products
// of Householder Transformations"; decision 34.

/// LAPACK's geqrf for each matrix of A.
template <class T>
void batch_qr_factor(Runtime& runtime, const BatchView<T>& a, const BatchView<T>& tau);

/// LAPACK's orgqr for each matrix: the reflectors in the first k columns of A (m x n, n <= m) become the first n
/// columns of Q = H_1 ... H_k. `tau` has k x 1 matrices, k <= n.
template <class T>
void batch_qr_form(Runtime& runtime, const BatchView<T>& a, const BatchView<const T>& tau);

/// LAPACK's gels for each matrix, without transposition: B (max(m, n) x nrhs, the first m rows given) becomes the X of
/// n rows with the least ||B - A X|| where m >= n, and the shortest X with A X = B where m < n. A becomes its QR
/// factors, or the LQ factors where m < n. A has full rank: INFO is 0, or k where the triangle's k-th diagonal element
/// is exactly zero, and B is then unspecified. Where m >= n, rows n .. m - 1 of B hold the residual's components.
/// Without right-hand sides nothing is done.
template <class T>
void batch_least_squares(Runtime& runtime, const BatchView<T>& a, const BatchView<T>& b, std::span<Index> info);

/// The same as tasks. `info` has an element for each matrix.
template <class T>
void batch_qr_factor(Runtime& runtime, const Batch<T>& a, const Batch<T>& tau);
template <class T>
void batch_qr_form(Runtime& runtime, const Batch<T>& a, const Batch<T>& tau);
template <class T>
void batch_least_squares(Runtime& runtime, const Batch<T>& a, const Batch<T>& b, const Array<Index>& info);

// The same on a GPU, as in batch_lu.hpp: up to largest_gpu_lu_order rows and columns. In a list, batch_qr_form() leaves
// wide matrices as they are; its bounds may not be wide.

/// geqrf.
template <class T>
void batch_qr_factor(Stream stream, const BatchView<T>& a, const BatchView<T>& tau);
/// orgqr.
template <class T>
void batch_qr_form(Stream stream, const BatchView<T>& a, const BatchView<const T>& tau);
/// gels; `info` has an element for each matrix.
template <class T>
void batch_least_squares(Stream stream, const BatchView<T>& a, const BatchView<T>& b, Index* info);

}  // namespace basalt
