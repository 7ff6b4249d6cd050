// Tile QR: how blocks of rows are factored.
#include "kernels/cpu/qr/tiles.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/column_recursion.hpp"
#include "kernels/cpu/qr/column_products.hpp"
#include "kernels/cpu/qr/columns.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reflector.hpp"
#include "kernels/triangle.hpp"

namespace basalt {

namespace {

// Columns that are factored one by one.
constexpr Index tile_leaf_width = 16;

/// Memory without initial values.
template <class T>
std::unique_ptr<T[]> room_for(Index elements) {
    return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(elements));
}

/// How the rows of V stand to R: below the diagonal of the same block, or a block of their own under it.
enum class Rows { with_triangle, below_square, below_triangle };

/// One block of rows at work, column-major in `v`. R is in `r`; with_triangle it gets there column by column.
template <class T>
class RowsFactor {
  public:
    RowsFactor(Rows rows, View<T> v, View<T> r, View<T> t)
        : rows_(rows),
          v_(v),
          r_(r),
          t_(t),
          simd_(simd::kernels<T>()),
          exponents_(static_cast<std::size_t>(v.cols())),
          packed_(room_for<T>(packed_columns_size<T>(inner()))),
          w_(room_for<T>(v.cols() * inner())),
          x_(room_for<T>(v.cols() * inner())) {}

    void factor() {
        scale();
        for (Index i = 0; i < t_.rows(); ++i) std::fill_n(&t_(i, 0), t_.cols(), T{0});
        for (Index first = 0; first < v_.cols(); first += inner()) {
            const Index cols = std::min(inner(), v_.cols() - first);
            block_ = first;
            factor_by_halves(*this, first, cols, tile_leaf_width);
            apply(first, cols, v_.cols() - first - cols);
        }
        unscale_columns(r_, exponents_);
    }

  private:
    template <class Panel>
    friend void basalt::factor_by_halves(Panel&, Index, Index, Index);

    Index inner() const { return t_.rows(); }
    bool stacked() const { return rows_ != Rows::with_triangle; }
    /// First row of the reflectors from column `first` on, and the end of those up to column `end`.
    Index top(Index first) const { return stacked() ? 0 : first; }
    Index bottom(Index end) const { return rows_ == Rows::below_triangle ? std::min(end, v_.rows()) : v_.rows(); }
    /// T of columns [first, first + cols) of the block at work.
    View<T> triangle(Index first, Index cols) const { return t_.block(first - block_, first, cols, cols); }
    /// Row j of the reflector's columns: R's, or the block's own.
    T& head(Index j, Index c) const { return stacked() ? r_(j, c) : v_(j, c); }

    static View<T> zeros(T* memory, Index rows, Index cols) {
        std::fill_n(memory, rows * cols, T{0});
        return View<T>::row_major(memory, rows, cols, std::max<Index>(1, cols));
    }

    // --- scale ---

    void scale() {
        for (Index j = 0; j < v_.cols(); ++j) {
            T most =
                simd_.update_column(v_.rows(), 0, nullptr, 0, simd::Scaling::none, T{}, nullptr, &v_(0, j)).magnitude;
            for (Index i = 0; stacked() && i <= j; ++i) most = std::max(most, std::abs(r_(i, j)));
            const int exponent = exponents_[static_cast<std::size_t>(j)] = scaling_exponent(most);
            if (exponent == 0) continue;
            for (Index i = 0; i < v_.rows(); ++i) v_(i, j) = std::ldexp(v_(i, j), exponent);
            for (Index i = 0; stacked() && i <= j; ++i) r_(i, j) = std::ldexp(r_(i, j), exponent);
        }
    }

    // --- recursion, inside an inner block ---

    /// The `right` columns A behind `left` reflectors: A -= V T^T (V^T A).
    void apply(Index first, Index left, Index right) {
        if (right == 0) return;
        const Index second = first + left, begin = top(first), rows = bottom(second) - begin;
        const View<T> v = v_.block(begin, first, rows, left), a = v_.block(begin, second, rows, right);
        const View<T> w = zeros(w_.get(), right, left), x = zeros(x_.get(), right, left);
        for (Index q = 0; stacked() && q < left; ++q) {
            for (Index c = 0; c < right; ++c) w(c, q) = -r_(first + q, second + c);
        }
        subtract_products<T>(w, a, v, packed_.get());  // -(V^T A)^T
        pack_b<T>(triangle(first, left), packed_.get());
        gemm_minus<T>(x, w, packed_.get());
        subtract_outer<T>(a, v, x, packed_.get());
        for (Index q = 0; stacked() && q < left; ++q) {
            for (Index c = 0; c < right; ++c) r_(first + q, second + c) -= x(c, q);
        }
    }

    /// T12 = -T1 (V1^T V2) T2
    void join(Index first, Index left, Index right) {
        const Index second = first + left, begin = top(second), rows = bottom(second) - begin;
        const View<T> gram = zeros(w_.get(), left, right), product = zeros(x_.get(), left, right);
        subtract_products<T>(gram, v_.block(begin, first, rows, left), v_.block(begin, second, rows, right),
                             packed_.get());
        pack_b<T>(gram, packed_.get());
        gemm_minus<T>(product, triangle(first, left), packed_.get());
        pack_b<T>(triangle(second, right), packed_.get());
        gemm_minus<T>(t_.block(first - block_, second, left, right), product, packed_.get());
    }

