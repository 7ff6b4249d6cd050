#pragma once

#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include "kernels/cuda/qr/leaf_data.hpp"

/// The parts of a leaf of the QR panel that one block, or a grid that meets, computes.
namespace basalt::cuda_detail {

/// Whether the device's blocks have the shared memory that wide leaves take.
bool wide_leaves_fit(Stream stream);

/// Elements of the workspace `parts` of the next two functions, for leaves of at most `cols` columns.
Index gram_workspace(Index cols, int multiprocessors);

/// leaf.gram = A^T A.
template <class T>
void make_gram(Stream stream, View<const T> a, QrLeafData<T> leaf, T* parts);

/// G = R^T R, x = R^-1, where G is the Gram matrix of `rows` rows. Decides the way: columns that are nearly orthogonal
/// up to scale need one pass; columns that are too close to each other or out of scale need Householder's method.
template <class T>
void factor_gram(Stream stream, Index rows, int w, QrLeafData<T> leaf);

/// For leaves that need a second pass: Q1 = A r1^-1, leaf.gram = Q1^T Q1.
template <class T>
void orthogonalize_again(Stream stream, View<const T> a, View<T> q1, QrLeafData<T> leaf, T* parts);

/// Computes R, T and the x of V, and overwrites the first w rows of A with those of V. Does nothing for leaves that
/// Householder's method factors.
template <class T>
void reconstruct_reflectors(Stream stream, View<T> a, View<const T> q1, QrLeafData<T> leaf);

/// Overwrites the rows of A below a leaf's first w with V = A x, or V = Q1 x after a second pass. Does nothing for
/// leaves that Householder's method factors.
template <class T>
void make_reflectors(Stream stream, View<T> below, View<const T> q1, QrLeafData<T> leaf);

/// The rows of a wide leaf below the first w are Q R with orthonormal Q. Writes the compressed form (top; R), 2 w x w:
/// its reflectors are those of the leaf, with Q R replaced by R. Also computes leaf.x, with which Q = A x or Q1 x.
template <class T>
void compress_leaf(Stream stream, View<const T> top, View<T> compressed, QrLeafData<T> leaf);

/// Elements of the workspace of factor_by_householder().
constexpr Index householder_workspace(int multiprocessors) { return 2 * (Index{multiprocessors} + 1) * qr_wide_width; }

/// For leaves that Cholesky QR cannot factor: Householder's method, column by column, on a grid of thread blocks that
/// meet once per column.
template <class T>
void factor_by_householder(Stream stream, View<T> v, QrLeafData<T> leaf, T* workspace);

/// place_leaf() of a wide leaf: r and t are in their places unless Householder's method has made them, and
/// V's first rows are those of the compressed form. `columns`: the leaf and what is above it.
template <class T>
void place_wide_leaf(Stream stream, View<T> columns, View<T> r_above, View<const T> compressed, View<T> r, View<T> t,
                     QrLeafData<T> leaf);

/// What the leaf's columns hold above it belongs to R: r = a, then a = 0, and leaf.r and leaf.t go to their
/// places.
template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf);

}  // namespace basalt::cuda_detail
