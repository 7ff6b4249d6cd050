#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <lapacke.h>

#include <basalt/triangle.hpp>

#include "kernels/cuda/batch/small.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/same_numbers.hpp"

/// Small systems for the batched Cholesky kernels that run on the host, and what a call must make of them.
namespace basalt_tests {

using basalt::Triangle;
using basalt::View;
namespace device = basalt::cuda_detail::batch;

template <class T>
constexpr T unread = std::numeric_limits<T>::quiet_NaN();

/// Matrices of orders n, n - apart, n - 2 apart and so on, at least 1, with their right-hand sides, with NaN where
/// nothing may be read, and what LAPACKE makes of them. The pivot `bad` (from 1) of matrix `bad_matrix` is NaN; 0:
/// none.
template <class T>
struct Systems {
    Systems(int n, int count, int cols, Triangle triangle, int bad_matrix, int bad, int apart = 0)
        : n(n), ld(n + 3), cols(cols), apart(apart), triangle(triangle) {
        auto noise = [state = 1U]() mutable { return static_cast<T>((state = state * 69069U + 1U) >> 20) / 4096; };
        a.assign(static_cast<std::size_t>(count) * size_a(), unread<T>);
        b.assign(static_cast<std::size_t>(count) * size_b(), unread<T>);
        for (int k = 0; k < count; ++k) {
            for (int j = 0; j < order(k); ++j) {
                for (int i = j; i < order(k); ++i) *element(a, k, i, j) = i == j ? static_cast<T>(n + 1 + k) : noise();
            }
            for (int c = 0; c < cols; ++c) {
                for (int i = 0; i < order(k); ++i) right(b, k).b[i + c * ld] = noise();
            }
        }
        if (bad > 0) *element(a, bad_matrix, bad - 1, bad - 1) = unread<T>;
        l = a, x = b;
        for (int k = 0; k < count; ++k) {
            const bool fails = bad > 0 && k == bad_matrix;
            info.push_back(fails ? bad : 0);
            if (!fails) oracle(k);
        }
    }

    int order(int k) const { return std::max(1, n - apart * k); }
    std::size_t size_a() const { return static_cast<std::size_t>(ld) * static_cast<std::size_t>(n); }
    std::size_t size_b() const { return static_cast<std::size_t>(ld) * static_cast<std::size_t>(cols); }
    T* element(std::vector<T>& values, int k, int i, int j) const {
        T* const matrix = values.data() + static_cast<std::size_t>(k) * size_a();
        return triangle == Triangle::lower ? matrix + i + j * ld : matrix + j + i * ld;
    }
    device::Operand<T> operand(std::vector<T>& values, int k) const {
        return device::operand(triangle, View<T>::column_major(element(values, k, 0, 0), order(k), order(k), ld));
    }
    device::RightSides<T> right(std::vector<T>& values, int k) const {
        return {values.data() + static_cast<std::size_t>(k) * size_b(), ld, cols};
    }

    void oracle(int k) {
        const char uplo = triangle == Triangle::lower ? 'L' : 'U';
        T* const matrix = element(l, k, 0, 0);
        T* const sides = right(x, k).b;
        lapack_int failed = 0;
        if constexpr (sizeof(T) == 4) {
            failed = LAPACKE_spotrf_work(LAPACK_COL_MAJOR, uplo, order(k), matrix, ld);
            LAPACKE_spotrs_work(LAPACK_COL_MAJOR, uplo, order(k), cols, matrix, ld, sides, ld);
        } else {
            failed = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, uplo, order(k), matrix, ld);
            LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, uplo, order(k), cols, matrix, ld, sides, ld);
        }
        REQUIRE(failed == 0);
    }

    int n, ld, cols, apart;
    Triangle triangle;
    std::vector<T> a, b, l, x;
    std::vector<int> info;
};

/// Whether both hold NaN in the same places and are close elsewhere, in the matrices that did not fail.
template <class T>
bool close(const std::vector<T>& values, const std::vector<T>& expected, const std::vector<int>& info) {
    const std::size_t size = expected.size() / info.size();
    const T tolerance = 200 * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (info[i / size] > 0) continue;
        if (std::isnan(values[i]) != std::isnan(expected[i])) return false;
        if (std::abs(values[i] - expected[i]) > tolerance * std::max(T{1}, std::abs(expected[i]))) return false;
    }
    return true;
}

enum class Call { factor, solve, both, both_discarding };

/// What the call must leave.
template <class T>
void check_results(const Systems<T>& s, Call call, const std::vector<T>& a, const std::vector<T>& b,
                   const std::vector<int>& info) {
    if (call != Call::solve) CHECK(info == s.info);
    if (call == Call::factor || call == Call::both) {
        CHECK(close(a, s.l, s.info));
    } else {
        CHECK(same_numbers(a, call == Call::solve ? s.l : s.a));
    }
    if (call == Call::factor) {
        CHECK(same_numbers(b, s.b));
    } else {
        CHECK(close(b, s.x, s.info));
    }
    if (call == Call::factor || call == Call::solve) return;
    for (std::size_t k = 0; k < s.info.size(); ++k) {  // B stays where a pivot fails
        if (s.info[k] == 0) continue;
        const auto from = static_cast<std::ptrdiff_t>(k * s.size_b()),
                   to = from + static_cast<std::ptrdiff_t>(s.size_b());
        CHECK(same_numbers(std::vector<T>(b.begin() + from, b.begin() + to),
                           std::vector<T>(s.b.begin() + from, s.b.begin() + to)));
    }
}

}  // namespace basalt_tests
