#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "apps/cholesky_plan.hpp"
#include "apps/exit_status.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/run_record.hpp"
#include "apps/solve_method.hpp"
#include "apps/symmetry.hpp"

namespace basalt {

namespace {

/// An asymmetry below this is no larger than what the factorization's rounding adds to A.
template <class T>
double allowed_asymmetry(const Asymmetry& found, Index n) {
    return static_cast<double>(n) * std::numeric_limits<T>::epsilon() * found.largest_element;
}

template <class T>
class SolveByCholesky : public SolveMethod<T> {
  public:
    explicit SolveByCholesky(const SolveInput<T>& input)
        : runtime_(input.runtime),
          generator_(input.matrix),
          n_(input.matrix->rows()),
          plan_(cholesky_plan(input.settings, input.gpu, Triangle::lower, input.runtime, n_, sizeof(T))) {}

    std::string routine() const override { return "posv"; }
    double flops(Index right_hand_sides) const override {
        const auto n = static_cast<double>(n_);
        return n * n * n / 3 + 2 * n * n * static_cast<double>(right_hand_sides);
    }
    double bytes() const override {
        const double matrix = matrix_bytes(n_, n_, plan_.tile, sizeof(T));
        return matrix + emulated_bytes(runtime_, matrix);
    }
    Index rows() const override { return n_; }
    TileShape tile(Index right_hand_sides) const override {
        return {plan_.tile.height, std::clamp<Index>(right_hand_sides, 1, plan_.tile.width)};
    }
    bool on_gpus() const override { return plan_.on_gpus(); }
    FactorRecord record() const override { return run_record(plan_, plan_.options.panel_width, runtime_); }

    void prepare() override {
        factors_ = {};
        a_ = {};  // two of them may not fit
        a_ = make_matrix<T>(plan_, runtime_, generator_, n_, n_);
    }
    void submit(Matrix<T>& b) override {
        factors_ = cholesky_factor(runtime_, a_, Triangle::lower, plan_.options);
        cholesky_solve(runtime_, factors_, b);
    }
    Index info() const override { return factors_.info(); }
    std::string meaning(Index info) const override {
        return fmt::format("not positive definite: its leading minor of order {} is not (--method lu needs no such)",
                           info);
    }

  private:
    Runtime& runtime_;
    const std::shared_ptr<const Generator<T>> generator_;
    const Index n_;
    const CholeskyPlan plan_;
    Matrix<T> a_;
    CholeskyFactors<T> factors_;
};

}  // namespace

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_cholesky(const SolveInput<T>& input) {
    require_square(input, "cholesky");
    const Asymmetry found = asymmetry(input.runtime, *input.matrix);
    if (found.largest_difference > allowed_asymmetry<T>(found, input.matrix->rows())) {
        throw WrongUse(fmt::format(
            "{}: elements ({}, {}) and ({}, {}) differ by {:.3g} with --method cholesky; allowed: a "
            "symmetric matrix, or --method lu",
            input.name, found.row + 1, found.col + 1, found.col + 1, found.row + 1, found.largest_difference));
    }
    return std::make_unique<SolveByCholesky<T>>(input);
}

template std::unique_ptr<SolveMethod<float>> solve_by_cholesky(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_cholesky(const SolveInput<double>&);

}  // namespace basalt
