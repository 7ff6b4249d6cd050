#include "kernels/cpu/qr/panel.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/column_recursion.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"
#include "kernels/cpu/qr/block_reflector.hpp"
#include "kernels/cpu/qr/column_products.hpp"
#include "kernels/cpu/qr/columns.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reflector.hpp"
#include "tiles/copy.hpp"

namespace basalt {

namespace {

// Columns of a leaf: with few of them its rows stay in the second cache, and products with more run at half the rate at
// most.
constexpr Index leaf_width = 16;

/// One member at work on one panel.
template <class T>
class QrPanelMember {
  public:
    QrPanelMember(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared)
        : team_(team),
          v_(v),
          r_(r),
          t_(t),
          shared_(shared),
          simd_(simd::kernels<T>()),
          own_(team, v.rows(), v.cols()),
          packed_(static_cast<std::size_t>(packed_columns_size<T>(v.cols()))),
          exponents_(static_cast<std::size_t>(v.cols())) {}

    void factor() {
        if (leads()) clear(r_), clear(t_);
        scale();
        factor_by_halves(*this, 0, v_.cols(), leaf_width);
        if (leads()) unscale_columns(r_, exponents_);
        team_.barrier();
    }

  private:
    template <class Panel>
    friend void basalt::factor_by_halves(Panel&, Index, Index, Index);

    bool leads() const { return team_.rank() == 0; }
    static void clear(View<T> a) {
        for (Index i = 0; i < a.rows(); ++i) {
            for (Index j = 0; j < a.cols(); ++j) a(i, j) = T{0};
        }
    }
    View<T> matrix(T* memory, Index rows, Index cols) const {
        return View<T>::column_major(memory, rows, cols, v_.cols());
    }
    /// The member's rows from row `first` on, of columns [col, col + cols).
    View<T> own(Index first, Index col, Index cols) const {
        const Index begin = std::clamp(first, own_.begin, own_.end);
        return v_.block(begin, col, own_.end - begin, cols);
    }
    T* next_sums() {
        parity_ ^= 1;
        return shared_.sums(team_.rank(), parity_);
    }

    // --- scale ---

    void scale() {
        T* const largest = next_sums();
        const View<T> mine = own(0, 0, v_.cols());
        for (Index j = 0; j < mine.cols(); ++j) {
            largest[j] = simd_
                             .update_column(mine.rows(), 0, nullptr, 0, simd::Scaling::none, T{}, nullptr,
                                            mine.data() + j * mine.col_stride())
                             .magnitude;
        }
        team_.barrier();
        for (Index j = 0; j < mine.cols(); ++j) {
            T most = 0;
            for (int rank = 0; rank < team_.size(); ++rank) most = std::max(most, shared_.sums(rank, parity_)[j]);
            const int exponent = exponents_[static_cast<std::size_t>(j)] = scaling_exponent(most);
            if (exponent == 0) continue;
            for (Index i = 0; i < mine.rows(); ++i) mine(i, j) = std::ldexp(mine(i, j), exponent);
        }
    }

    // --- recursion ---

    /// The sum over all members of what each has made in its products(), rows x cols; every member has its share of the
    /// columns [begin, end) in total().
    struct Share {
        Index begin;
        Index end;
    };
    Share sum_products(Index rows, Index cols) {
        team_.barrier();
        const Share share{cols * team_.rank() / team_.size(), cols * (team_.rank() + 1) / team_.size()};
        const View<T> total = matrix(shared_.total(), rows, cols);
        for (Index j = share.begin; j < share.end; ++j) {
            std::copy_n(&matrix(shared_.products(0), rows, cols)(0, j), rows, &total(0, j));
            for (int rank = 1; rank < team_.size(); ++rank) {
                const T* const more = &matrix(shared_.products(rank), rows, cols)(0, j);
                for (Index i = 0; i < rows; ++i) total(i, j) += more[i];
            }
        }
        return share;
    }

    /// Of -X^T Y.
    Share sum_minus_products(View<const T> x, View<const T> y) {
        const View<T> product = matrix(shared_.products(team_.rank()), x.cols(), y.cols());
        clear(product);
        subtract_products<T>(transposed(product), y, x, packed_.data());
        return sum_products(x.cols(), y.cols());
    }

