#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/batch/lapack.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/cpu/blas/serial.hpp"

/// LU of one matrix of a batch: plain loops for small orders, LAPACK above.
namespace basalt::cpu_kernels {

/// Order up to which plain loops are faster than a call of LAPACK.
constexpr Index most_plain_lu = 15;

/// LAPACK's form of pivots; each thread keeps its own memory. Valid until the next call.
inline int* lapack_pivots(Index n) {
    thread_local std::vector<int> memory;
    if (std::ssize(memory) < n) memory.resize(static_cast<std::size_t>(n));
    return memory.data();
}

inline const int* lapack_pivots(const View<const Index>& pivots) {
    int* const ipiv = lapack_pivots(pivots.rows());
    for (Index k = 0; k < pivots.rows(); ++k) ipiv[k] = static_cast<int>(pivots(k, 0));
    return ipiv;
}

/// Columns k + 1 .. last - 1 lose the products with column k, which becomes multipliers.
template <class T>
void eliminate_column(const View<T>& a, Index k, Index last) {
    const Index n = a.rows(), ld = a.col_stride();
    T* const column = a.data() + k * ld;
    const T pivot = column[k];
    const bool divides = std::abs(pivot) < std::numeric_limits<T>::min();
    const T reciprocal = T{1} / pivot;
    for (Index i = k + 1; i < n && pivot != T{}; ++i) column[i] = divides ? column[i] / pivot : column[i] * reciprocal;
    for (Index j = k + 1; j < last; ++j) {
        T* const other = a.data() + j * ld;
        const T factor = other[k];
        for (Index i = k + 1; i < n; ++i) other[i] -= column[i] * factor;
    }
}

template <class T>
Index factor_lu_plainly(const View<T>& a, const View<Index>& pivots) {
    const Index n = a.rows();
    Index info = 0;
    for (Index k = 0; k < n; ++k) {
        Index pivot = k;
        for (Index i = k + 1; i < n; ++i) {
            if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
        }
        pivots(k, 0) = pivot + 1;
        for (Index j = 0; pivot != k && j < n; ++j) std::swap(a(k, j), a(pivot, j));
        if (info == 0 && a(k, k) == T{}) info = k + 1;
        eliminate_column(a, k, n);
    }
    return info;
}

template <class T>
Index factor_lu_alone(View<T> a, View<Index> pivots) {
    const Index n = a.rows();
    if (n <= most_plain_lu) return factor_lu_plainly(a, pivots);
    const BlasSerial serial;
    int* const ipiv = lapack_pivots(n);
    const int info = lapack::getrf(a, ipiv);
    for (Index k = 0; k < n; ++k) pivots(k, 0) = ipiv[k];
    return info;
}

/// Right-looking by panels.
template <class T>
Index factor_unpivoted_alone(View<T> a) {
    constexpr Index width = 32;
    const Index n = a.rows();
    const BlasSerial serial;
    Index info = 0;
    for (Index j = 0; j < n; j += width) {
        const Index end = std::min(n, j + width);
        for (Index k = j; k < end; ++k) {
            if (info == 0 && a(k, k) == T{}) info = k + 1;
            eliminate_column(a, k, end);
        }
        if (end == n) break;
        const View<T> right = a.block(j, end, end - j, n - end);
        blas::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, T{1}, a.block(j, j, end - j, end - j), right);
        blas::gemm<T>(T{-1}, a.block(end, j, n - end, end - j), right, T{1}, a.block(end, end, n - end, n - end));
    }
    return info;
}

template <class T>
void solve_unpivoted_alone(std::type_identity_t<View<const T>> factors, View<T> b) {
    const BlasSerial serial;
    blas::trsm<T>(Side::left, Triangle::lower, Diagonal::unit, T{1}, factors, b);
    blas::trsm<T>(Side::left, Triangle::upper, Diagonal::stored, T{1}, factors, b);
}

template <class T>
void solve_lu_alone(std::type_identity_t<View<const T>> factors, std::type_identity_t<View<const Index>> pivots,
                    View<T> b) {
    if (factors.rows() == 0 || b.cols() == 0) return;
    const BlasSerial serial;
    lapack::getrs<T>(factors, lapack_pivots(pivots), b);
}

template <class T>
Index invert_alone(View<T> factors, std::type_identity_t<View<const Index>> pivots) {
    if (factors.rows() == 0) return 0;
    const BlasSerial serial;
    return lapack::getri(factors, lapack_pivots(pivots));
}

}  // namespace basalt::cpu_kernels
