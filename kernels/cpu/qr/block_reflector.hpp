#pragma once

#include <type_traits>

#include <basalt/view.hpp>

/// H = I - V T V^T, the product of k reflectors. Single-threaded, reentrant. For float and double.
namespace basalt {

/// H itself or its transpose.
enum class Reflection { plain, transposed };

/// C = H C or H^T C for a row-major C (m x n).
///
/// V is given twice: `vt` is its transpose (k x m, row-major, with its zeros and ones), `below` its rows from the k-th
/// on ((m - k) x k, row-major), as they stand in the factored matrix. T is k x k, row-major, zeros below the diagonal.
template <class T>
void apply_block_reflector(Reflection reflection, std::type_identity_t<View<const T>> vt,
                           std::type_identity_t<View<const T>> below, std::type_identity_t<View<const T>> t, View<T> c);

/// C = C H or C H^T for a row-major C (m x n); V n x k explicit, any layout.
template <class T>
void apply_block_reflector_right(Reflection reflection, std::type_identity_t<View<const T>> v,
                                 std::type_identity_t<View<const T>> t, View<T> c);

/// V out of a panel in LAPACK's form (m x k, m >= k): the elements below the diagonal, zeros above it and ones on it.
/// They may be the same.
template <class T>
void explicit_reflectors(std::type_identity_t<View<const T>> panel, View<T> v);

/// T of the reflectors that a panel (m x k, m >= k) has in LAPACK's form, with their tau: LAPACK's larft. Zeros below
/// the diagonal.
template <class T>
void triangle_of_reflectors(std::type_identity_t<View<const T>> panel, const T* tau, View<T> t);

/// The same of G = V^T V, of which only the elements above the diagonal are read. T may take its place. T(0:j, j) =
/// -tau_j T(0:j, 0:j) G(0:j, j).
template <class T>
void triangle_of_gram(std::type_identity_t<View<const T>> gram, const T* tau, View<T> t) {
    for (Index j = 0; j < t.cols(); ++j) {
        for (Index i = 0; i < t.rows(); ++i) {
            T sum = 0;
            for (Index k = i; k < j; ++k) sum += t(i, k) * gram(k, j);
            t(i, j) = i < j ? -tau[j] * sum : i == j ? tau[j] : T{0};
        }
    }
}

}  // namespace basalt
