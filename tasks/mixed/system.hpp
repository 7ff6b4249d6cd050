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
    const LoweredMatrix& lowered;
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
    /// correction = A'^-1 residual; 0 for solutions that are accepted, whose corrections would be rounding errors.
    void find(Vectors& correction);
    /// Keeps solution c as it is: no correction, and the same residual.
    void leave(Index c, Vectors& correction);
    /// x += the correction that was found, and its residual
    void apply(const Vectors& correction);
    /// residual = b - A x, multiplied in double.
    void measure();
    void measure_if_carried() {
        if (carried) measure();
    }
    /// How many times ||b - A x|| is larger than what is accepted, for one right-hand side; NaN where it is not finite.
    /// With scaling factors R and C, also how many times ||R (b - A x)|| is larger than what is accepted of R A C and
    /// C^-1 x: large rows or columns hide the errors of the others otherwise.
    double excess(Index c) const;
    /// ||C^-1 v||, without C where nothing is scaled.
    WideNumber size_of(const Vectors& v, Index c) const;
    /// The largest of all; NaN where one is.
    double worst_excess() const;
};

/// Corrections until the solution is accepted. `made`: counts them.
MixedOutcome refine(MixedSystem& system, Refinement wanted, Refinement& used, int& made);

/// Steps of GMRES with restarts, from a measured solution on. `first`: A'^-1 times the residual, if it is there.
MixedOutcome refine_by_gmres(MixedSystem& system, const Vectors* first, int& made);

}  // namespace basalt::detail
