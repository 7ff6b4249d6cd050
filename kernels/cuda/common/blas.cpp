#include "kernels/cuda/common/blas.cuh"

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <string>

namespace basalt::cuda_detail {

namespace {

int blas_int(Index value) {
    if (value > std::numeric_limits<int>::max()) {
        throw std::length_error("cuBLAS dimension " + std::to_string(value) + " exceeds 32 bits");
    }
    return static_cast<int>(value);
}

template <class T>
int leading_dimension(View<T> a) {
    assert(a.col_stride() == 1 || a.cols() <= 1);
    return blas_int(std::max<Index>({a.row_stride(), a.cols(), 1}));
}

/// cuBLAS's function for T.
template <class T, class Single, class Double>
auto precision_of(Single single, Double other) {
    if constexpr (std::is_same_v<T, float>) {
        return single;
    } else {
        return other;
    }
}

cublasHandle_t handle(Stream stream) { return static_cast<cublasHandle_t>(stream.blas()); }

}  // namespace

template <class T>
void batched_gemm(Stream stream, Index batch, std::type_identity_t<T> alpha, std::type_identity_t<Batched<const T>> a,
                  std::type_identity_t<Batched<const T>> b, std::type_identity_t<T> beta, Batched<T> c,
                  ProductPrecision precision) {
    const Index m = c.first.rows(), n = c.first.cols(), k = a.transposed ? a.first.rows() : a.first.cols();
    assert((a.transposed ? a.first.cols() : a.first.rows()) == m);
    assert((b.transposed ? b.first.cols() : b.first.rows()) == k);
    assert((b.transposed ? b.first.rows() : b.first.cols()) == n && !c.transposed);
    if (batch <= 0 || c.first.empty()) return;
    const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    if (std::is_same_v<T, float> && precision == ProductPrecision::tf32) {
        constexpr cudaDataType_t type = CUDA_R_32F;
        check(cublasGemmStridedBatchedEx(
                  handle(stream), operation(b.transposed), operation(a.transposed), blas_int(n), blas_int(m),
                  blas_int(k), &alpha, b.first.data(), type, leading_dimension(b.first), b.stride, a.first.data(), type,
                  leading_dimension(a.first), a.stride, &beta, c.first.data(), type, leading_dimension(c.first),
                  c.stride, blas_int(batch), CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
              "cublasGemmStridedBatchedEx", stream);
        return;
    }
    const auto multiply = precision_of<T>(&cublasSgemmStridedBatched, &cublasDgemmStridedBatched);
    check(multiply(handle(stream), operation(b.transposed), operation(a.transposed), blas_int(n), blas_int(m),
                   blas_int(k), &alpha, b.first.data(), leading_dimension(b.first), b.stride, a.first.data(),
                   leading_dimension(a.first), a.stride, &beta, c.first.data(), leading_dimension(c.first), c.stride,
                   blas_int(batch)),
          "cublas<t>gemmStridedBatched", stream);
}

template <class T>
void subtract_transposed_from_vector(Stream stream, std::type_identity_t<View<const T>> a,
                                     std::type_identity_t<View<const T>> x, View<T> y) {
    assert(x.cols() == 1 && y.cols() == 1 && a.rows() == x.rows() && a.cols() == y.rows());
    if (y.empty() || x.empty()) return;
    const T one{1}, minus_one{-1};
    const auto multiply = precision_of<T>(&cublasSgemv, &cublasDgemv);
    check(multiply(handle(stream), CUBLAS_OP_N, blas_int(a.cols()), blas_int(a.rows()), &minus_one, a.data(),
                   leading_dimension(a), x.data(), blas_int(x.row_stride()), &one, y.data(), blas_int(y.row_stride())),
          "cublas<t>gemv", stream);
}

template <class T>
void triangular_solve(Stream stream, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t,
                      View<T> x) {
    if (x.empty()) return;
    const bool row_major = is_row_major(t);
    const View<const T> stored = row_major ? t : transposed(t);
    // cuBLAS sees the transpose of the stored matrix
    const auto fill = row_major == (triangle == Triangle::lower) ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const auto ones = diagonal == Diagonal::unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
    if (x.cols() == 1) {
        const auto solve = precision_of<T>(&cublasStrsv, &cublasDtrsv);
        check(solve(handle(stream), fill, row_major ? CUBLAS_OP_T : CUBLAS_OP_N, ones, blas_int(x.rows()),
                    stored.data(), leading_dimension(stored), x.data(), blas_int(x.row_stride())),
              "cublas<t>trsv", stream);
        return;
    }
    // and of X: of a row-major one it is asked for X^T T^T = B^T
    const bool rows_of_x = is_row_major(x);
    const View<T> stored_x = rows_of_x ? x : transposed(x);
    const T one{1};
    const auto solve = precision_of<T>(&cublasStrsm, &cublasDtrsm);
    check(solve(handle(stream), rows_of_x ? CUBLAS_SIDE_RIGHT : CUBLAS_SIDE_LEFT, fill,
                row_major == rows_of_x ? CUBLAS_OP_N : CUBLAS_OP_T, ones, blas_int(stored_x.cols()),
                blas_int(stored_x.rows()), &one, stored.data(), leading_dimension(stored), stored_x.data(),
                leading_dimension(stored_x)),
          "cublas<t>trsm", stream);
}

template void subtract_transposed_from_vector<float>(Stream, View<const float>, View<const float>, View<float>);
template void subtract_transposed_from_vector<double>(Stream, View<const double>, View<const double>, View<double>);
template void triangular_solve<float>(Stream, Triangle, Diagonal, View<const float>, View<float>);
template void triangular_solve<double>(Stream, Triangle, Diagonal, View<const double>, View<double>);

template void batched_gemm<float>(Stream, Index, float, Batched<const float>, Batched<const float>, float,
                                  Batched<float>, ProductPrecision);
template void batched_gemm<double>(Stream, Index, double, Batched<const double>, Batched<const double>, double,
                                   Batched<double>, ProductPrecision);

}  // namespace basalt::cuda_detail
