#include "kernels/cpu/products/gemm.hpp"

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
void gemm_minus(View<T> c, std::type_identity_t<View<const T>> a, const T* packed_b) {
    assert(c.col_stride() == 1 || c.cols() <= 1);
    assert(a.col_stride() == 1 || a.cols() <= 1);
    assert(a.rows() == c.rows());
    simd::kernels<T>().gemm_minus(c.rows(), c.cols(), a.cols(), c.data(), c.row_stride(), a.data(), a.row_stride(),
                                  packed_b);
}

template <class T>
void solve_and_pack(std::type_identity_t<View<const T>> l, const T* scale, View<T> b, T* packed) {
    assert(l.rows() == b.rows() && l.cols() == b.rows());
    assert(l.col_stride() == 1 || l.cols() <= 1);
    const simd::Kernels<T>& kernels = simd::kernels<T>();
    const Index k = b.rows();
    for (Index j = 0; j < b.cols(); j += kernels.strip) {
        const Index valid = std::min(kernels.strip, b.cols() - j);
        const View<T> columns = b.block(0, j, k, valid);
        T* const strip = packed + j * k;
        if (b.col_stride() == 1) {
            kernels.solve_strip(0, k, valid, l.data(), l.row_stride(), scale, columns.data(), b.row_stride(), strip);
        } else {
            // solved where it is packed
            const Index width = valid <= kernels.half_strip ? kernels.half_strip : kernels.strip;
            pack_columns<T>(columns, strip);
            kernels.solve_strip(0, k, width, l.data(), l.row_stride(), scale, strip, width, strip);
            kernels.unpack_columns(valid, k, strip, width, columns.data(), b.col_stride());
        }
    }
}

template Index packed_size<float>(Index, Index);
template Index packed_size<double>(Index, Index);
template void pack_b<float>(View<const float>, float*);
template void pack_b<double>(View<const double>, double*);
template void pack_columns<float>(View<const float>, float*);
template void pack_columns<double>(View<const double>, double*);
template void gemm_minus<float>(View<float>, View<const float>, const float*);
template void gemm_minus<double>(View<double>, View<const double>, const double*);
template void solve_and_pack<float>(View<const float>, const float*, View<float>, float*);
template void solve_and_pack<double>(View<const double>, const double*, View<double>, double*);

}  // namespace basalt
