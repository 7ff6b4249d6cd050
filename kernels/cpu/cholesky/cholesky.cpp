#include "kernels/cpu/cholesky/cholesky.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <vector>

#include "kernels/cpu/products/gemm.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::cpu_kernels {

namespace {

// Order of a triangle that is factored in a local array, columns contiguous, so that the compiler vectorises.
constexpr Index leaf = 32;

// Strips of a square block on the diagonal of C that is computed in full and then used by half: the fewest whose
// columns, as rows, are whole tiles of registers as well (48 = 4 x 12 doubles with AVX-512).
constexpr Index square_strips = 3;

/// Right-looking, column by column, of the lower triangle.
template <class T>
Index factor_leaf(View<T> a) {
    std::array<T, leaf * leaf> columns;
    const Index n = a.rows();
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) columns[static_cast<std::size_t>(j * leaf + i)] = a(i, j);
    }
    Index info = 0;
    for (Index j = 0; j < n && info == 0; ++j) {
        T* const column = columns.data() + j * leaf;
        if (!(column[j] > T{})) {
            info = j + 1;
            break;
        }
        column[j] = std::sqrt(column[j]);
        for (Index i = j + 1; i < n; ++i) column[i] /= column[j];
        for (Index c = j + 1; c < n; ++c) {
            T* const other = columns.data() + c * leaf;
            const T factor = column[c];
            for (Index i = c; i < n; ++i) other[i] -= factor * column[i];
        }
    }
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j <= i; ++j) a(i, j) = columns[static_cast<std::size_t>(j * leaf + i)];
    }
    return info;
}

/// Columns of the left half in the recursion of a triangle of order n.
Index left_half(Index n) { return (n / 2 + leaf - 1) / leaf * leaf; }

/// Memory for the halves of a triangle of order n, and of smaller ones; none for a leaf.
template <class T>
class RecursionMemory {
  public:
    explicit RecursionMemory(Index n)
        : widest_(n > leaf ? std::max(left_half(n), n - left_half(n)) : 0),
          scale_(static_cast<std::size_t>(widest_)),
          rows_(static_cast<std::size_t>(widest_ * widest_)),
          block_(rows_),
          packed_(static_cast<std::size_t>(packed_size<T>(widest_, widest_))) {}

    T* scale() { return scale_.data(); }
    View<T> rows(Index n) { return View<T>::row_major(rows_.data(), n, n, n); }
    View<T> block(Index rows, Index cols) { return View<T>::row_major(block_.data(), rows, cols, cols); }
    T* packed() { return packed_.data(); }

  private:
    Index widest_;
    std::vector<T> scale_, rows_, block_, packed_;
};

/// By halves, with the products of solve_and_pack(), which are faster here than OpenBLAS's trsm and syrk.
template <class T>
Index factor_lower(View<T> a, RecursionMemory<T>& memory) {
    const Index n = a.rows();
    if (n <= leaf) return factor_leaf(a);
    const Index top = left_half(n), below = n - top;
    const View<T> a00 = a.block(0, 0, top, top), a10 = a.block(top, 0, below, top),
                  a11 = a.block(top, top, below, below);
    if (const Index info = factor_lower(a00, memory)) return info;
    // A10^T = L00^-1 A10^T, A11 -= A10 A10^T
    const View<T> l00 = memory.rows(top);
    prepare_solve<T>(a00, l00, memory.scale());
    solve_and_pack<T>(l00, memory.scale(), transposed(a10), memory.packed());
    if (a.col_stride() == 1) {
        subtract_square<T>(Triangle::lower, a11, a10, memory.packed());
    } else {
        const View<T> b = memory.block(below, top);
        transpose<T>(transposed(a10), b);
        subtract_square<T>(Triangle::upper, transposed(a11), b, memory.packed());
    }
    const Index info = factor_lower(a11, memory);
    return info == 0 ? 0 : top + info;
}

}  // namespace

template <class T>
Index factor_triangle(Triangle triangle, View<T> a) {
    assert(a.rows() == a.cols());
    RecursionMemory<T> memory(a.rows());
    return factor_lower<T>(triangle == Triangle::lower ? a : transposed(a), memory);
}

template <class T>
void prepare_solve(std::type_identity_t<View<const T>> l, View<T> rows, T* scale) {
    for (Index i = 0; i < l.rows(); ++i) {
        for (Index j = 0; j <= i; ++j) rows(i, j) = l(i, j);
        scale[i] = T{1} / l(i, i);
    }
}

template <class T>
void subtract_square(Triangle triangle, View<T> c, std::type_identity_t<View<const T>> p, const T* packed) {
    const Index n = c.rows(), k = p.cols();
    assert(c.cols() == n && p.rows() == n);
    const Index square = square_strips * simd::kernels<T>().strip;
    std::vector<T> scratch(static_cast<std::size_t>(square * square));
    for (Index first = 0; first < n; first += square) {
        const Index order = std::min(square, n - first), end = first + order;
        const View<const T> rows = p.block(first, 0, order, k);
        if (triangle == Triangle::lower) {
            gemm_minus<T>(c.block(first, 0, order, first), rows, packed);
        } else {
            gemm_minus<T>(c.block(first, end, order, n - end), rows, packed + end * k);
        }
        const auto full = View<T>::row_major(scratch.data(), order, order, square);
        for (Index i = 0; i < order; ++i) std::fill_n(&full(i, 0), order, T{});
        gemm_minus<T>(full, rows, packed + first * k);
        const View<T> diagonal = c.block(first, first, order, order);
        for (Index i = 0; i < order; ++i) {
            const Index begin = triangle == Triangle::lower ? 0 : i, stop = triangle == Triangle::lower ? i + 1 : order;
            for (Index j = begin; j < stop; ++j) diagonal(i, j) += full(i, j);
        }
    }
}

template <class T>
void transpose(std::type_identity_t<View<const T>> source, View<T> target) {
    assert(source.rows() == target.cols() && source.cols() == target.rows());
    // row-major source is column-major of the target's shape
    simd::kernels<T>().unpack_columns(target.rows(), target.cols(), source.data(), source.row_stride(), target.data(),
                                      target.row_stride());
}

template Index factor_triangle<float>(Triangle, View<float>);
template Index factor_triangle<double>(Triangle, View<double>);
template void prepare_solve<float>(View<const float>, View<float>, float*);
template void prepare_solve<double>(View<const double>, View<double>, double*);
template void subtract_square<float>(Triangle, View<float>, View<const float>, const float*);
template void subtract_square<double>(Triangle, View<double>, View<const double>, const double*);
template void transpose<float>(View<const float>, View<float>);
template void transpose<double>(View<const double>, View<double>);

}  // namespace basalt::cpu_kernels
