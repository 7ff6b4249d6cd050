#pragma once

#include <type_traits>

#include <basalt/product_precision.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/common/launch.cuh"
#include "kernels/triangle.hpp"

namespace basalt::cuda_detail {

/// The first of some row-major matrices of equal shape, `stride` elements apart (0: one for all).
template <class T>
struct Batched {
    View<T> first;
    Index stride = 0;
    bool transposed = false;  ///< where it is read: its transpose is the operand
};

/// C_b = alpha A_b B_b + beta C_b for b < batch; all in the device's memory. cuBLAS, which takes row-major
/// matrices for their transposes, is asked for C^T = alpha B^T A^T + beta C^T. Throws DeviceError, and
/// std::length_error where a dimension exceeds 32 bits. For float and double; `precision` applies to float only.
template <class T>
void batched_gemm(Stream stream, Index batch, std::type_identity_t<T> alpha, std::type_identity_t<Batched<const T>> a,
                  std::type_identity_t<Batched<const T>> b, std::type_identity_t<T> beta, Batched<T> c,
                  ProductPrecision precision = ProductPrecision::plain);

/// Whether element (i, j) lies at i ld + j; otherwise the view is of such a matrix's transpose.
template <class T>
bool is_row_major(View<T> a) {
    return a.col_stride() == 1 || a.cols() <= 1;
}

/// y -= A^T x for a row-major A; x and y are one column each. Errors as above.
template <class T>
void subtract_transposed_from_vector(Stream stream, std::type_identity_t<View<const T>> a,
                                     std::type_identity_t<View<const T>> x, View<T> y);

/// X = T^-1 X for the named triangle of `t`; both are row-major or the transpose of such a matrix. Errors as above.
template <class T>
void triangular_solve(Stream stream, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t,
                      View<T> x);

}  // namespace basalt::cuda_detail
