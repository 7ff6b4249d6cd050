#include <fmt/format.h>

#include "apps/factor/lu_plan.hpp"
#include "apps/factor/lu_rate.hpp"
#include "apps/solve/by_factors.hpp"

namespace basalt {

namespace {

template <class T>
struct LuMethod {
    using Factors = LuFactors<T>;
    static constexpr const char* routine = "gesv";

    double flops(double right_hand_sides) const {
        const auto n = static_cast<double>(factored->rows());
        return lu_flops(factored->rows(), factored->rows()) + 2 * n * n * right_hand_sides;
    }
    Factors factor(Runtime& runtime, Matrix<T>& a) const { return lu_factor(runtime, a, plan.options); }
    void solve(Runtime& runtime, const Factors& lu, Matrix<T>& b) const { lu_solve(runtime, lu, b); }
    double reciprocal_condition(Runtime& runtime, const Factors& lu, double a_inf) const {
        return lu_reciprocal_condition(runtime, lu, a_inf);
    }
    std::string meaning(Index info) const { return fmt::format("singular: U({0}, {0}) is exactly zero", info); }

    std::shared_ptr<const Generator<T>> factored;
    LuPlan plan;
};

}  // namespace

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_lu(const SolveInput<T>& input) {
    require_square(input, "lu");
    const Index n = input.matrix->rows();
    const LuPlan plan = lu_plan(input.settings, input.gpu, input.runtime, n, n, sizeof(T));
    return std::make_unique<SolveByFactors<T, LuMethod<T>>>(input.runtime, LuMethod<T>{input.matrix, plan});
}

template std::unique_ptr<SolveMethod<float>> solve_by_lu(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_lu(const SolveInput<double>&);

}  // namespace basalt
