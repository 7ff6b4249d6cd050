#pragma once

#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/vectors.hpp"

namespace basalt::detail {

/// Products of A and vectors in double precision, on all cores or on GPUs.
class DoubleProduct {
  public:
    /// `deal`: the matrix whose deal says on which GPU a tile column is multiplied; nullptr: on cores.
    DoubleProduct(Runtime& runtime, const DoubleColumns& a, const MatrixStorage* deal)
        : rt_(runtime), a_(a), deal_(deal) {}

    /// y -= A x. Waits for it.
    void subtract(const Vectors& x, Vectors& y) const;

  private:
    void on_cores(const Array<double>& x, const Array<double>& y, Index k) const;
    void on_gpus(const Array<double>& x, Vectors& y) const;

    Runtime& rt_;
    const DoubleColumns& a_;
    const MatrixStorage* const deal_;
};

}  // namespace basalt::detail
