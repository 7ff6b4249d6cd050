#pragma once

#include <basalt/device.hpp>
#include <basalt/view.hpp>

/// The parts of a leaf of the QR panel that one block, or a grid that meets, computes.
namespace basalt::cuda_detail {

/// Most columns of a leaf.
inline constexpr int qr_leaf_width = 64;

/// What the kernels of a leaf tell each other, w x w and dense each unless said otherwise. In the device's memory.
template <class T>
struct QrLeafData {
    T* gram;  ///< of the columns in question
    T* r1;    ///< Cholesky's triangle of the first Gram matrix
    T* x;     ///< r1^-1, then what makes V of Q1
    T* top;   ///< V's first w rows
    T* r;     ///< R and T of the leaf
    T* t;
    int* refused;  ///< whether Householder's method has to do it
};

/// G = R^T R, x = R^-1, G being that of `rows` rows; refuses columns that are too close to each other, or out of scale.
template <class T>
void factor_gram(Stream stream, Index rows, int w, QrLeafData<T> leaf);

/// Of Q1 = A r1^-1, nearly orthonormal, with its Gram matrix: R, T, V's first rows, and x with V = Q1 x below them.
/// `q1_top`: the first w rows of Q1.
template <class T>
void reconstruct_reflectors(Stream stream, int w, View<const T> q1_top, QrLeafData<T> leaf);

/// Where it was not refused: the leaf (m x w) becomes V out of leaf.top and `below` ((m - w) x w).
template <class T>
void take_reflectors(Stream stream, View<const T> below, View<T> v, QrLeafData<T> leaf);

/// Elements of its workspace.
inline constexpr Index most_householder_blocks = 64,
                       householder_workspace = 2 * (most_householder_blocks + 1) * qr_leaf_width;

/// Where it was refused: Householder's method, column by column, on a grid of blocks that meet once a column.
template <class T>
void factor_by_householder(Stream stream, View<T> v, QrLeafData<T> leaf, T* workspace);

/// What the leaf's columns hold above it belongs to R: r = a, then a = 0, and leaf.r and leaf.t go to their places.
template <class T>
void place_leaf(Stream stream, View<T> above, View<T> r_above, View<T> r, View<T> t, QrLeafData<T> leaf);

}  // namespace basalt::cuda_detail
