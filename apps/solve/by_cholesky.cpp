#include <fmt/format.h>

#include "apps/exit_status.hpp"
#include "apps/factor/cholesky_plan.hpp"
#include "apps/factor/symmetry.hpp"
#include "apps/solve/by_factors.hpp"

namespace basalt {

namespace {

template <class T>
struct CholeskyMethod {
    using Factors = CholeskyFactors<T>;
    static constexpr const char* routine = "posv";

    double flops(double right_hand_sides) const {
        const auto n = static_cast<double>(factored->rows());
        return n * n * n / 3 + 2 * n * n * right_hand_sides;
    }
    Factors factor(Runtime& runtime, Matrix<T>& a) const {
        return cholesky_factor(runtime, a, Triangle::lower, plan.options);
    }
    void solve(Runtime& runtime, const Factors& cholesky, Matrix<T>& b) const { cholesky_solve(runtime, cholesky, b); }
    double reciprocal_condition(Runtime& runtime, const Factors& cholesky, double a_inf) const {
        return cholesky_reciprocal_condition(runtime, cholesky, a_inf);
    }
    std::string meaning(Index info) const {
        return fmt::format("not positive definite: its leading minor of order {} is not (--method lu needs no such)",
                           info);
    }

    std::shared_ptr<const Generator<T>> factored;
    CholeskyPlan plan;
};

}  // namespace

template <class T>
void require_symmetric(const SolveInput<T>& input, const char* method) {
    const Asymmetry found = asymmetry(input.runtime, *input.matrix);
    if (is_rounding<T>(found, input.matrix->rows())) return;
    throw WrongUse(fmt::format("{}: {} with --method {}; allowed: a symmetric matrix, or --method lu", input.name,
                               text_of(found), method));
}

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_cholesky(const SolveInput<T>& input) {
    require_square(input, "cholesky");
    require_symmetric(input, "cholesky");
    const CholeskyPlan plan =
        cholesky_plan(input.settings, input.gpu, Triangle::lower, input.runtime, input.matrix->rows(), sizeof(T));
    return std::make_unique<SolveByFactors<T, CholeskyMethod<T>>>(input.runtime, CholeskyMethod<T>{input.matrix, plan});
}

template void require_symmetric(const SolveInput<float>&, const char*);
template void require_symmetric(const SolveInput<double>&, const char*);
template std::unique_ptr<SolveMethod<float>> solve_by_cholesky(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_cholesky(const SolveInput<double>&);

}  // namespace basalt
