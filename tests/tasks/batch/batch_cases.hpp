#pragma once

// What the tests of batches share: a batch in any layout, and LAPACK's results for its matrices.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "tests/common/catch.hpp"

namespace basalt_tests {

using basalt::BatchView;
using basalt::Index;
using basalt::Triangle;
using basalt::View;

/// Memory of a batch with `gap` elements below each column, `space` between matrices and `offset` before the first.
template <class T>
struct BatchMemory {
    Index count, rows, cols, gap = 0, space = 0, offset = 0;
    std::vector<T> values = std::vector<T>(static_cast<std::size_t>(offset + count * stride()), T{-77});

    Index ld() const { return std::max<Index>(1, rows + gap); }
    Index stride() const { return ld() * cols + space; }
    T* data() { return values.data() + offset; }
    View<T> operator[](Index k) { return View<T>::column_major(data() + k * stride(), rows, cols, ld()); }

    BatchView<T> strided() { return BatchView<T>::strided(data(), count, rows, cols, ld(), stride()); }
    std::vector<T*> addresses() {
        std::vector<T*> result;
        for (Index k = 0; k < count; ++k) result.push_back(data() + k * stride());
        return result;
    }
};

/// The same small numbers for equal arguments, between -1 and 1.
inline double number(Index a, Index b, Index c) {
    const auto bits = static_cast<std::uint64_t>(a * 7919 + b * 104729 + c * 1299709 + 12345) * 0x9E3779B97F4A7C15u;
    return static_cast<double>(static_cast<std::int64_t>(bits)) / 9.3e18;
}

/// Positive definite in one triangle, by its diagonal; a mark in the other one.
template <class T>
void fill_spd(Triangle triangle, View<T> a, Index seed) {
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            const bool other = triangle == Triangle::lower ? i < j : i > j;
            const double symmetric = number(std::min(i, j), std::max(i, j), seed);
            a(i, j) = static_cast<T>(other ? 1000.0 + static_cast<double>(i) : i == j ? a.rows() + 1 : symmetric);
        }
    }
}

template <class T>
void fill_sides(View<T> b, Index seed) {
    for (Index j = 0; j < b.cols(); ++j) {
        for (Index i = 0; i < b.rows(); ++i) b(i, j) = static_cast<T>(number(i, j, seed + 3));
    }
}

inline lapack_int int_of(Index value) { return static_cast<lapack_int>(value); }
inline char uplo(Triangle triangle) { return triangle == Triangle::lower ? 'L' : 'U'; }

template <class T>
lapack_int oracle_potrf(Triangle triangle, View<T> a) {
    if constexpr (sizeof(T) == 4) {
        return LAPACKE_spotrf_work(LAPACK_COL_MAJOR, uplo(triangle), int_of(a.rows()), a.data(),
                                   int_of(a.col_stride()));
    } else {
        return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, uplo(triangle), int_of(a.rows()), a.data(),
                                   int_of(a.col_stride()));
    }
}

template <class T>
void oracle_potrs(Triangle triangle, View<T> a, View<T> b) {
    if constexpr (sizeof(T) == 4) {
        LAPACKE_spotrs_work(LAPACK_COL_MAJOR, uplo(triangle), int_of(a.rows()), int_of(b.cols()), a.data(),
                            int_of(a.col_stride()), b.data(), int_of(b.col_stride()));
    } else {
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, uplo(triangle), int_of(a.rows()), int_of(b.cols()), a.data(),
                            int_of(a.col_stride()), b.data(), int_of(b.col_stride()));
    }
}

/// The largest difference relative to the largest element; everything outside the matrices counts, too.
template <class T>
double batch_difference(const std::vector<T>& x, const std::vector<T>& y) {
    double difference = 0, size = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double delta = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
        if (!(delta <= difference)) difference = delta;  // NaN stays
        size = std::max(size, std::abs(static_cast<double>(y[i])));
    }
    return difference / size;
}

/// Both factors have small errors, and so have these well-conditioned systems' solutions.
template <class T>
double batch_tolerance(Index n) {
    return 10 * static_cast<double>(n + 4) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

}  // namespace basalt_tests
