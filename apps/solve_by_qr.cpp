#include <algorithm>

#include <fmt/format.h>

#include "apps/matrix_memory.hpp"
#include "apps/qr_plan.hpp"
#include "apps/run_record.hpp"
#include "apps/solve_method.hpp"
#include "apps/transposed_matrix.hpp"

namespace basalt {

namespace {

/// Least squares, and for fewer rows than columns the solution of least norm: then A^T is what is factored.
template <class T>
class SolveByQr : public SolveMethod<T> {
  public:
    explicit SolveByQr(const SolveInput<T>& input)
        : runtime_(input.runtime),
          wide_(input.matrix->rows() < input.matrix->cols()),
          factored_(wide_ ? std::make_shared<const TransposedMatrix<T>>(input.matrix) : input.matrix),
          plan_(qr_plan(input.settings, input.runtime, factored_->rows(), factored_->cols(), sizeof(T),
                        {.method = QrMethod::automatic, .gpu_panels_below = input.gpu.panels_below})) {}

    std::string routine() const override { return "gels"; }
    double flops(Index right_hand_sides) const override {
        const auto m = static_cast<double>(factored_->rows());
        const auto n = static_cast<double>(factored_->cols());
        const double by_q = 2 * n * (2 * m - n);
        const double by_r = n * n;
        return 2 * n * n * (m - n / 3) + (by_q + by_r) * static_cast<double>(right_hand_sides);
    }
    double bytes() const override {
        const double matrix = matrix_bytes(factored_->rows(), factored_->cols(), plan_.tile, sizeof(T));
        return matrix + emulated_bytes(runtime_, matrix);
    }
    Index rows() const override { return factored_->rows(); }
    TileShape tile(Index right_hand_sides) const override {
        return {plan_.tile.height, std::clamp<Index>(right_hand_sides, 1, plan_.tile.width)};
    }
    bool on_gpus() const override { return plan_.on_gpus(); }
    FactorRecord record() const override { return run_record(plan_, plan_.options.panel_width, runtime_); }

    void prepare() override {
        factors_ = {};
        a_ = {};  // two of them may not fit
        a_ = make_matrix<T>(plan_, runtime_, factored_, factored_->rows(), factored_->cols());
    }
    void submit(Matrix<T>& b) override {
        factors_ = qr_factor(runtime_, a_, plan_.options);
        if (wide_) {
            qr_solve_transposed(runtime_, factors_, b);
        } else {
            qr_solve(runtime_, factors_, b);
        }
    }
    Index info() const override { return factors_.info(); }
    std::string meaning(Index info) const override {
        return fmt::format("not of full rank: R({0}, {0}) is exactly zero", info);
    }

  private:
    Runtime& runtime_;
    const bool wide_;
    const std::shared_ptr<const Generator<T>> factored_;  // A, or A^T
    const QrPlan plan_;
    Matrix<T> a_;
    QrFactors<T> factors_;
};

}  // namespace

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_qr(const SolveInput<T>& input) {
    return std::make_unique<SolveByQr<T>>(input);
}

template std::unique_ptr<SolveMethod<float>> solve_by_qr(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_qr(const SolveInput<double>&);

}  // namespace basalt
