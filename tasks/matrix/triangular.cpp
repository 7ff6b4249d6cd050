// Solutions and inverses of triangular matrices in tiles.
#include "basalt/triangular.hpp"

#include <string>

#include "tasks/choices/require.hpp"
#include "tasks/matrix/substitution.hpp"

namespace basalt {

namespace {

template <class T>
void require_square(const std::string& call, const Runtime& runtime, const Matrix<T>& t) {
    detail::require(&t.runtime() == &runtime, call + ": the matrix belongs to another runtime");
    detail::require(t.rows() == t.cols(), call + ": the matrix is " + std::to_string(t.rows()) + " x " +
                                              std::to_string(t.cols()) + "; allowed are square ones");
}

}  // namespace

template <class T>
void triangular_solve(Runtime& runtime, Triangle triangle, Diagonal diagonal, MatrixOp op, const Matrix<T>& t,
                      Matrix<T>& b) {
    require_square("triangular_solve", runtime, t);
    detail::require(&b.runtime() == &runtime, "triangular_solve: B belongs to another runtime");
    detail::require(b.rows() == t.rows(), "triangular_solve: B has " + std::to_string(b.rows()) +
                                              " rows; the matrix has " + std::to_string(t.rows()));
    detail::Substitution<T>(*t.share_storage(), b).solve(triangle, diagonal, op);
}

template <class T>
Matrix<T> triangular_inverse(Runtime& runtime, Triangle triangle, Diagonal diagonal, const Matrix<T>& t) {
    require_square("triangular_inverse", runtime, t);
    Matrix<T> x(runtime, t.rows(), t.rows(), t.tile_shape(), "inverse");
    const detail::Substitution<T> substitution(*t.share_storage(), x);
    detail::submit_identity(runtime, x);
    const bool lower = triangle == Triangle::lower;
    substitution.solve(triangle, diagonal, MatrixOp::plain,
                       lower ? detail::Reach::from_diagonal : detail::Reach::to_diagonal);
    return x;
}

template void triangular_solve(Runtime&, Triangle, Diagonal, MatrixOp, const Matrix<float>&, Matrix<float>&);
template void triangular_solve(Runtime&, Triangle, Diagonal, MatrixOp, const Matrix<double>&, Matrix<double>&);
template Matrix<float> triangular_inverse(Runtime&, Triangle, Diagonal, const Matrix<float>&);
template Matrix<double> triangular_inverse(Runtime&, Triangle, Diagonal, const Matrix<double>&);

}  // namespace basalt
