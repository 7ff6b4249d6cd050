// Classic iterative refinement, and the choice between it and GMRES.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tasks/mixed/system.hpp"
#include "tiles/norms.hpp"

namespace basalt::detail {

namespace {

using Sizes = std::vector<WideNumber>;

/// Of all solutions or corrections.
Sizes sizes_of(const MixedSystem& system, const Vectors& vectors) {
    Sizes sizes;
    for (Index c = 0; c < vectors.k(); ++c) sizes.push_back(system.size_of(vectors, c));
    return sizes;
}

/// How much smaller the corrections become. Those of accepted solutions are 0.
double largest_ratio(const Sizes& corrections, const Sizes& before) {
    double ratio = 0;
    for (std::size_t c = 0; c < corrections.size(); ++c) {
        if (corrections[c].is_zero() || before[c].is_zero()) continue;
        ratio = max_or_nan(ratio, (corrections[c] / before[c]).value());
    }
    return ratio;
}

/// How many times `size` is larger than `accepted`.
double times_larger(const WideNumber& size, const WideNumber& accepted) {
    return size.is_zero() && accepted.is_finite() ? 0 : (size / accepted).value();
}

/// Corrections that are still needed, each of which multiplies the excess by `rate`; infinite where it does not shrink.
double corrections_left(double excess, double rate) {
    if (!(rate < 1)) return std::numeric_limits<double>::infinity();
    return rate > 0 ? std::max(0.0, std::log(excess) / -std::log(rate)) : 1;
}

/// For factors in single precision without any correct digit. They seldom help GMRES: only where few singular values
/// are much smaller than the others, as those of large random matrices are. Then few steps do. These are tried where
/// they take little time compared with the factorization.
MixedOutcome refine_without_digits(MixedSystem& system, const Vectors* first, int& made) {
    constexpr Index least_order = 16384;
    constexpr int few_steps = 8;
    if (system.b.n() < least_order) return MixedOutcome::stagnation;
    const int limit = std::exchange(system.limit, std::min(system.limit, few_steps));
    const MixedOutcome outcome = refine_by_gmres(system, first, made);
    system.limit = limit;
    return outcome == MixedOutcome::iteration_limit ? MixedOutcome::stagnation : outcome;
}

}  // namespace

void MixedSystem::begin(RightHandSides sides) {
    const bool factored = sides == RightHandSides::factored_with_a;
    carried = factors.gives_residuals();
    if (carried) return factored ? factors.solve_augmented(b, x, residual) : factors.solve(b, x, residual);
    factored ? factors.solve_augmented(x) : factors.solve(b, x);
    measure();
}

void MixedSystem::find(Vectors& correction) {
    factors.gives_residuals() ? factors.solve(residual, correction, next) : factors.solve(residual, correction);
    if (b.k() == 1) return;  // it is not accepted yet: refine() has looked
    for (Index c = 0; c < b.k(); ++c) {
        if (excess(c) <= 1) leave(c, correction);
    }
}

void MixedSystem::leave(Index c, Vectors& correction) {
    for (Index i = 0; i < b.n(); ++i) correction(i, c) = 0;
    for (Index i = 0; i < next.n(); ++i) next(i, c) = residual(i, c);
}

void MixedSystem::apply(const Vectors& correction) {
    x.add(correction);
    if (!factors.gives_residuals()) return measure();
    std::swap(residual, next);
    carried = true;
}

void MixedSystem::measure() {
    residual = b;
    product.subtract(x, residual);
    carried = false;
}

double MixedSystem::excess(Index c) const {
    constexpr double epsilon = 0x1p-53;
    const WideNumber share = tolerance * std::sqrt(static_cast<double>(b.n())) * epsilon;
    const double unscaled = times_larger(residual.norm(c), share * lowered.norm() * x.norm(c));
    if (!lowered.is_scaled()) return unscaled;
    const WideNumber size = residual.wide_norm(c, lowered.factors().rows);
    return max_or_nan(unscaled, times_larger(size, share * lowered.scaled_norm() * size_of(x, c)));
}

WideNumber MixedSystem::size_of(const Vectors& v, Index c) const {
    return lowered.is_scaled() ? v.wide_norm(c, lowered.factors().inverse_cols) : v.norm(c);
}

double MixedSystem::worst_excess() const {
    double worst = 0;
    for (Index c = 0; c < b.k(); ++c) worst = max_or_nan(worst, excess(c));
    return worst;
}

MixedOutcome refine(MixedSystem& system, Refinement wanted, Refinement& used, int& made) {
    constexpr double quick = 7;  // corrections: with more of them GMRES takes less time
    used = wanted == Refinement::gmres ? Refinement::gmres : Refinement::classic;
    Vectors correction(system.b.n(), system.b.k());
    Sizes size = sizes_of(system, system.x);
    for (made = 0;; ++made) {
        double excess = system.worst_excess();
        if (system.carried && (made == system.limit || !(excess > 1))) {
            system.measure();
            excess = system.worst_excess();
        }
        if (excess <= 1) return MixedOutcome::refined;
        if (!std::isfinite(excess)) return MixedOutcome::breakdown;
        if (made == system.limit) return MixedOutcome::iteration_limit;
        if (used == Refinement::gmres) return refine_by_gmres(system, nullptr, made);
        system.find(correction);
        const Vectors* const first = system.carried ? nullptr : &correction;  // carried residuals are not exact
        const Sizes before = std::exchange(size, sizes_of(system, correction));
        const double rate = largest_ratio(size, before);
        const double left = corrections_left(excess, rate);
        if (!std::isfinite(rate)) return MixedOutcome::breakdown;
        const bool no_digit = made == 0 && rate >= 1 && !system.coarse;
        if (wanted == Refinement::automatic && no_digit) {
            const MixedOutcome outcome = refine_without_digits(system, first, made);
            if (made > 0) used = Refinement::gmres;
            return outcome;
        }
        if (wanted == Refinement::automatic && left > quick) {
            used = Refinement::gmres;
            return refine_by_gmres(system, first, made);
        }
        if (left > system.limit - made) return MixedOutcome::stagnation;
        system.apply(correction);
    }
}

}  // namespace basalt::detail
