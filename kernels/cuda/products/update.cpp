#include <cassert>

#include "kernels/cuda/common/blas.cuh"
#include "kernels/on_stream/implement.hpp"
#include "kernels/on_stream/products.hpp"
#include "kernels/on_stream/triangle.hpp"

namespace basalt::on_stream {

namespace {

using cuda_detail::Batched;

template <class T>
Batched<T> batched(const TileColumns<T>& a) {
    return {a.column(0), a.stride};
}

}  // namespace

template <class T>
void run_on_gpu(SolveByInverse<T>, Stream stream, View<const T> x, TileColumns<const T> w, TileColumns<T> u) {
    assert(x.rows() == u.rows && x.cols() == w.rows && w.columns == u.columns && w.width == u.width);
    cuda_detail::batched_gemm<T>(stream, u.columns, T{1}, {x}, batched(w), T{0}, batched(u));
}

template <class T>
void run_on_gpu(UpdateTrailing<T>, Stream stream, View<const T> l, TileColumns<const T> u, TileColumns<T> c,
                ProductPrecision precision) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    cuda_detail::batched_gemm<T>(stream, c.columns, T{-1}, {l}, batched(u), T{1}, batched(c), precision);
}

template <>
const SolveByInverse<float>::Gpu Code<SolveByInverse<float>>::gpu = gpu_code<SolveByInverse<float>>;
template <>
const SolveByInverse<double>::Gpu Code<SolveByInverse<double>>::gpu = gpu_code<SolveByInverse<double>>;
template <>
const UpdateTrailing<float>::Gpu Code<UpdateTrailing<float>>::gpu = gpu_code<UpdateTrailing<float>>;
template <>
const UpdateTrailing<double>::Gpu Code<UpdateTrailing<double>>::gpu = gpu_code<UpdateTrailing<double>>;

}  // namespace basalt::on_stream
