#pragma once

#include <cstddef>
#include <vector>

#include "basalt/matrix.hpp"
#include "kernels/triangle.hpp"
#include "runtime/matrix_storage.hpp"

namespace basalt::detail {

/// GPUs, by tile column.
using ColumnGpus = std::vector<int>;

/// Where a matrix's tile columns are, once everything submitted so far has run: on GPUs alone, with room for tasks that
/// need `bytes` beside one of them. Then solving with it there costs less than bringing it home. Empty where that is
/// not so, and inside a task: cores solve. Asked before anything of it is submitted, which may move columns.
ColumnGpus gpus_to_solve_on(const MatrixStorage& a, std::size_t bytes);

/// Solving with the triangles of a factored matrix on GPUs: tile column after tile column, each where it is. The
/// right-hand sides go from one GPU to the next.
template <class T>
class SubstitutionOnGpus {
  public:
    /// Triangles are of the matrix's first `order` rows and columns, and those rows of `x` are solved for. Pins x's
    /// memory where its contents are at home.
    SubstitutionOnGpus(const MatrixStorage& a, ColumnGpus gpus, Index order, const Matrix<T>& x);

    /// X = T^-1 X, or T^-T X with `transposed`.
    void solve(Triangle triangle, Diagonal diagonal, bool transposed = false) const;

  private:
    void solve(Index tile_column, Index column, Triangle triangle, Diagonal diagonal, bool transposed) const;

    const MatrixStorage& a_;
    const ColumnGpus gpus_;
    const Index order_;
    const Matrix<T>& x_;
};

extern template class SubstitutionOnGpus<float>;
extern template class SubstitutionOnGpus<double>;

}  // namespace basalt::detail
