#include "kernels/cuda/triangle_solve.hpp"

#include <cassert>

#include "kernels/cuda/blas.cuh"
#include "kernels/cuda/vector_product.hpp"

namespace basalt::cuda_kernels {

template <class T>
void solve_triangle(Stream stream, Triangle triangle, Diagonal diagonal, std::type_identity_t<View<const T>> t,
                    View<T> x) {
    assert(t.rows() == t.cols() && t.rows() == x.rows());
    const bool stored_upper = triangle == Triangle::upper && diagonal == Diagonal::stored;
    if (stored_upper && cuda_detail::is_row_major(t) && x.cols() == 1) return solve_upper<T>(stream, t, x);
    cuda_detail::triangular_solve<T>(stream, triangle, diagonal, t, x);
}

template <class T>
void subtract_from_rows(Stream stream, std::type_identity_t<View<const T>> a, std::type_identity_t<View<const T>> x,
                        View<T> y) {
    assert(a.rows() == y.rows() && a.cols() == x.rows() && x.cols() == y.cols());
    const bool row_major = cuda_detail::is_row_major(a);
    if (row_major && x.cols() == 1) return subtract_product<T, T>(stream, a, MatrixPart::all, 0, x, y);
    const View<const T> stored = row_major ? a : transposed(a);
    if (x.cols() == 1) return cuda_detail::subtract_transposed_from_vector<T>(stream, stored, x, y);
    cuda_detail::batched_gemm<T>(stream, 1, T{-1}, {stored, 0, !row_major}, {x}, T{1}, {y});
}

template void solve_triangle<float>(Stream, Triangle, Diagonal, View<const float>, View<float>);
template void solve_triangle<double>(Stream, Triangle, Diagonal, View<const double>, View<double>);
template void subtract_from_rows<float>(Stream, View<const float>, View<const float>, View<float>);
template void subtract_from_rows<double>(Stream, View<const double>, View<const double>, View<double>);

}  // namespace basalt::cuda_kernels
