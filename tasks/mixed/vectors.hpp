#pragma once

#include <vector>

#include <basalt/view.hpp>

#include "tasks/mixed/scaling.hpp"

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
    /// The largest |v_i factors_i| in vector c, for n positive factors; NaNs may be ignored.
    double scaled_norm(Index c, const std::vector<double>& factors) const { return scaled_norm(c, 1, factors); }
    /// The same for powers of two as factors, without overflow; NaN if the vector holds one.
    WideNumber wide_norm(Index c, const std::vector<double>& factors) const;
    /// The Euclidean norm of vector c, which does not overflow.
    double length(Index c) const;

    /// From and to the elements of an array, of which there are as many.
    void put(const View<double>& to) const;
    void take(const View<const double>& from);
    void add(const View<const double>& from);
    void add(const Vectors& other);

  private:
    double scaled_norm(Index c, double scale, const std::vector<double>& factors) const;

    Index n_ = 0;
    Index k_ = 0;
    std::vector<double> values_;
};

/// The largest ||r|| / (norm ||x|| + ||b||) of all right-hand sides b, with the norm of A given and r = b - A x.
double backward_error(const Vectors& residual, double norm, const Vectors& x, const Vectors& b);

/// The inner product of two vectors of equal length.
double dot(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace basalt::detail
