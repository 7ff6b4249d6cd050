#pragma once

#include <cstdint>

#include "basalt/matrix.hpp"
#include "kernels/triangle.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"

namespace basalt::detail {

/// Solves with triangles of a matrix in tiles, tile column after tile column: on GPUs where these hold the matrix,
/// otherwise as tasks on cores. Make it before submitting any part of the solution (see gpus_to_solve_on()).
template <class T>
class Substitution {
  public:
    /// The triangles are those of the square matrix A; X has as many rows.
    Substitution(const MatrixStorage& a, const Matrix<T>& x);

    bool on_gpus() const { return !gpus_.empty(); }

    /// X = T^-1 X, or T^-T X.
    void solve(Triangle triangle, Diagonal diagonal, MatrixOp op, Reach reach = Reach::all) const;

  private:
    class Column;

    const MatrixStorage& a_;
    const Matrix<T>& x_;
    const ColumnGpus gpus_;
};

extern template class Substitution<float>;
extern template class Substitution<double>;

/// Submits tasks that make a new square matrix the identity.
template <class T>
void submit_identity(Runtime& runtime, const Matrix<T>& matrix);

extern template void submit_identity(Runtime&, const Matrix<float>&);
extern template void submit_identity(Runtime&, const Matrix<double>&);

}  // namespace basalt::detail
