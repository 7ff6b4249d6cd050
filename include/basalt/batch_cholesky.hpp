#pragma once

#include <cstdint>
#include <span>

#include "basalt/array.hpp"
#include "basalt/batch.hpp"
#include "basalt/device.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

// Cholesky of batches, in float and double. Every matrix has its own order. One triangle of a matrix is read and
// becomes the factor; elements on the other side of the diagonal keep their values, but may be rewritten with them.
//
// INFO of matrix k is LAPACK's: 0, or the order of the first leading minor that is not positive definite or holds a
// NaN. The contents of that matrix's triangle are then unspecified. Other matrices are not affected.
//
// The calls with views return when the batch is done. Small batches run on the calling thread, others as tasks on the
// runtime's cores; the call then waits for everything submitted to the runtime. The calls with a Batch submit tasks
// and return at once, a task for each slice of matrices.
//
// All of them throw UsageError for matrices that are missing or not square, leading dimensions below max(1, rows),
// strides with which matrices overlap, and counts or shapes that do not fit each other. The message names the call,
// the operand and, if shapes may differ, the matrix.

/// What batch_cholesky_factor_solve() leaves in A.
enum class BatchFactor : std::uint8_t {
    keep,    ///< the factor
    discard  ///< A as it was, which saves writing it
};

/// LAPACK's potrf for each matrix of A.
template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const BatchView<T>& a, std::span<Index> info);

/// LAPACK's potrs for each matrix: B (n x nrhs) becomes the solution of A X = B, where `factors` holds the factor of A.
/// Unspecified where the factorization failed.
template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const BatchView<const T>& factors,
                          const BatchView<T>& b);
template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const BatchView<T>& factors, const BatchView<T>& b) {
    batch_cholesky_solve<T>(runtime, triangle, BatchView<const T>(factors), b);
}

/// LAPACK's posv for each matrix, in one pass over the data. Where INFO is above 0, B is untouched, and A is too if the
/// factor is discarded.
template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const BatchView<T>& a, const BatchView<T>& b,
                                 std::span<Index> info, BatchFactor factor = BatchFactor::keep);

/// The same as tasks. `info` has an element for each matrix.
template <class T>
void batch_cholesky_factor(Runtime& runtime, Triangle triangle, const Batch<T>& a, const Array<Index>& info);
template <class T>
void batch_cholesky_solve(Runtime& runtime, Triangle triangle, const Batch<T>& factors, const Batch<T>& b);
template <class T>
void batch_cholesky_factor_solve(Runtime& runtime, Triangle triangle, const Batch<T>& a, const Batch<T>& b,
                                 const Array<Index>& info, BatchFactor factor = BatchFactor::keep);

// The same on a GPU: matrices, lists and `info` lie in its memory. The calls enqueue kernels on the stream
// and return; they check shapes, but read no memory. The stream is that of a task's cuda kernel, or a BorrowedStream:
//
//     const basalt::BorrowedStream stream(cuda_stream);
//     basalt::batch_cholesky_factor<float>(stream, basalt::Triangle::lower,
//                                          basalt::BatchView<float>::strided(a, 10'000, 32, 32, 32, 32 * 32), info);
//
// Orders up to largest_gpu_batch_order, leading dimensions up to largest_gpu_batch_ld. Elements on the other side of
// the diagonal are neither read nor written. Throw UsageError as above and for other orders, and DeviceError where
// kernels cannot be enqueued, also in a build without CUDA.
//
// A list of different shapes is matrices() with bounds. Its views are read on the GPU: a matrix that is not
// column-major, or not square where that is demanded, or beyond the bounds, or whose leading dimension is above 2^21,
// stays as it is, like what belongs to it. Its INFO is -1; calls without `info` do not tell. There is a kernel for each
// class of orders up to the largest one that the bounds allow: 4, 8, 16, 24, 32, then by 32.
//
// What belongs to a matrix (B, pivots, TAU, the inverse) lies in a batch of any layout that has the shape or the bounds
// that would belong to a matrix as large as A's bounds. Only as many rows as the matrix demands are used. These views
// are not checked: each is column-major and large enough. All matrices have as many right-hand sides as the shape or
// the bounds of B have columns.

/// Of the matrices of a batch on a GPU.
inline constexpr Index largest_gpu_batch_order = 256;
/// Of every batch on a GPU: kernels count in int.
inline constexpr Index largest_gpu_batch_ld = 2'147'483'647;

/// potrf; `info` has an element for each matrix.
template <class T>
void batch_cholesky_factor(Stream stream, Triangle triangle, const BatchView<T>& a, Index* info);
/// potrs.
template <class T>
void batch_cholesky_solve(Stream stream, Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b);
/// posv. With BatchFactor::keep it is one kernel or two, whichever was faster. BatchFactor::discard is one pass over
/// the data, so L must fit into shared memory next to four right-hand sides: on GPUs with 227 kB a block, up to order
/// 256 in float and 224 in double; UsageError says so of larger matrices, or bounds. Above order 112 in double, and
/// with several right-hand sides, keep takes less time.
template <class T>
void batch_cholesky_factor_solve(Stream stream, Triangle triangle, const BatchView<T>& a, const BatchView<T>& b,
                                 Index* info, BatchFactor factor = BatchFactor::keep);

}  // namespace basalt
