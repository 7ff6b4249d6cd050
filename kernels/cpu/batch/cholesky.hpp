#pragma once

#include <basalt/batch.hpp>
#include <basalt/triangle.hpp>

/// Cholesky of batches on one core. Single-threaded, reentrant. For float and double. Arguments are checked by the
/// callers: square matrices, and in two batches equal counts and rows. INFO and triangles are as in
/// basalt/batch_cholesky.hpp.
namespace basalt::cpu_kernels {

/// Matrices of the same shape that are interleaved at once: a multiple of this number fills the registers.
template <class T>
Index batch_lanes();

/// potrf; info has an element for each matrix.
template <class T>
void batch_factor(Triangle triangle, const BatchView<T>& a, Index* info);

/// potrs.
template <class T>
void batch_solve(Triangle triangle, const BatchView<const T>& factors, const BatchView<T>& b);

/// posv that leaves the factor in A.
template <class T>
void batch_factor_solve(Triangle triangle, const BatchView<T>& a, const BatchView<T>& b, Index* info);

/// posv that leaves A as it was.
template <class T>
void batch_factor_solve(Triangle triangle, const BatchView<const T>& a, const BatchView<T>& b, Index* info);

}  // namespace basalt::cpu_kernels
