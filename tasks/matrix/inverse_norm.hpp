#pragma once

#include <functional>

#include "basalt/matrix.hpp"

namespace basalt::detail {

/// Submits tasks that replace the n x 1 matrix x by B x.
template <class T>
using VectorProduct = std::function<void(Matrix<T>& x)>;

/// An estimate of || scale * B ||_1 for a B of order n >= 1 that is known by its products alone. It is a lower bound,
/// seldom below a third of the norm, and takes four or five products. Infinite or NaN where a product is. Waits for
/// everything submitted to the runtime.
/// Source: N. J. Higham, "FORTRAN codes for estimating the one-norm of a real or complex matrix" (ACM TOMS 14, 1988),
/// Algorithm 674; LAPACK's lacn2.
template <class T>
double one_norm_estimate(Runtime& runtime, Index n, T scale, const VectorProduct<T>& product,
                         const VectorProduct<T>& transposed_product);

/// 1 / (||A||_oo ||A^-1||_oo), LAPACK's RCOND for NORM = 'I', with an estimate of the second norm. `norm` is ||A||_oo;
/// the functions solve with A and with A^T. 1 for order 0; 0 where it is below what T can tell, and for a norm that is
/// 0 or not finite.
template <class T>
double reciprocal_condition_estimate(Runtime& runtime, Index n, double norm, const VectorProduct<T>& solve,
                                     const VectorProduct<T>& solve_transposed);

extern template double reciprocal_condition_estimate(Runtime&, Index, double, const VectorProduct<float>&,
                                                     const VectorProduct<float>&);
extern template double reciprocal_condition_estimate(Runtime&, Index, double, const VectorProduct<double>&,
                                                     const VectorProduct<double>&);

}  // namespace basalt::detail
