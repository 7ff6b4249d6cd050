#pragma once

#include <cmath>

#include <basalt/view.hpp>

#include "kernels/cuda/common/device_code.hpp"
#include "kernels/cuda/qr/leaf_data.hpp"
#include "kernels/cuda/qr/leaf_square.hpp"

/// What one block computes of a leaf: the Cholesky factor of its Gram matrix, and its reflectors. Threads and their
/// patches of elements: leaf_square.hpp.
namespace basalt::cuda_detail {

/// Element (i, j) of a w x w matrix filled up with the unit matrix.
template <class T>
BASALT_DEVICE T filled(int w, const T* from, Index ld, int i, int j) {
    return i < w && j < w ? from[i * ld + j] : i == j ? T{1} : T{0};
}

/// Whether the sum of squares of row i is at most `most`, for all rows of the leaf.
template <class T, class Thread>
BASALT_DEVICE bool rows_within(const Thread& thread, int w, Square<T> x, const T* scales, T most) {
    bool good = true;
    const int i = thread.number;
    if (i < w) {
        T sum = 0;
        for (int l = 0; l < leaf_order; ++l) sum += x(i, l) * x(i, l);
        good = sum * scales[i] <= most;
    }
    return thread.all(good);
}

// What rows of the inverse of U may have as their norm, squared: V stays as exact as Q.
constexpr double largest_growth = 1024;

/// `low`, `high`: bounds of a Gram matrix's diagonal that keep its elements safe from over- and
/// underflow. `step`: elements of Q1^T Q1 - I whose squares are below the roundings, so that the second
/// Cholesky factor is I + F to working precision, where F has the elements above the diagonal and half of those on
/// it.
template <class T>
struct GramRange;
template <>
struct GramRange<double> {
    static constexpr double low = 0x1p-600, high = 0x1p600, step = 0x1p-30;
};
template <>
struct GramRange<float> {
    static constexpr float low = 0x1p-60F, high = 0x1p60F, step = 0x1p-13F;
};

template <class T>
BASALT_DEVICE bool in_range(T square) {
    return square >= GramRange<T>::low && square <= GramRange<T>::high;
}

template <class T>
struct LeafShared {
    StepLines<T> lines;
    Pivots<T> pivots;
    T squares[leaf_order];
};

/// Bound, squared, of a column's norm times the norm of its row of R^-1. Columns within it are not far from
/// orthogonal and lose no more than a few roundings in one pass. Columns of uniform numbers in [0, 1) have 4.
constexpr double nearly_orthogonal = 16;

/// A = R^T R by elimination. R = D^-1/2 U overwrites A; `inverse` becomes R^-T = D^-1/2 L^-1. Returns false if a pivot
/// is not above zero.
template <class T, class Thread>
BASALT_DEVICE bool cholesky(const Thread& thread, const PatchPlace& place, Patch<T>& a, Patch<T>& inverse,
                            LeafShared<T>& shared) {
    const bool good = eliminate(thread, place, a, inverse, false, shared.lines, shared.pivots);
    if (thread.number < leaf_order) {
        shared.pivots.inverse[thread.number] = T{1} / std::sqrt(shared.pivots.value[thread.number]);
    }
    thread.sync();
    for_patch(place, [&](int i, int j, int p, int q) {
        const T scale = shared.pivots.inverse[i];
        a.at[p][q] = i <= j ? a.at[p][q] * scale : T{0};
        inverse.at[p][q] *= scale;
    });
    return good;
}

BASALT_DEVICE QrLeafWay way_of(bool good, bool once) {
    return !good ? QrLeafWay::householder : once ? QrLeafWay::once : QrLeafWay::twice;
}

/// `largest_condition`: of any column, its norm times that of its row of the inverse.
template <class T, class Thread>
BASALT_DEVICE void factor_gram_block(const Thread& thread, int w, T largest_condition, const QrLeafData<T>& leaf,
                                     LeafShared<T>& shared, Square<T> square) {
    const PatchPlace place(thread.number);
    Patch<T> a, inverse;
    for_patch(place, [&](int i, int j, int p, int q) {
        a.at[p][q] = filled(w, leaf.gram, w, i, j);
        if (i == j) shared.squares[i] = a.at[p][q];
    });
    bool good = cholesky(thread, place, a, inverse, shared);
    if (thread.number < leaf_order) good = good && in_range(shared.squares[thread.number]);
    for_patch(place, [&](int i, int j, int p, int q) {
        square(j, i) = inverse.at[p][q];
        if (i < w && j < w) leaf.r1[i * w + j] = a.at[p][q];
    });
    good = thread.all(good);
    const bool once = rows_within(thread, w, square, shared.squares, static_cast<T>(nearly_orthogonal));
    good = rows_within(thread, w, square, shared.squares, largest_condition * largest_condition) && good;
    for_patch(place, [&](int i, int j, int, int) {
        if (i < w && j < w) leaf.x[i * w + j] = square(i, j);
    });
    if (thread.number == 0) *leaf.way = way_of(good, once);
}

/// factor_gram_block() of a wide leaf (w > 64), by blocks:
///
///     G11 = R11^T R11,  R12 = X11^T G12,  G22 - R12^T R12 = R22^T R22,  X12 = -X11 R12 X22
///
/// `squares`: of the rows of X, 2 x 64.
template <class T, class Thread>
BASALT_DEVICE void factor_wide_gram_block(const Thread& thread, int w, T largest_condition, const QrLeafData<T>& leaf,
                                          LeafShared<T>& shared, T* squares, Square<T> x11, Square<T> left,
                                          Square<T> right) {
    constexpr int half = leaf_order;
    const PatchPlace place(thread.number);
    const auto gram = [&](int i, int j) { return filled(w, leaf.gram, w, i, j); };
    const auto store = [&](T* to, int i, int j, T value) {
        if (i < w && j < w) to[i * w + j] = value;
    };
    const auto add_squares = [&](Square<T> x, T* sums, bool first) {
        if (thread.number >= half) return;
        T sum = first ? T{0} : sums[thread.number];
        for (int l = 0; l < half; ++l) sum += x(thread.number, l) * x(thread.number, l);
        sums[thread.number] = sum;
    };
    Patch<T> a, inverse;
    for_patch(place, [&](int i, int j, int p, int q) { a.at[p][q] = gram(i, j); });
    bool good = cholesky(thread, place, a, inverse, shared);
    for_patch(place, [&](int i, int j, int p, int q) {
        store(leaf.r1, i, j, a.at[p][q]);
        store(leaf.x, j, i, inverse.at[p][q]);
        x11(j, i) = left(i, j) = inverse.at[p][q];
        right(i, j) = gram(i, half + j);
    });
    thread.sync();
    const Patch<T> r12 = multiply<false, false>(place, left, right);
    add_squares(x11, squares, true);
    thread.sync();
    for_patch(place, [&](int i, int j, int p, int q) {
        store(leaf.r1, i, half + j, r12.at[p][q]);
        store(leaf.r1, half + i, j, T{0});
        store(leaf.x, half + i, j, T{0});
        left(j, i) = right(i, j) = r12.at[p][q];
    });
    thread.sync();
    const Patch<T> taken = multiply<false, false>(place, left, right), xr = multiply<true, false>(place, x11, right);
    for_patch(place, [&](int i, int j, int p, int q) { a.at[p][q] = gram(half + i, half + j) - taken.at[p][q]; });
    good = cholesky(thread, place, a, inverse, shared) && good;
    for_patch(place, [&](int i, int j, int p, int q) {
        store(leaf.r1, half + i, half + j, a.at[p][q]);
        store(leaf.x, half + j, half + i, inverse.at[p][q]);
        left(i, j) = xr.at[p][q];
        right(j, i) = inverse.at[p][q];
    });
    thread.sync();
    const Patch<T> x12 = multiply<false, true>(place, left, right);
    add_squares(right, squares + half, true);
    thread.sync();
    for_patch(place, [&](int i, int j, int p, int q) {
        store(leaf.x, i, half + j, -x12.at[p][q]);
        left(i, j) = x12.at[p][q];
    });
    thread.sync();
    add_squares(left, squares, false);
    thread.sync();
    bool once = true;
    if (thread.number < w) {
        const T norm = gram(thread.number, thread.number), square = norm * squares[thread.number];
        once = square <= static_cast<T>(nearly_orthogonal);
        good = good && in_range(norm) && square <= largest_condition * largest_condition;
    }
    once = thread.all(once);
    good = thread.all(good);
    if (thread.number == 0) *leaf.way = way_of(good, once);
}

/// Element (i, j) of a wide leaf's compressed form, which is its top above the R of the rows below (once: R1, twice:
/// R1 + F R1), and of x, which makes the rows below orthonormal (once: A r1^-1, twice: Q1 (I - F)).
template <class T>
BASALT_DEVICE void compress_element(int i, int j, const View<const T>& top, const View<T>& compressed,
                                    const QrLeafData<T>& leaf) {
    const int w = static_cast<int>(top.cols()), n = i * w + j;
    compressed(i, j) = top(i, j);
    T r = leaf.r1[n];
    if (*leaf.way == QrLeafWay::twice) {
        const auto f = [&](int k, int l) {  // on and above the diagonal
            return k == l ? (leaf.gram[k * w + l] - 1) / 2 : leaf.gram[k * w + l];
        };
        for (int l = i; l <= j; ++l) r += f(i, l) * leaf.r1[l * w + j];
        leaf.x[n] = i > j ? T{0} : (i == j ? T{1} : T{0}) - f(i, j);
        const T step = leaf.gram[n] - (i == j ? T{1} : T{0});
        // threads that look later and no longer find `twice` skip results that are not read for a refused leaf
        if (!(std::abs(step) <= GramRange<T>::step)) *leaf.way = QrLeafWay::householder;
    }
    compressed(w + i, j) = r;
}

/// Twice: Q1 = Q2 (I + F), Q2's top - S = L U; V = (L, Q1 x) with x = (I - F) U^-1, R = S (I + F) R1, T = -U
/// S L^-T. Once: F = 0 and V = (L, A x) with x = R1^-1 U^-1. `top`: the first rows of A, which become V's.
template <class T, class Thread>
BASALT_DEVICE void reconstruct_block(const Thread& thread, int w, View<T> top, View<const T> q1_top,
                                     const QrLeafData<T>& leaf, LeafShared<T>& shared, Square<T> f, Square<T> other) {
    if (*leaf.way == QrLeafWay::householder) return;  // the same for all threads
    const bool twice = *leaf.way == QrLeafWay::twice;
    const PatchPlace place(thread.number);
    Patch<T> lu, unit, x;
    bool good = true;
    for_patch(place, [&](int i, int j, int p, int q) {
        if (twice) {
            const T step = filled(w, leaf.gram, w, i, j) - (i == j ? T{1} : T{0});
            good = good && std::abs(step) <= GramRange<T>::step;
            f(i, j) = i < j ? step : i == j ? step / 2 : T{0};
            lu.at[p][q] = filled(w, q1_top.data(), q1_top.row_stride(), i, j);
        } else {
            f(i, j) = filled(w, leaf.x, w, i, j);
            lu.at[p][q] = filled<T>(w, top.data(), top.row_stride(), i, j);
        }
        other(i, j) = lu.at[p][q];
    });
    good = thread.all(good);
    const Patch<T> product = multiply<false, true>(place, other, f);
    for_patch(place,
              [&](int, int, int p, int q) { lu.at[p][q] = twice ? lu.at[p][q] - product.at[p][q] : product.at[p][q]; });
    eliminate(thread, place, lu, unit, true, shared.lines, shared.pivots);
    invert_upper(thread, place, lu, x, shared.lines, shared.pivots);
    for_patch(place, [&](int i, int j, int p, int q) { other(i, j) = x.at[p][q]; });
    if (thread.number < leaf_order) shared.squares[thread.number] = T{1};
    thread.sync();
    if (!rows_within(thread, w, other, shared.squares, static_cast<T>(largest_growth)) || !good) {
        if (thread.number == 0) *leaf.way = QrLeafWay::householder;
        return;
    }
    const Patch<T> fx = multiply<true, true>(place, f, other);
    for_patch(place, [&](int i, int j, int p, int q) {
        if (i < w && j < w) leaf.x[i * w + j] = twice ? x.at[p][q] - fx.at[p][q] : fx.at[p][q];
    });
    Patch<T> r;
    for_patch(place, [&](int i, int j, int p, int q) { r.at[p][q] = filled(w, leaf.r1, w, i, j); });
    if (twice) {
        thread.sync();
        for_patch(place, [&](int i, int j, int p, int q) { other(i, j) = r.at[p][q]; });
        thread.sync();
        const Patch<T> fr = multiply<true, true>(place, f, other);
        for_patch(place, [&](int, int, int p, int q) { r.at[p][q] += fr.at[p][q]; });
    }
    thread.sync();
    for_patch(place, [&](int i, int j, int p, int q) {
        const T u = i == j ? shared.pivots.value[i] : lu.at[p][q];
        f(i, j) = i <= j ? u * shared.pivots.sign[j] : T{0};
        other(j, i) = unit.at[p][q];
        if (i >= w || j >= w) return;
        leaf.r[i * w + j] = i <= j ? shared.pivots.sign[i] * r.at[p][q] : T{0};
        top(i, j) = i > j ? lu.at[p][q] : i == j ? T{1} : T{0};
    });
    thread.sync();
    const Patch<T> t = multiply<true, true>(place, f, other);
    for_patch(place, [&](int i, int j, int p, int q) {
        if (i < w && j < w) leaf.t[i * w + j] = i <= j ? -t.at[p][q] : T{0};
    });
}

}  // namespace basalt::cuda_detail
