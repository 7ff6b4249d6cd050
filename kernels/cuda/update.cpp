#include "kernels/cuda/update.hpp"

#include <cassert>

#include "kernels/cuda/blas.cuh"

namespace basalt::cuda_kernels {

namespace {

using cuda_detail::Batched;

template <class T>
Batched<T> batched(const TileColumns<T>& a) {
    return {a.column(0), a.stride};
}

}  // namespace

template <class T>
void solve_by_inverse(Stream stream, std::type_identity_t<View<const T>> x,
                      std::type_identity_t<TileColumns<const T>> w, TileColumns<T> u) {
    assert(x.rows() == u.rows && x.cols() == w.rows && w.columns == u.columns && w.width == u.width);
    cuda_detail::batched_gemm<T>(stream, u.columns, T{1}, {x}, batched(w), T{0}, batched(u));
}

template <class T>
void update_trailing(Stream stream, std::type_identity_t<View<const T>> l, std::type_identity_t<TileColumns<const T>> u,
                     TileColumns<T> c, ProductPrecision precision) {
    assert(l.rows() == c.rows && l.cols() == u.rows && u.columns == c.columns && u.width == c.width);
    cuda_detail::batched_gemm<T>(stream, c.columns, T{-1}, {l}, batched(u), T{1}, batched(c), precision);
}

template void solve_by_inverse<float>(Stream, View<const float>, TileColumns<const float>, TileColumns<float>);
template void solve_by_inverse<double>(Stream, View<const double>, TileColumns<const double>, TileColumns<double>);
template void update_trailing<float>(Stream, View<const float>, TileColumns<const float>, TileColumns<float>,
                                     ProductPrecision);
template void update_trailing<double>(Stream, View<const double>, TileColumns<const double>, TileColumns<double>,
                                      ProductPrecision);

}  // namespace basalt::cuda_kernels
