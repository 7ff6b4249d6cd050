#pragma once

#include <type_traits>

#include <basalt/view.hpp>

#include "kernels/cpu/qr/block_reflector.hpp"

/// Tile QR: a block of rows factored, one block's triangle after another, and the reflectors applied. Named as LAPACK
/// names them.
///
/// V has w columns in inner blocks of `inner` = t.rows() columns, the last one narrower: `t` (inner x w, row-major)
/// holds the triangle T of each block in the block's columns, zeros below its diagonal. All matrices are row-major.
/// Single-threaded, reentrant; they allocate their scratch. For float and double. Columns of any scale are safe, as in
/// kernels/cpu/qr/panel.hpp, and a NaN or infinity spreads to the right of its column.
///
/// Buttari, Langou, Kurzak, Dongarra, "A class of parallel tiled linear algebra algorithms for multicore architectures"
/// (Parallel Computing 35, 2009).
namespace basalt {

/// What of the block below a triangle there is: all of it, or its upper triangle, the rest being zero (TS and TT).
enum class QrBelow { square, triangle };

/// A = Q (R, 0)^T for A (m x w, m >= w): V below its diagonal and R on and above it. R also goes to `r` (w x w), with
/// zeros below the diagonal.
template <class T>
void geqrt(View<T> a, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t);

/// (R, B)^T = Q (R', 0)^T for a triangle R (w x w, upper) and B (m x w; a triangle is w x w): R' takes R's place, V
/// that of B. The reflectors are (e_j, v_j)^T.
template <class T>
void tpqrt(QrBelow below, View<T> r, std::type_identity_t<View<T>> b, std::type_identity_t<View<T>> t);

/// C = Q C or Q^T C for what geqrt() left in `v`, whose upper triangle is not read. C has as many rows as V.
template <class T>
void gemqrt(Reflection reflection, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
            View<T> c);

/// The same of tpqrt() on (C1, C2)^T; C1 has as many rows as V has columns, C2 as many as V.
template <class T>
void tpmqrt(Reflection reflection, QrBelow below, std::type_identity_t<View<const T>> v,
            std::type_identity_t<View<const T>> t, View<T> c1, std::type_identity_t<View<T>> c2);

/// C = C Q or C Q^T, and (C1, C2) likewise.
template <class T>
void gemqrt_right(Reflection reflection, std::type_identity_t<View<const T>> v, std::type_identity_t<View<const T>> t,
                  View<T> c);
template <class T>
void tpmqrt_right(Reflection reflection, QrBelow below, std::type_identity_t<View<const T>> v,
                  std::type_identity_t<View<const T>> t, View<T> c1, std::type_identity_t<View<T>> c2);

}  // namespace basalt
