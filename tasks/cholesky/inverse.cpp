// Inverses from a Cholesky factor, and factors of other libraries.
#include <memory>
#include <string>
#include <utility>

#include "basalt/cholesky.hpp"
#include "tasks/choices/require.hpp"
#include "tasks/cholesky/state.hpp"
#include "tasks/matrix/substitution.hpp"
#include "tasks/matrix/transposed_triangle.hpp"

namespace basalt {

using detail::CholeskyState;
using detail::Reach;
using detail::require;

// L Y = I, then L^T X = Y, in both without the rows above the diagonal: the inverse is symmetric.
template <class T>
Matrix<T> cholesky_inverse(Runtime& runtime, const CholeskyFactors<T>& cholesky) {
    const Index n = cholesky.rows();
    const auto& state = cholesky.share_state();
    require(&state->runtime == &runtime, "cholesky_inverse: the factor belongs to another runtime");
    Matrix<T> x(runtime, n, n, state->grid().shape(), "inverse");
    const detail::Substitution<T> substitution(*state->a, x);
    detail::submit_identity(runtime, x);
    const bool lower = state->triangle == Triangle::lower;
    const MatrixOp forward = lower ? MatrixOp::plain : MatrixOp::transposed;
    const MatrixOp backward = lower ? MatrixOp::transposed : MatrixOp::plain;
    substitution.solve(state->triangle, Diagonal::stored, forward, Reach::from_diagonal);
    substitution.solve(state->triangle, Diagonal::stored, backward, Reach::from_diagonal);
    if (lower) return x;
    Matrix<T> upper(runtime, n, n, state->grid().shape(), "inverse");
    detail::submit_transposition<T>(runtime, *x.share_storage(), *upper.share_storage(), Triangle::upper);
    return upper;
}

template <class T>
CholeskyFactors<T> cholesky_adopt(Runtime& runtime, Matrix<T>& a, Triangle triangle) {
    require(&a.runtime() == &runtime, "cholesky_adopt: the matrix belongs to another runtime");
    require(a.rows() == a.cols(), "cholesky_adopt: the matrix is " + std::to_string(a.rows()) + " x " +
                                      std::to_string(a.cols()) + "; allowed are square ones");
    return CholeskyFactors<T>(std::make_shared<CholeskyState<T>>(runtime, a.share_storage(), triangle,
                                                                 detail::PanelWidths{a.tile_shape().width}));
}

template Matrix<float> cholesky_inverse(Runtime&, const CholeskyFactors<float>&);
template Matrix<double> cholesky_inverse(Runtime&, const CholeskyFactors<double>&);
template CholeskyFactors<float> cholesky_adopt(Runtime&, Matrix<float>&, Triangle);
template CholeskyFactors<double> cholesky_adopt(Runtime&, Matrix<double>&, Triangle);

}  // namespace basalt
