#pragma once

#include <vector>

#include "tasks/mixed/low_factors.hpp"
#include "tasks/mixed/product.hpp"
#include "tasks/mixed/vectors.hpp"

namespace basalt::detail {

/// A X = B while it is refined.
struct MixedSystem {
    DoubleProduct& product;
    LowFactors& factors;
    const Vectors& b;
    double norm;       ///< ||A||_oo
    double tolerance;  ///< MixedOptions::tolerance
    int limit;         ///< most corrections
    bool coarse;       ///< products below single precision: a first solution without a correct digit is usual

    Vectors x;
    Vectors residual;      ///< b - A x
    bool carried = false;  ///< the residual came with a substitution; only measured ones certify a solution
    Vectors next{};        ///< that of x and the newest correction, where it came with it

    enum class RightHandSides : bool { apart, factored_with_a };
    /// x = the first solution, and its residual.
    void begin(RightHandSides sides);
    /// correction = A'^-1 residual
    void find(Vectors& correction);
    /// x += the correction that was found, and its residual
    void apply(const Vectors& correction);
    /// residual = b - A x, multiplied in double.
    void measure();
    void measure_if_carried() {
        if (carried) measure();
    }
    /// How many times ||b - A x|| is larger than what is accepted, for one right-hand side; NaN where it is not finite.
    double excess(Index c) const;
    /// The largest of all; NaN where one is.
    double worst_excess() const;
    /// The largest ||b - A x|| / (||A|| ||x|| + ||b||).
    double backward_error() const;
};

/// Corrections until the solution is accepted. `made`: counts them.
MixedOutcome refine(MixedSystem& system, Refinement wanted, Refinement& used, int& made);

/// Steps of GMRES with restarts, from a measured solution on. `first`: A'^-1 times the residual, if it is there.
MixedOutcome refine_by_gmres(MixedSystem& system, const Vectors* first, int& made);

}  // namespace basalt::detail
