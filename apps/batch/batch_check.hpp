#pragma once

#include <cstdint>

#include "basalt/view.hpp"

namespace basalt {

// How well a result fits its matrix, for float and double: a norm of what should be zero, divided by what rounding may
// make of it. Around 1 where all is well. Sums are computed in double.

/// ||A x - L L^T x|| / (n ||A|| ||x|| eps) for a vector of ones of both signs; A and L are lower triangles.
template <class T>
double cholesky_residual(View<const T> a, View<const T> l);

/// The same for P A x - L U x, with pivots counted from 1.
template <class T>
double lu_residual(View<const T> a, View<const T> factors, View<const Index> pivots);

/// The same for A x - Q R x and max(m, n); or, if that is larger, what the reflectors are off orthogonality.
template <class T>
double qr_residual(View<const T> a, View<const T> factors, View<const T> tau);

/// What of A is stored: all elements, or the lower triangle of a symmetric matrix.
enum class StoredPart : std::uint8_t { all, lower_triangle };

/// ||B - A X|| / (n ||A|| ||X|| eps), the worst of the columns.
template <class T>
double solution_residual(View<const T> a, View<const T> x, View<const T> b, StoredPart part);

/// ||A^T (B - A X)|| / (m ||A^T|| ||A|| ||X|| eps) for an A with more rows than columns.
template <class T>
double least_squares_residual(View<const T> a, View<const T> x, View<const T> b);

}  // namespace basalt
