#pragma once

#include <vector>

#include "tasks/mixed/double_columns.hpp"
#include "tasks/mixed/vectors.hpp"
#include "tasks/on_gpus/pinned_array.hpp"

namespace basalt::detail {

/// Products of A and vectors in double precision, on all cores or on GPUs.
class DoubleProduct {
  public:
    /// `deal`: the matrix whose deal says on which GPU a tile column is multiplied; nullptr: on cores. Products keep
    /// their vectors on the GPUs, for the next product.
    DoubleProduct(Runtime& runtime, const DoubleColumns& a, const MatrixStorage* deal)
        : rt_(runtime), a_(a), deal_(deal) {}

    /// y -= A x. Waits for it.
    void subtract(const Vectors& x, Vectors& y);

  private:
    void make_arrays(Index size);
    void on_cores(Vectors& y);
    void on_gpus(Vectors& y);

    Runtime& rt_;
    const DoubleColumns& a_;
    const MatrixStorage* const deal_;
    Index k_ = 0;                            ///< vectors that the arrays are for
    PinnedArray<double> x_;                  ///< n x k, row-major like the next
    std::vector<PinnedArray<double>> sums_;  ///< of the cores; or of each GPU
    Array<double> zeros_;                    ///< for GPUs
};

}  // namespace basalt::detail
