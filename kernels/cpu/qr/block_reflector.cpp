#include "kernels/cpu/qr/block_reflector.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "tiles/copy.hpp"

namespace basalt {

namespace {

// Rows of C that are packed at a time: with them and V^T's part the second cache is not yet full.
constexpr Index packed_rows = 256;

/// Row-major scratch without initial values.
template <class T>
class Scratch {
  public:
    Scratch(Index rows, Index cols) : memory_(static_cast<std::size_t>(rows * cols)), rows_(rows), cols_(cols) {}
    View<T> view() { return View<T>::row_major(memory_.data(), rows_, cols_, std::max<Index>(1, cols_)); }

  private:
    std::vector<T> memory_;
    Index rows_, cols_;
};

}  // namespace

template <class T>
void apply_block_reflector(Reflection reflection, std::type_identity_t<View<const T>> vt,
                           std::type_identity_t<View<const T>> below, std::type_identity_t<View<const T>> t,
                           View<T> c) {
    const Index m = c.rows(), n = c.cols(), k = vt.rows();
    assert(vt.cols() == m && t.rows() == k && t.cols() == k && below.rows() == m - k);
    if (k == 0 || n == 0) return;
    std::vector<T> packed(static_cast<std::size_t>(packed_size<T>(std::max(packed_rows, k), n)));
    Scratch<T> w(k, n), x(k, n), small(k, k);
    for (Index row = 0; row < m; row += packed_rows) {  // W = -V^T C
        const Index rows = std::min(packed_rows, m - row);
        pack_b<T>(c.block(row, 0, rows, n), packed.data());
        gemm_minus<T>(w.view(), vt.block(0, row, k, rows), packed.data());
    }
    // X = op(T) V^T C
    const View<const T> op = reflection == Reflection::transposed ? transposed(t) : t;
    copy_elements<T>(op, small.view());
    pack_b<T>(w.view(), packed.data());
    gemm_minus<T>(x.view(), small.view(), packed.data());
    // C -= V X
    pack_b<T>(x.view(), packed.data());
    copy_elements<T>(transposed(vt.block(0, 0, k, k)), small.view());
    gemm_minus<T>(c.block(0, 0, k, n), small.view(), packed.data());
    gemm_minus<T>(c.block(k, 0, m - k, n), below, packed.data());
}

template <class T>
void apply_block_reflector_right(Reflection reflection, std::type_identity_t<View<const T>> v,
                                 std::type_identity_t<View<const T>> t, View<T> c) {
    const Index k = v.cols();
    if (k == 0 || c.empty()) return;
    const BlasSerial serial;
    Scratch<T> w(c.rows(), k), x(c.rows(), k);
    const View<const T> op = reflection == Reflection::transposed ? transposed(t) : t;
    blas::gemm<T>(T{1}, c, v, T{0}, w.view());
    blas::gemm<T>(T{1}, w.view(), op, T{0}, x.view());
    blas::gemm<T>(T{-1}, x.view(), transposed(v), T{1}, c);
}

template <class T>
void explicit_reflectors(std::type_identity_t<View<const T>> panel, View<T> v) {
    const Index k = panel.cols();
    assert(panel.rows() >= k && v.rows() == panel.rows() && v.cols() == k);
    if (panel.data() != v.data()) copy_elements<T>(panel, v);
    for (Index i = 0; i < k; ++i) {
        v(i, i) = T{1};
        for (Index j = i + 1; j < k; ++j) v(i, j) = T{0};
    }
}

template <class T>
void triangle_of_reflectors(std::type_identity_t<View<const T>> panel, const T* tau, View<T> t) {
    const Index k = panel.cols();
    if (k == 0) return;
    const BlasSerial serial;
    Scratch<T> v(panel.rows(), k), gram(k, k);
    explicit_reflectors<T>(panel, v.view());
    blas::gemm<T>(T{1}, transposed(v.view()), v.view(), T{0}, gram.view());
    triangle_of_gram<T>(gram.view(), tau, t);
}

template void triangle_of_reflectors<float>(View<const float>, const float*, View<float>);
template void triangle_of_reflectors<double>(View<const double>, const double*, View<double>);
template void apply_block_reflector<float>(Reflection, View<const float>, View<const float>, View<const float>,
                                           View<float>);
template void apply_block_reflector<double>(Reflection, View<const double>, View<const double>, View<const double>,
                                            View<double>);
template void apply_block_reflector_right<float>(Reflection, View<const float>, View<const float>, View<float>);
template void apply_block_reflector_right<double>(Reflection, View<const double>, View<const double>, View<double>);
template void explicit_reflectors<float>(View<const float>, View<float>);
template void explicit_reflectors<double>(View<const double>, View<double>);

}  // namespace basalt
