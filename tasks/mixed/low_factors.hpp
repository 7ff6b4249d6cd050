#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "basalt/graph.hpp"
#include "basalt/mixed.hpp"
#include "runtime/engine/cancellable_call.hpp"
#include "tasks/mixed/blocked_substitution.hpp"
#include "tasks/mixed/lowered.hpp"
#include "tasks/mixed/pivot_watch.hpp"

namespace basalt::detail {

/// The factors of low precision, and solutions with them.
class LowFactors {
  public:
    /// Submits the factorization. `lowered` outlives this object and holds the factors afterwards.
    LowFactors(Runtime& runtime, LoweredMatrix& lowered, const MixedOptions& options, ProductPrecision products,
               FactorMode mode);

    /// Waits for the factorization. Whether it found no breakdown: no pivot that is zero, and not as good as none above
    /// rounding errors.
    bool are_complete();
    PanelPlaces panel_places() const {
        return method_ == MixedMethod::cholesky ? cholesky_.panel_places() : lu_.panel_places();
    }
    /// Prepares the substitution that the options ask for, if it is possible; cores substitute if the factors are not
    /// in the memory of GPUs. Returns the one that is used. `a`: the matrix before it was lowered, which outlives this
    /// object.
    basalt::Substitution choose_substitution(const MixedOptions& options, const DoubleColumns& a,
                                             Index right_hand_sides);
    /// x = A'^-1 b for the right-hand sides that were factored with A: substitution back alone.
    void solve_augmented(Vectors& x);
    /// x = A'^-1 b, with A' the product of factors and scaling factors. Vectors of any magnitude.
    void solve(const Vectors& b, Vectors& x);

    /// Whether the chosen substitution also gives residuals.
    bool gives_residuals() const { return blocks_ != nullptr; }
    /// The same two with `rest` = b - A x in double, if it gives residuals, for the number of right-hand sides that it
    /// was chosen for.
    void solve_augmented(const Vectors& b, Vectors& x, Vectors& rest);
    void solve(const Vectors& b, Vectors& x, Vectors& rest);

  private:
    /// vectors_ = b, scaled and rounded. Returns the scale of each vector.
    std::vector<double> load(const Vectors& b);
    void bring_to_host() const;
    void take(const Matrix<float>& solution, const std::vector<double>& scales, Vectors& x) const;

    void factor_by_lu(const LuOptions& options);

    Runtime& rt_;
    LoweredMatrix& lowered_;
    std::optional<PivotWatch> watch_;
    std::unique_ptr<Graph> graph_;  ///< of the tasks of LU, which use the watch; inside a task they belong to that
    std::optional<CancellableCall> cancelled_together_;
    LuFactors<float> lu_;
    CholeskyFactors<float> cholesky_;
    const MixedMethod method_;
    std::vector<float> rounded_;  ///< for solve(), like the next
    Matrix<float> vectors_;
    std::unique_ptr<BlockedSubstitution> blocks_;
};

}  // namespace basalt::detail
