#pragma once

#include <type_traits>

#include <basalt/view.hpp>

/// The trailing update C -= A B on row-major tiles, with B packed once and used for many blocks of C.
///
/// All functions are reentrant and single-threaded. Shapes: C is m x n, A is m x k, B is k x n; any may be 0.
namespace basalt {

/// Number of elements that pack_b writes for a k x n matrix.
template <class T>
Index packed_size(Index k, Index n);

/// Copies B (unit column stride) to `packed`, packed_size(k, n) elements, in the order gemm_minus reads it.
template <class T>
void pack_b(std::type_identity_t<View<const T>> b, T* packed);

/// The same for a column-major B (unit row stride).
template <class T>
void pack_columns(std::type_identity_t<View<const T>> b, T* packed);

/// C -= A B, with B as pack_b left it. C and A have unit column stride and do not overlap.
/// A is read in place: packing it as well gains nothing, its rows stay in the first cache for all of B.
template <class T>
void gemm_minus(View<T> c, std::type_identity_t<View<const T>> a, const T* packed_b);

/// B becomes L^-1 B for L (k x k) lower triangular, row-major, and is packed on the way. scale[i] is 1 / l(i, i), whose
/// own diagonal is not read; null: L has a unit diagonal. B has unit column stride or unit row stride.
template <class T>
void solve_and_pack(std::type_identity_t<View<const T>> l, const T* scale, View<T> b, T* packed);

}  // namespace basalt
