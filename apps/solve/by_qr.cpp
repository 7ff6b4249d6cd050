#include <fmt/format.h>

#include "apps/factor/qr_plan.hpp"
#include "apps/solve/by_factors.hpp"
#include "apps/solve/transposed_matrix.hpp"

namespace basalt {

namespace {

/// Least squares. With fewer rows than columns A^T is factored, for the solution of least norm.
template <class T>
struct QrSolution {
    using Factors = QrFactors<T>;
    static constexpr const char* routine = "gels";

    double flops(double right_hand_sides) const {
        const auto m = static_cast<double>(factored->rows());
        const auto n = static_cast<double>(factored->cols());
        const double by_q = 2 * n * (2 * m - n);
        const double by_r = n * n;
        return 2 * n * n * (m - n / 3) + (by_q + by_r) * right_hand_sides;
    }
    Factors factor(Runtime& runtime, Matrix<T>& a) const { return qr_factor(runtime, a, plan.options); }
    void solve(Runtime& runtime, const Factors& qr, Matrix<T>& b) const {
        if (transposed) {
            qr_solve_transposed(runtime, qr, b);
        } else {
            qr_solve(runtime, qr, b);
        }
    }
    /// Of R, which has the condition number of A in the 2-norm.
    double reciprocal_condition(Runtime& runtime, const Factors& qr, double /*a_inf*/) const {
        return qr_reciprocal_condition(runtime, qr);
    }
    std::string meaning(Index info) const { return fmt::format("not of full rank: R({0}, {0}) is exactly zero", info); }

    std::shared_ptr<const Generator<T>> factored;
    bool transposed;
    QrPlan plan;
};

}  // namespace

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_qr(const SolveInput<T>& input) {
    const bool transposed = input.matrix->rows() < input.matrix->cols();
    const auto factored = transposed ? std::make_shared<const TransposedMatrix<T>>(input.matrix) : input.matrix;
    const QrPlan plan = qr_plan(input.settings, input.runtime, factored->rows(), factored->cols(), sizeof(T),
                                {.method = QrMethod::automatic, .gpu_panels_below = input.gpu.panels_below});
    return std::make_unique<SolveByFactors<T, QrSolution<T>>>(input.runtime, QrSolution<T>{factored, transposed, plan});
}

template std::unique_ptr<SolveMethod<float>> solve_by_qr(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_qr(const SolveInput<double>&);

}  // namespace basalt
