// Tile QR: how the reflectors of blocks of rows are applied.
#include <algorithm>
#include <cassert>
#include <memory>

#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/qr/tiles.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt {

namespace {

// Rows of C that are packed at a time: with them and V^T's part the second cache is not yet full.
constexpr Index packed_tile_rows = 256;

/// Row-major matrices one behind the other in memory without initial values.
template <class T>
class TileScratch {
  public:
    explicit TileScratch(Index elements)
        : memory_(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements))) {}
    View<T> matrix(Index rows, Index cols) {
        T* const first = memory_.get() + used_;
        used_ += rows * cols;
        return View<T>::row_major(first, rows, cols, std::max<Index>(1, cols));
    }
    T* rest() { return memory_.get() + used_; }

  private:
    std::unique_ptr<T[]> memory_;
    Index used_ = 0;
};

/// visit(first column, columns) of the inner blocks: Q^T begins with the first one, Q with the last; from the right it
/// is the other way round.
template <class F>
void for_each_block(Index cols, Index inner, bool forward, const F& visit) {
    const Index blocks = (cols + inner - 1) / inner;
    for (Index i = 0; i < blocks; ++i) {
        const Index first = (forward ? i : blocks - 1 - i) * inner;
        visit(first, std::min(inner, cols - first));
    }
}

template <class T>
View<const T> op(Reflection reflection, View<const T> t) {
    return reflection == Reflection::transposed ? transposed(t) : t;
}

/// Rows of V that the reflectors up to column `end` have.
template <class T>
Index rows_of(QrBelow below, View<const T> v, Index end) {
    return below == QrBelow::triangle ? std::min(end, v.rows()) : v.rows();
}

/// One inner block: C1 and C2 less (1, V)^T op(T) (C1 + V^T C2).
template <class T>
void apply_stacked(View<const T> v, View<const T> t, View<T> c1, View<T> c2) {
    const Index rows = v.rows(), k = v.cols(), n = c1.cols();
    TileScratch<T> scratch(2 * k * n + k * rows + k * k +
                           packed_size<T>(std::max(std::min(packed_tile_rows, rows), k), n));
    const View<T> w = scratch.matrix(k, n), x = scratch.matrix(k, n), vt = scratch.matrix(k, rows);
    const View<T> triangle = scratch.matrix(k, k);
    T* const packed = scratch.rest();
    simd::kernels<T>().unpack_columns(k, rows, v.data(), v.row_stride(), vt.data(), rows);
    for (Index i = 0; i < k; ++i) {
        for (Index j = 0; j < k; ++j) triangle(i, j) = t(i, j);
        std::transform(&c1(i, 0), &c1(i, 0) + n, &w(i, 0), [](T value) { return -value; });
        std::fill_n(&x(i, 0), n, T{0});
    }
    for (Index row = 0; row < rows; row += packed_tile_rows) {  // W = -(C1 + V^T C2)
        const Index some = std::min(packed_tile_rows, rows - row);
        pack_b<T>(c2.block(row, 0, some, n), packed);
        gemm_minus<T>(w, vt.block(0, row, k, some), packed);
    }
    pack_b<T>(w, packed);
    gemm_minus<T>(x, triangle, packed);
    for (Index i = 0; i < k; ++i) {
        for (Index j = 0; j < n; ++j) c1(i, j) -= x(i, j);
    }
    pack_b<T>(x, packed);
    gemm_minus<T>(c2, v, packed);
}

}  // namespace

template <class T>
void gemqrt(Reflection reflection, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
            View<T> c) {
    assert(c.rows() == v.rows() && t.cols() == v.cols());
    if (c.empty()) return;
    for_each_block(v.cols(), t.rows(), reflection == Reflection::transposed, [&](Index first, Index cols) {
        const Index rows = v.rows() - first, below = first + cols;
        TileScratch<T> scratch(cols * rows);
        const View<T> vt = scratch.matrix(cols, rows);
        explicit_reflectors<T>(v.block(first, first, rows, cols), transposed(vt));
        apply_block_reflector<T>(reflection, vt, v.block(below, first, v.rows() - below, cols),
                                 t.block(0, first, cols, cols), c.block(first, 0, rows, c.cols()));
    });
}

