#pragma once

// What the tests of batched LU and QR share: random batches, LAPACK's results, and measures of errors.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/tasks/batch/batch_cases.hpp"

namespace basalt_tests {

template <class T>
double eps() {
    return static_cast<double>(std::numeric_limits<T>::epsilon());
}

/// Between -1 and 1. Unlike number(), which is linear in its arguments, it makes no matrices of low rank (splitmix64).
inline double scattered(Index a, Index b, Index c) {
    auto bits = static_cast<std::uint64_t>(a * 7919 + b * 104729 + c * 1299709 + 12345) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>(static_cast<std::int64_t>(bits ^ (bits >> 31))) / 9.3e18;
}

/// Numbers that differ from matrix to matrix.
template <class T>
void fill_random(View<T> a, Index seed) {
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) a(i, j) = static_cast<T>(scattered(i, j, seed));
    }
}
template <class T>
void fill_random(BatchMemory<T>& batch) {
    for (Index k = 0; k < batch.count; ++k) fill_random(batch[k], k);
}
/// Diagonally dominant by columns, so that no pivoting is needed.
template <class T>
void fill_dominant(BatchMemory<T>& batch) {
    fill_random(batch);
    for (Index k = 0; k < batch.count; ++k) {
        for (Index i = 0; i < batch.rows; ++i) batch[k](i, i) += static_cast<T>(batch.rows + 1);
    }
}

/// Memory outside the matrices is as it was.
template <class T>
bool gaps_untouched(const BatchMemory<T>& batch) {
    std::vector<bool> inside(batch.values.size());
    for (Index k = 0; k < batch.count; ++k) {
        for (Index j = 0; j < batch.cols; ++j) {
            for (Index i = 0; i < batch.rows; ++i) {
                inside[static_cast<std::size_t>(batch.offset + k * batch.stride() + j * batch.ld() + i)] = true;
            }
        }
    }
    for (std::size_t i = 0; i < inside.size(); ++i) {
        if (!inside[i] && batch.values[i] != T{-77}) return false;
    }
    return true;
}

template <class T>
double largest_of(View<T> a) {
    double largest = 0;
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a(i, j))));
    }
    return largest;
}

/// max |x - y| / max(1, max |y|), and NaN if there is one.
template <class T>
double relative_difference(View<T> x, View<T> y) {
    double difference = 0;
    for (Index j = 0; j < x.cols(); ++j) {
        for (Index i = 0; i < x.rows(); ++i) {
            const double delta = std::abs(static_cast<double>(x(i, j)) - static_cast<double>(y(i, j)));
            if (!(delta <= difference)) difference = delta;
        }
    }
    return difference / std::max(1.0, largest_of(y));
}

/// max |B - A X| / (n max |A| max |X| eps): a few units for a backward stable solve.
template <class T>
double solve_residual(View<T> a, View<T> x, View<T> b) {
    double worst = 0;
    for (Index c = 0; c < x.cols(); ++c) {
        for (Index i = 0; i < a.rows(); ++i) {
            double sum = static_cast<double>(b(i, c));
            for (Index j = 0; j < a.cols(); ++j) sum -= static_cast<double>(a(i, j)) * static_cast<double>(x(j, c));
            if (!(std::abs(sum) <= worst)) worst = std::abs(sum);
        }
    }
    const double scale = largest_of(a) * std::max(largest_of(x), 1e-30) * static_cast<double>(a.cols() + 4);
    return worst / std::max(scale * eps<T>(), std::numeric_limits<double>::min());
}

template <class T, class Single, class Double>
auto by_precision(Single single, Double twice) {
    if constexpr (sizeof(T) == 4) {
        return single;
    } else {
        return twice;
    }
}

template <class T>
lapack_int oracle_getrf(View<T> a, std::vector<lapack_int>& ipiv) {
    ipiv.resize(static_cast<std::size_t>(std::max<Index>(1, a.rows())));
    return by_precision<T>(LAPACKE_sgetrf_work, LAPACKE_dgetrf_work)(
        LAPACK_COL_MAJOR, int_of(a.rows()), int_of(a.cols()), a.data(), int_of(a.col_stride()), ipiv.data());
}

template <class T>
void oracle_getrs(View<T> a, const std::vector<lapack_int>& ipiv, View<T> b) {
    by_precision<T>(LAPACKE_sgetrs_work, LAPACKE_dgetrs_work)(LAPACK_COL_MAJOR, 'N', int_of(a.rows()), int_of(b.cols()),
                                                              a.data(), int_of(a.col_stride()), ipiv.data(), b.data(),
                                                              int_of(b.col_stride()));
}

template <class T>
lapack_int oracle_getri(View<T> a, const std::vector<lapack_int>& ipiv) {
    return by_precision<T>(LAPACKE_sgetri, LAPACKE_dgetri)(LAPACK_COL_MAJOR, int_of(a.rows()), a.data(),
                                                           int_of(a.col_stride()), ipiv.data());
}

template <class T>
void oracle_geqrf(View<T> a, T* tau) {
    by_precision<T>(LAPACKE_sgeqrf, LAPACKE_dgeqrf)(LAPACK_COL_MAJOR, int_of(a.rows()), int_of(a.cols()), a.data(),
                                                    int_of(a.col_stride()), tau);
}

template <class T>
void oracle_orgqr(View<T> a, Index reflectors, const T* tau) {
    by_precision<T>(LAPACKE_sorgqr, LAPACKE_dorgqr)(LAPACK_COL_MAJOR, int_of(a.rows()), int_of(a.cols()),
                                                    int_of(reflectors), a.data(), int_of(a.col_stride()), tau);
}

template <class T>
lapack_int oracle_gels(View<T> a, View<T> b) {
    return by_precision<T>(LAPACKE_sgels, LAPACKE_dgels)(LAPACK_COL_MAJOR, 'N', int_of(a.rows()), int_of(a.cols()),
                                                         int_of(b.cols()), a.data(), int_of(a.col_stride()), b.data(),
                                                         int_of(b.col_stride()));
}

}  // namespace basalt_tests
