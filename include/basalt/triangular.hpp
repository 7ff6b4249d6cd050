#pragma once

#include "basalt/matrix.hpp"
#include "basalt/runtime.hpp"
#include "basalt/triangle.hpp"

namespace basalt {

/// Solves op(T) X = B with a triangle of the square matrix `t` (n x n), LAPACK's trtrs: B (n x nrhs) becomes X. The
/// other side of `t` is not read, nor is the diagonal with Diagonal::unit. Submits tasks and returns at once. A zero on
/// the diagonal divides: the result then holds Inf and NaN. float and double. Throws UsageError when the shapes do not
/// fit.
template <class T>
void triangular_solve(Runtime& runtime, Triangle triangle, Diagonal diagonal, MatrixOp op, const Matrix<T>& t,
                      Matrix<T>& b);

/// T^-1, LAPACK's trtri: n x n, with zeros on the other side of the diagonal. `t` stays. Submits tasks and returns at
/// once; n^3 / 3 operations. A zero on the diagonal divides. Throws UsageError for a matrix that is not square.
template <class T>
Matrix<T> triangular_inverse(Runtime& runtime, Triangle triangle, Diagonal diagonal, const Matrix<T>& t);

}  // namespace basalt
