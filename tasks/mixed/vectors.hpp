#pragma once

#include <vector>

#include "basalt/array.hpp"

namespace basalt::detail {

/// k vectors of n numbers on the host, row-major: those of right-hand sides, solutions and residuals.
class Vectors {
  public:
    Vectors() = default;
    Vectors(Index n, Index k) : n_(n), k_(k), values_(static_cast<std::size_t>(n * k)) {}

    Index n() const { return n_; }
    Index k() const { return k_; }
    double& operator()(Index i, Index c) { return values_[static_cast<std::size_t>(i * k_ + c)]; }
    double operator()(Index i, Index c) const { return values_[static_cast<std::size_t>(i * k_ + c)]; }
    View<double> view() { return View<double>::row_major(values_.data(), n_, k_, k_); }
    View<const double> view() const { return View<const double>::row_major(values_.data(), n_, k_, k_); }

    /// The largest magnitude in vector c; NaN if it holds one.
    double norm(Index c) const;
    /// The Euclidean norm of vector c, which does not overflow.
    double length(Index c) const;

    /// An array of the runtime's with these numbers.
    Array<double> on_runtime(Runtime& runtime, const char* name) const;
    void take(const Array<double>& array);

  private:
    Index n_ = 0;
    Index k_ = 0;
    std::vector<double> values_;
};

}  // namespace basalt::detail
