#include "kernels/cpu/gemm.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

template <class T>
Index packed_size(Index k, Index n) {
    const Index strip = simd::kernels<T>().strip;
    return k * ((n + strip - 1) / strip * strip);
}

template <class T>
void pack_b(std::type_identity_t<View<const T>> b, T* packed) {
    assert(b.col_stride() == 1 || b.cols() <= 1);
    simd::kernels<T>().pack_b(b.rows(), b.cols(), b.data(), b.row_stride(), packed);
}

template <class T>
void pack_columns(std::type_identity_t<View<const T>> b, T* packed) {
    assert(b.row_stride() == 1 || b.rows() <= 1);
    const simd::Kernels<T>& kernels = simd::kernels<T>();
    const Index k = b.rows();
    for (Index j = 0; j < b.cols(); j += kernels.strip) {
        const Index valid = std::min(kernels.strip, b.cols() - j);
        const Index width = valid <= kernels.half_strip ? kernels.half_strip : kernels.strip;
        T* const strip = packed + j * k;
        if (valid < width) std::fill_n(strip, k * width, T{0});
        kernels.unpack_columns(k, valid, b.data() + j * b.col_stride(), b.col_stride(), strip, width);
    }
}

template <class T>
void scale_packed(Index k, Index n, const T* scale, T* packed) {
    const simd::Kernels<T>& kernels = simd::kernels<T>();
    for (Index j = 0; j < n; j += kernels.strip) {
        const Index width = n - j <= kernels.half_strip ? kernels.half_strip : kernels.strip;
        T* row = packed + j * k;
        for (Index r = 0; r < k; ++r, row += width) {
            for (Index c = 0; c < width; ++c) row[c] *= scale[r];
        }
    }
}

template <class T>
void gemm_minus(View<T> c, std::type_identity_t<View<const T>> a, const T* packed_b) {
    assert(c.col_stride() == 1 || c.cols() <= 1);
    assert(a.col_stride() == 1 || a.cols() <= 1);
    assert(a.rows() == c.rows());
    simd::kernels<T>().gemm_minus(c.rows(), c.cols(), a.cols(), c.data(), c.row_stride(), a.data(), a.row_stride(),
                                  packed_b);
}

template <class T>
void solve_and_pack(std::type_identity_t<View<const T>> l, View<T> b, T* packed) {
    assert(l.rows() == b.rows() && l.cols() == b.rows());
    const simd::Kernels<T>& kernels = simd::kernels<T>();
    for (Index j = 0; j < b.cols(); j += kernels.strip) {
        kernels.solve_strip(0, b.rows(), std::min(kernels.strip, b.cols() - j), l.data(), l.row_stride(), b.data() + j,
                            b.row_stride(), packed + j * b.rows());
    }
}

template Index packed_size<float>(Index, Index);
template Index packed_size<double>(Index, Index);
template void pack_b<float>(View<const float>, float*);
template void pack_b<double>(View<const double>, double*);
template void pack_columns<float>(View<const float>, float*);
template void pack_columns<double>(View<const double>, double*);
template void scale_packed<float>(Index, Index, const float*, float*);
template void scale_packed<double>(Index, Index, const double*, double*);
template void gemm_minus<float>(View<float>, View<const float>, const float*);
template void gemm_minus<double>(View<double>, View<const double>, const double*);
template void solve_and_pack<float>(View<const float>, View<float>, float*);
template void solve_and_pack<double>(View<const double>, View<double>, double*);

}  // namespace basalt