template <class T>
void tpmqrt(Reflection reflection, QrBelow below, std::type_identity_t<View<const T>> v,
            std::type_identity_t<View<const T>> t, View<T> c1, std::type_identity_t<View<T>> c2) {
    assert(c1.rows() == v.cols() && c2.rows() == v.rows() && c1.cols() == c2.cols() && t.cols() == v.cols());
    if (c1.empty() || v.empty()) return;
    for_each_block(v.cols(), t.rows(), reflection == Reflection::transposed, [&](Index first, Index cols) {
        const Index rows = rows_of<T>(below, v, first + cols);
        apply_stacked<T>(v.block(0, first, rows, cols), op<T>(reflection, t.block(0, first, cols, cols)),
                         c1.block(first, 0, cols, c1.cols()), c2.block(0, 0, rows, c2.cols()));
    });
}

template <class T>
void gemqrt_right(Reflection reflection, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                  View<T> c) {
    assert(c.cols() == v.rows() && t.cols() == v.cols());
    if (c.empty()) return;
    for_each_block(v.cols(), t.rows(), reflection == Reflection::plain, [&](Index first, Index cols) {
        const Index rows = v.rows() - first;
        TileScratch<T> scratch(cols * rows);
        const View<T> made = scratch.matrix(rows, cols);
        explicit_reflectors<T>(v.block(first, first, rows, cols), made);
        apply_block_reflector_right<T>(reflection, made, t.block(0, first, cols, cols),
                                       c.block(0, first, c.rows(), rows));
    });
}

template <class T>
void tpmqrt_right(Reflection reflection, QrBelow below, std::type_identity_t<View<const T>> v,
                  std::type_identity_t<View<const T>> t, View<T> c1, std::type_identity_t<View<T>> c2) {
    assert(c1.cols() == v.cols() && c2.cols() == v.rows() && c1.rows() == c2.rows() && t.cols() == v.cols());
    if (c1.empty() || v.empty()) return;
    const BlasSerial serial;
    for_each_block(v.cols(), t.rows(), reflection == Reflection::plain, [&](Index first, Index cols) {
        const Index rows = rows_of<T>(below, v, first + cols), n = c1.rows();
        const View<const T> block = v.block(0, first, rows, cols);
        const View<T> top = c1.block(0, first, n, cols), rest = c2.block(0, 0, n, rows);
        TileScratch<T> scratch(2 * n * cols);
        const View<T> w = scratch.matrix(n, cols), x = scratch.matrix(n, cols);
        for (Index i = 0; i < n; ++i) std::copy_n(&top(i, 0), cols, &w(i, 0));
        blas::gemm<T>(T{1}, rest, block, T{1}, w);
        blas::gemm<T>(T{1}, w, op<T>(reflection, t.block(0, first, cols, cols)), T{0}, x);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < cols; ++j) top(i, j) -= x(i, j);
        }
        blas::gemm<T>(T{-1}, x, transposed(block), T{1}, rest);
    });
}

template void gemqrt<float>(Reflection, View<const float>, View<const float>, View<float>);
template void gemqrt<double>(Reflection, View<const double>, View<const double>, View<double>);
template void tpmqrt<float>(Reflection, QrBelow, View<const float>, View<const float>, View<float>, View<float>);
template void tpmqrt<double>(Reflection, QrBelow, View<const double>, View<const double>, View<double>, View<double>);
template void gemqrt_right<float>(Reflection, View<const float>, View<const float>, View<float>);
template void gemqrt_right<double>(Reflection, View<const double>, View<const double>, View<double>);
template void tpmqrt_right<float>(Reflection, QrBelow, View<const float>, View<const float>, View<float>, View<float>);
template void tpmqrt_right<double>(Reflection, QrBelow, View<const double>, View<const double>, View<double>,
                                   View<double>);

}  // namespace basalt