    // --- leaves ---

    void leaf(Index first, Index cols) {
        const Index end = first + cols;
        T tau[tile_leaf_width], sums[tile_leaf_width], w[tile_leaf_width];
        const Index begin = stacked() ? 0 : first + 1;
        simd_.dots(bottom(end) - begin, cols, &v_(begin, first), &v_(begin, first), v_.col_stride(), sums);
        for (Index j = first; j < end; ++j) {
            const Reflector<T> h = make_reflector(head(j, j), sums[0]);
            tau[j - first] = h.tau;
            for (Index c = j + 1; c < end; ++c) {
                // where H = I nothing may reach them, NaN in the sums neither
                w[c - j - 1] = h.tau == 0 ? T{0} : h.tau * (head(j, c) + h.scale * sums[c - j]);
                head(j, c) -= w[c - j - 1];
            }
            reflect(j, end, h.scale, w, sums);
            r_(j, j) = h.beta;
            if (!stacked()) begin_column(j);
        }
        make_triangle(first, cols, tau);
    }

    /// v_j *= scale, the columns behind it -= v_j w^T, and the sums that column j + 1 needs.
    void reflect(Index j, Index end, T scale, const T* w, T* sums) {
        Index row = 0;
        if (!stacked()) {  // row j + 1 is the next one's head and no part of its sums
            row = std::min(j + 2, v_.rows());
            if (j + 1 < v_.rows()) {
                v_(j + 1, j) *= scale;
                for (Index c = j + 1; c < end; ++c) v_(j + 1, c) -= v_(j + 1, j) * w[c - j - 1];
            }
        }
        simd_.reflect(bottom(end) - row, end - j - 1, scale, v_.data() + row + j * v_.col_stride(), w,
                      v_.data() + row + (j + 1) * v_.col_stride(), v_.col_stride(), sums);
    }

    /// What is above the diagonal is R's, and V's is explicit.
    void begin_column(Index j) {
        for (Index i = 0; i < j; ++i) {
            r_(i, j) = v_(i, j);
            v_(i, j) = T{0};
        }
        v_(j, j) = T{1};
    }

    void make_triangle(Index first, Index cols, const T* tau) {
        T gram[tile_leaf_width * tile_leaf_width];
        const Index begin = top(first), rows = bottom(first + cols) - begin;
        for (Index j = 1; j < cols; ++j) {
            simd_.dots(rows, j, &v_(begin, first + j), &v_(begin, first), v_.col_stride(), gram + j * tile_leaf_width);
        }
        triangle_of_gram<T>(View<T>::column_major(gram, cols, cols, tile_leaf_width), tau, triangle(first, cols));
    }

    const Rows rows_;
    const View<T> v_, r_, t_;
    const simd::Kernels<T>& simd_;
    std::vector<int> exponents_;
    const std::unique_ptr<T[]> packed_, w_, x_;
    Index block_ = 0;  ///< first column of the inner block at work
};

/// With its rows in a column-major copy, which becomes V.
template <class T>
void factor_rows(Rows kind, View<T> a, View<T> r, View<T> t) {
    const simd::Kernels<T>& simd = simd::kernels<T>();
    const Index rows = a.rows(), cols = a.cols(), ld = line_padded<T>(rows);
    const auto memory = room_for<T>(ld * cols);
    const auto v = View<T>::column_major(memory.get(), rows, cols, ld);
    simd.unpack_columns(cols, rows, a.data(), a.row_stride(), v.data(), ld);
    RowsFactor<T>(kind, v, r, t).factor();
    simd.unpack_columns(rows, cols, v.data(), ld, a.data(), a.row_stride());
}

}  // namespace

template <class T>
void geqrt(View<T> a, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t) {
    assert(a.rows() >= a.cols() && r.rows() == a.cols() && r.cols() == a.cols() && t.cols() == a.cols());
    if (a.empty()) return;
    for (Index i = 0; i < r.rows(); ++i) std::fill_n(&r(i, 0), r.cols(), T{0});
    factor_rows<T>(Rows::with_triangle, a, r, t);
    for (Index i = 0; i < r.rows(); ++i) std::copy_n(&r(i, i), r.cols() - i, &a(i, i));
}

template <class T>
void tpqrt(QrBelow below, View<T> r, std::type_identity_t<View<T>> b, std::type_identity_t<View<T>> t) {
    assert(r.rows() == b.cols() && r.cols() == b.cols() && t.cols() == b.cols());
    assert(below == QrBelow::square || b.rows() == b.cols());
    if (b.empty()) return;
    factor_rows<T>(below == QrBelow::square ? Rows::below_square : Rows::below_triangle, b, r, t);
}

template void geqrt<float>(View<float>, View<float>, View<float>);
template void geqrt<double>(View<double>, View<double>, View<double>);
template void tpqrt<float>(QrBelow, View<float>, View<float>, View<float>);
template void tpqrt<double>(QrBelow, View<double>, View<double>, View<double>);

}  // namespace basalt
