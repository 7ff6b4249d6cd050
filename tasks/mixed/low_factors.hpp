#pragma once

#include "basalt/mixed.hpp"
#include "tasks/mixed/lowered.hpp"

namespace basalt::detail {

/// The factors of low precision, and solutions with them.
class LowFactors {
  public:
    /// Submits the factorization. `lowered` outlives this object and holds the factors afterwards.
    LowFactors(Runtime& runtime, LoweredMatrix& lowered, const MixedOptions& options, ProductPrecision products,
               FactorMode mode);

    /// Waits for the factorization. Whether it found no exact breakdown, such as a pivot that is zero.
    bool are_complete() const;
    /// x = A'^-1 b for the right-hand sides that were factored with A: substitution back alone.
    void solve_augmented(Vectors& x);
    /// x = A'^-1 b, with A' the product of factors and scaling factors. Vectors of any magnitude.
    void solve(const Vectors& b, Vectors& x);

  private:
    void take(const Matrix<float>& solution, const std::vector<double>& scales, Vectors& x) const;

    Runtime& rt_;
    LoweredMatrix& lowered_;
    LuFactors<float> lu_;
    CholeskyFactors<float> cholesky_;
    const MixedMethod method_;
    Matrix<float> vectors_;  ///< for solve()
};

}  // namespace basalt::detail