    /// A2 -= V1 T1^T (V1^T A2)
    void apply(Index first, Index left, Index right) {
        const View<T> v1 = own(first, first, left), a2 = own(first, first + left, right);
        const Share share = sum_minus_products(v1, a2);
        const View<T> w = matrix(shared_.factor(), left, right);
        blas::gemm<T>(T{-1}, transposed(t_.block(first, first, left, left)),
                      matrix(shared_.total(), left, right).block(0, share.begin, left, share.end - share.begin), T{0},
                      w.block(0, share.begin, left, share.end - share.begin));
        team_.barrier();
        subtract_outer<T>(a2, v1, transposed(w), packed_.data());
    }

    /// T12 = -T1 (V1^T V2) T2
    void join(Index first, Index left, Index right) {
        const Index second = first + left;
        const Share share = sum_minus_products(own(second, first, left), own(second, second, right));
        const Index cols = share.end - share.begin;
        const View<T> product = matrix(shared_.factor(), left, right);
        blas::gemm<T>(T{1}, t_.block(first, first, left, left),
                      matrix(shared_.total(), left, right).block(0, share.begin, left, cols), T{0},
                      product.block(0, share.begin, left, cols));
        team_.barrier();
        blas::gemm<T>(T{1}, product, t_.block(second, second + share.begin, right, cols), T{0},
                      t_.block(first, second + share.begin, left, cols));
        team_.barrier();
    }

    // --- leaves ---

    /// A pass over the columns applies a reflector and sums what the next one is made of.
    void leaf(Index first, Index cols) {
        const Index end = first + cols;
        const View<T> rest = own(first + 1, first, cols);
        simd_.dots(rest.rows(), cols, rest.data(), rest.data(), rest.col_stride(), next_sums());
        for (Index j = first; j < end; ++j) column(j, end);
        const View<T> mine = own(first, first, cols), gram = matrix(shared_.products(team_.rank()), cols, cols);
        for (Index j = 1; j < cols; ++j) {
            simd_.dots(mine.rows(), j, mine.data() + j * mine.col_stride(), mine.data(), mine.col_stride(),
                       &gram(0, j));
        }
        sum_products(cols, cols);
        team_.barrier();
        if (leads()) {
            T tau[leaf_width];
            for (Index j = 0; j < cols; ++j) tau[j] = t_(first + j, first + j);
            triangle_of_gram<T>(matrix(shared_.total(), cols, cols), tau, t_.block(first, first, cols, cols));
        }
        team_.barrier();
    }

    /// Column j, whose sums are made, and its reflector on the columns up to `end`.
    void column(Index j, Index end) {
        const Index cols = end - j;
        if (leads()) publish_row(j, cols);
        team_.barrier();
        T values[leaf_width];
        std::copy_n(shared_.sums(0, parity_), cols, values);
        for (int rank = 1; rank < team_.size(); ++rank) {
            for (Index c = 0; c < cols; ++c) values[c] += shared_.sums(rank, parity_)[c];
        }
        const T* const row = shared_.row(parity_);
        const Reflector<T> h = make_reflector(row[0], values[0]);
        // where H = I nothing may reach them, NaN in the sums neither
        for (Index c = 1; c < cols; ++c) values[c] = h.tau == 0 ? T{0} : h.tau * (row[c] + h.scale * values[c]);
        if (leads()) finish_row(j, cols, h, values);
        reflect(j, cols, h.scale, values + 1);
    }

    /// v_j *= scale, the columns behind it -= v_j w^T. Row j + 1 is the next column's and no part of its sums.
    void reflect(Index j, Index cols, T scale, const T* w) {
        const bool last = cols == 1;
        if (leads() && !last) {
            v_(j + 1, j) *= scale;
            for (Index c = 1; c < cols; ++c) v_(j + 1, j + c) -= v_(j + 1, j) * w[c - 1];
        }
        const View<T> rest = own(last ? j + 1 : j + 2, j, cols);
        simd_.reflect(rest.rows(), cols - 1, scale, rest.data(), w, rest.data() + rest.col_stride(), rest.col_stride(),
                      last ? nullptr : next_sums());
    }

    /// Row j of the leaf for all members; the elements above it in column j belong to R.
    void publish_row(Index j, Index cols) {
        for (Index c = 0; c < cols; ++c) shared_.row(parity_)[c] = v_(j, j + c);
        for (Index i = 0; i < j; ++i) {
            r_(i, j) = v_(i, j);
            v_(i, j) = T{0};
        }
    }

