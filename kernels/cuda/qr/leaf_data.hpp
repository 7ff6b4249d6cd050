#pragma once

/// The data and sizes that the parts of a leaf of the QR panel share.
namespace basalt::cuda_detail {

/// Most columns of a leaf.
inline constexpr int qr_leaf_width = 64;
/// The same for panels so tall that the number of passes over their rows decides the time.
inline constexpr int qr_wide_width = 2 * qr_leaf_width;

/// How a leaf is factored, which the device decides: by Cholesky QR, once or twice, or by Householder's
/// method.
enum class QrLeafWay : int { once, twice, householder };

/// The data that the kernels of a leaf pass on to each other, w x w and dense each, in the device's memory.
template <class T>
struct QrLeafData {
    T* gram;  ///< of A, then of Q1
    T* r1;    ///< Cholesky's triangle of the first Gram matrix
    T* x;     ///< r1^-1, then the factor x with V = A x (once) or V = Q1 x (twice)
    T* r;     ///< R and T of the leaf
    T* t;
    QrLeafWay* way;
};

}  // namespace basalt::cuda_detail
