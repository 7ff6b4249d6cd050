#include <cassert>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/cuda/products/vector_product.hpp"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

template <class T>
void run_on_gpu(SolveTriangle<T>, Stream stream, Triangle triangle, Diagonal diagonal, View<const T> t, View<T> x) {
    assert(t.rows() == t.cols() && t.rows() == x.rows());
    const bool stored_upper = triangle == Triangle::upper && diagonal == Diagonal::stored;
    if (stored_upper && cuda_detail::is_row_major(t) && x.cols() == 1) return cuda_detail::solve_upper<T>(stream, t, x);
    cuda_detail::triangular_solve<T>(stream, triangle, diagonal, t, x);
}

template <class T>
void run_on_gpu(SubtractFromRows<T>, Stream stream, View<const T> a, View<const T> x, View<T> y) {
    assert(a.rows() == y.rows() && a.cols() == x.rows() && x.cols() == y.cols());
    const bool row_major = cuda_detail::is_row_major(a);
    if (row_major && x.cols() == 1) return subtract_product<T, T>(stream, a, MatrixPart::all, 0, x, y);
    const View<const T> stored = row_major ? a : transposed(a);
    if (x.cols() == 1) return cuda_detail::subtract_transposed_from_vector<T>(stream, stored, x, y);
    cuda_detail::batched_gemm<T>(stream, 1, T{-1}, {stored, 0, !row_major}, {x}, T{1}, {y});
}

template <>
const SolveTriangle<float>::Gpu Code<SolveTriangle<float>>::gpu = gpu_code<SolveTriangle<float>>;
template <>
const SolveTriangle<double>::Gpu Code<SolveTriangle<double>>::gpu = gpu_code<SolveTriangle<double>>;
template <>
const SubtractFromRows<float>::Gpu Code<SubtractFromRows<float>>::gpu = gpu_code<SubtractFromRows<float>>;
template <>
const SubtractFromRows<double>::Gpu Code<SubtractFromRows<double>>::gpu = gpu_code<SubtractFromRows<double>>;

}  // namespace basalt::on_stream
