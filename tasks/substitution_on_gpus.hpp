#pragma once

#include "basalt/matrix.hpp"
#include "kernels/triangle.hpp"

namespace basalt::detail {

/// Whether the matrix is on GPUs and not at home, once everything submitted so far has run: then solving with it there
/// costs less than bringing it home, and the right-hand sides go to it. False inside a task.
bool only_on_gpus(const MatrixStorage& a);

/// A GPU that has tile column j then, or -1.
int gpu_with(const MatrixStorage& a, Index j);

/// Solving with the triangles of a factored matrix that is only_on_gpus(): tile column after tile column, each where it
/// is. The right-hand sides go from one GPU to the next.
template <class T>
class SubstitutionOnGpus {
  public:
    /// Triangles are of the matrix's first `order` rows and columns, and those rows of `x` are solved for. Pins x's
    /// memory where its contents are at home.
    SubstitutionOnGpus(const MatrixStorage& a, Index order, const Matrix<T>& x);

    /// X = T^-1 X, or T^-T X with `transposed`.
    void solve(Triangle triangle, Diagonal diagonal, bool transposed = false) const;

  private:
    void solve(Index tile_column, Index column, Triangle triangle, Diagonal diagonal, bool transposed) const;

    const MatrixStorage& a_;
    const Index order_;
    const Matrix<T>& x_;
};

extern template class SubstitutionOnGpus<float>;
extern template class SubstitutionOnGpus<double>;

}  // namespace basalt::detail
