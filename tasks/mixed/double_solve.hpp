#pragma once

#include <optional>

#include "basalt/mixed.hpp"
#include "tasks/mixed/vectors.hpp"

namespace basalt::detail {

/// The way out: A is factored in double, in place or in a copy.
class DoubleSolve {
  public:
    DoubleSolve(Runtime& runtime, Matrix<double>& a, const MixedOptions& options);

    /// X = A^-1 B. Returns LAPACK's INFO; above 0, X has no meaning. Waits for it.
    Index solve(const Vectors& b, Matrix<double>& x);
    /// The largest ||b - A x|| / (||A|| ||x|| + ||b||), with the norm of A given; NaN if A was overwritten.
    double backward_error(const Vectors& b, const Matrix<double>& x, double norm) const;
    const LuFactors<double>& lu() const { return lu_; }

  private:
    Matrix<double>& factored() { return copy_ ? *copy_ : a_; }

    Runtime& rt_;
    Matrix<double>& a_;
    const MixedOptions& options_;
    std::optional<Matrix<double>> copy_;
    LuFactors<double> lu_;
};

}  // namespace basalt::detail