    void finish_row(Index j, Index cols, const Reflector<T>& h, const T* w) {
        r_(j, j) = h.beta;
        t_(j, j) = h.tau;
        v_(j, j) = T{1};
        for (Index c = 1; c < cols; ++c) v_(j, j + c) -= w[c];
    }

    const Team& team_;
    const View<T> v_, r_, t_;
    QrPanelWorkspace<T>& shared_;
    const simd::Kernels<T>& simd_;
    const QrPanelRows own_;
    std::vector<T> packed_;
    std::vector<int> exponents_;
    int parity_ = 0;
};

/// A few rows of all columns at a time: whole rows of the row-major matrix then stay in the second cache.
template <class T>
void copy_own_rows(const Team& team, View<const T> from, View<T> to) {
    constexpr Index rows_at_once = 64;
    const QrPanelRows own(team, to.rows(), to.cols());
    for (Index row = own.begin; row < own.end; row += rows_at_once) {
        const Index rows = std::min(rows_at_once, own.end - row);
        copy_elements<T>(from.block(row, 0, rows, to.cols()), to.block(row, 0, rows, to.cols()));
    }
}

template <class T>
constexpr std::size_t line_of = 64 / sizeof(T);

}  // namespace

template <class T>
QrPanelWorkspace<T>::QrPanelWorkspace(int members, Index cols)
    : members_(members),
      cols_(cols),
      matrix_(static_cast<std::size_t>(cols * cols)),
      line_((static_cast<std::size_t>(cols) + line_of<T> - 1) / line_of<T> * line_of<T>),
      products_(static_cast<std::size_t>(members) * matrix_),
      sums_(2 * static_cast<std::size_t>(members) * line_),
      rows_(2 * line_),
      total_(matrix_),
      factor_(matrix_) {}

QrPanelRows::QrPanelRows(const Team& team, Index m, Index k) {
    const auto border = [&](Index rank) {
        return rank == 0 ? Index{0} : std::max(std::min(m, k), m * rank / team.size());
    };
    begin = border(team.rank());
    end = team.rank() + 1 == team.size() ? m : border(team.rank() + 1);
}

template <class T>
void qr_panel_factor(const Team& team, View<T> v, View<T> r, View<T> t, QrPanelWorkspace<T>& shared) {
    if (v.rows() < v.cols() || !shared.fits(team.size(), v.cols()) || (v.row_stride() != 1 && v.rows() > 1)) {
        throw std::invalid_argument("qr_panel_factor: a " + std::to_string(v.rows()) + " x " +
                                    std::to_string(v.cols()) + " panel by " + std::to_string(team.size()) +
                                    " threads does not fit");
    }
    const BlasSerial serial;
    QrPanelMember<T>(team, v, r, t, shared).factor();
}

template <class T>
void qr_panel_load(const Team& team, View<const T> a, View<T> v) {
    copy_own_rows(team, a, v);
}

template <class T>
void qr_panel_store_explicit(const Team& team, View<const T> v, View<T> a) {
    copy_own_rows(team, v, a);
}

template <class T>
void qr_panel_store(const Team& team, View<const T> v, View<const T> r, View<T> a) {
    qr_panel_store_explicit(team, v, a);
    if (team.rank() != 0) return;
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i <= j; ++i) a(i, j) = r(i, j);
    }
}

template class QrPanelWorkspace<float>;
template class QrPanelWorkspace<double>;
template void qr_panel_factor(const Team&, View<float>, View<float>, View<float>, QrPanelWorkspace<float>&);
template void qr_panel_factor(const Team&, View<double>, View<double>, View<double>, QrPanelWorkspace<double>&);
template void qr_panel_load(const Team&, View<const float>, View<float>);
template void qr_panel_load(const Team&, View<const double>, View<double>);
template void qr_panel_store(const Team&, View<const float>, View<const float>, View<float>);
template void qr_panel_store(const Team&, View<const double>, View<const double>, View<double>);
template void qr_panel_store_explicit(const Team&, View<const float>, View<float>);
template void qr_panel_store_explicit(const Team&, View<const double>, View<double>);

}  // namespace basalt
