#include "apps/batch/batch_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "apps/factor/check_vector.hpp"

namespace basalt {

namespace {

Vector signs(Index n) {
    Vector x(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) element(x, i) = (i * i + i / 3) % 2 == 0 ? 1 : -1;
    return x;
}

/// The largest magnitude; NaN if there is one.
double largest(const Vector& x) {
    double result = 0;
    for (const double value : x) {
        if (!(std::abs(value) <= result)) result = std::abs(value);
    }
    return result;
}

/// Element (i, j) of A.
template <class T>
double element_of(View<const T> a, Index i, Index j, StoredPart part) {
    return static_cast<double>(part == StoredPart::lower_triangle && i < j ? a(j, i) : a(i, j));
}

/// A x, and the largest sum of magnitudes of a row.
template <class T>
std::pair<Vector, double> product(View<const T> a, const Vector& x, StoredPart part = StoredPart::all) {
    Vector y(static_cast<std::size_t>(a.rows()), 0.0);
    double norm = 0;
    for (Index i = 0; i < a.rows(); ++i) {
        double row = 0;
        for (Index j = 0; j < a.cols(); ++j) {
            const double value = element_of(a, i, j, part);
            element(y, i) += value * element(x, j);
            row += std::abs(value);
        }
        norm = std::max(norm, row);
    }
    return {std::move(y), norm};
}

/// ||x - y|| / (n norm eps), where zero by zero is zero.
template <class T>
double ratio(Vector x, const Vector& y, Index n, double norm) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
    const double off = largest(x);
    constexpr double eps = std::numeric_limits<T>::epsilon();
    return off == 0 ? 0 : off / (static_cast<double>(std::max<Index>(1, n)) * norm * eps);
}

/// Column j of an operand as doubles.
template <class T>
Vector column(View<const T> a, Index j) {
    Vector x(static_cast<std::size_t>(a.rows()));
    for (Index i = 0; i < a.rows(); ++i) element(x, i) = static_cast<double>(a(i, j));
    return x;
}

/// R x in its first rows, and zeros.
template <class T>
Vector upper_product(View<const T> a, const Vector& x) {
    Vector y(static_cast<std::size_t>(a.rows()), 0.0);
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i <= std::min(j, a.rows() - 1); ++i) {
            element(y, i) += static_cast<double>(a(i, j)) * element(x, j);
        }
    }
    return y;
}

}  // namespace

template <class T>
double cholesky_residual(View<const T> a, View<const T> l) {
    const Index n = a.rows();
    const Vector x = signs(n);
    const auto [ax, norm] = product(a, x, StoredPart::lower_triangle);
    Vector y(static_cast<std::size_t>(n), 0.0), z = y;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) element(y, j) += static_cast<double>(l(i, j)) * element(x, i);
    }
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) element(z, i) += static_cast<double>(l(i, j)) * element(y, j);
    }
    return ratio<T>(ax, z, n, norm);
}

template <class T>
double lu_residual(View<const T> a, View<const T> factors, View<const Index> pivots) {
    const Index n = a.rows();
    const Vector x = signs(n);
    auto [ax, norm] = product(a, x);
    for (Index k = 0; k < n; ++k) std::swap(element(ax, k), element(ax, pivots(k, 0) - 1));
    const Vector y = upper_product(factors, x);
    Vector z = y;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j + 1; i < n; ++i) element(z, i) += static_cast<double>(factors(i, j)) * element(y, j);
    }
    return ratio<T>(ax, z, n, norm);
}

template <class T>
double qr_residual(View<const T> a, View<const T> factors, View<const T> tau) {
    const Index m = a.rows(), n = a.cols();
    const Vector x = signs(n);
    const auto [ax, norm] = product(a, x);
    Vector y = upper_product(factors, x);
    double worst = 0;
    for (Index k = tau.rows() - 1; k >= 0; --k) {
        double square = 1, dot = element(y, k);
        for (Index i = k + 1; i < m; ++i) {
            const double v = static_cast<double>(factors(i, k));
            square += v * v;
            dot += v * element(y, i);
        }
        const double scale = static_cast<double>(tau(k, 0));
        element(y, k) -= scale * dot;
        for (Index i = k + 1; i < m; ++i) element(y, i) -= scale * dot * static_cast<double>(factors(i, k));
        const double off = scale == 0 ? 0 : std::abs(scale * square - 2);  // I - tau v v^T is orthogonal for 2
        worst = std::max(worst, off / (static_cast<double>(m) * std::numeric_limits<T>::epsilon()));
    }
    return std::max(worst, ratio<T>(ax, y, std::max(m, n), norm));
}

template <class T>
double solution_residual(View<const T> a, View<const T> x, View<const T> b, StoredPart part) {
    double worst = 0;
    for (Index c = 0; c < b.cols(); ++c) {
        const Vector solution = column(x.block(0, 0, a.cols(), x.cols()), c);
        const auto [ax, norm] = product(a, solution, part);
        const double own =
            ratio<T>(column(b.block(0, 0, a.rows(), b.cols()), c), ax, a.cols(), norm * largest(solution));
        if (!(own <= worst)) worst = own;
    }
    return worst;
}

template <class T>
double least_squares_residual(View<const T> a, View<const T> x, View<const T> b) {
    double worst = 0;
    for (Index c = 0; c < b.cols(); ++c) {
        const Vector solution = column(x.block(0, 0, a.cols(), x.cols()), c);
        const auto [ax, norm] = product(a, solution);
        Vector off = column(b.block(0, 0, a.rows(), b.cols()), c);
        const double right = largest(off);
        for (Index i = 0; i < a.rows(); ++i) element(off, i) -= element(ax, i);
        const View<const T> turned(a.data(), a.cols(), a.rows(), a.col_stride(), a.row_stride());
        const auto [gradient, across] = product(turned, off);
        const Vector zero(gradient.size(), 0.0);
        const double own = ratio<T>(gradient, zero, a.rows(), across * std::max(norm * largest(solution), right));
        if (!(own <= worst)) worst = own;
    }
    return worst;
}

template double cholesky_residual<float>(View<const float>, View<const float>);
template double cholesky_residual<double>(View<const double>, View<const double>);
template double lu_residual<float>(View<const float>, View<const float>, View<const Index>);
template double lu_residual<double>(View<const double>, View<const double>, View<const Index>);
template double qr_residual<float>(View<const float>, View<const float>, View<const float>);
template double qr_residual<double>(View<const double>, View<const double>, View<const double>);
template double solution_residual<float>(View<const float>, View<const float>, View<const float>, StoredPart);
template double solution_residual<double>(View<const double>, View<const double>, View<const double>, StoredPart);
template double least_squares_residual<float>(View<const float>, View<const float>, View<const float>);
template double least_squares_residual<double>(View<const double>, View<const double>, View<const double>);

}  // namespace basalt
