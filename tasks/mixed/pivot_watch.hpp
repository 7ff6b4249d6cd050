#pragma once

#include <array>

#include "basalt/array.hpp"
#include "basalt/graph.hpp"
#include "basalt/product_precision.hpp"
#include "runtime/storage/matrix_storage.hpp"
#include "tasks/mixed/columns_at.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// Looks at the pivots of an LU factorization of low precision while it goes on, and cancels it as soon as the factors
/// cannot have a correct digit: where pivots are no larger than the rounding errors of the largest one, and half of the
/// columns are left. A pivot is the largest element that is left in its column, so those columns hold rounding errors
/// alone. With fewer of them refinement may succeed: classic where the condition is 1e8, and GMRES copes with some
/// small singular values.
class PivotWatch {
  public:
    /// `a`: the matrix of order n that tasks of `graph` factor `where` it says. All three outlive the tasks.
    PivotWatch(Graph& graph, const MatrixStorage& a, ProductPrecision products, ColumnsAt where);

    /// Submits the look at a panel that is factored once the tasks submitted so far have run. For one panel after the
    /// other, from the left. With GPUs it waits for an earlier look: what is enqueued in their streams cannot be
    /// cancelled.
    void look(const Panel& panel);

  private:
    /// What the looks at the panels so far have found.
    enum Found : Index { largest, run, count };

    TaskHandle submit_look(const Panel& panel);
    void check(View<const float> pivots, View<double> found, Index end) const;

    Graph& graph_;
    const MatrixStorage& a_;
    const double noise_;  ///< a pivot up to this fraction of the largest one is a rounding error
    const bool on_gpus_;
    Array<float> pivots_;  ///< for GPUs
    Array<double> found_;
    std::array<TaskHandle, 2> latest_;  ///< the looks before the next one
};

}  // namespace basalt::detail
