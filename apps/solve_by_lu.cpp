#include <algorithm>

#include <fmt/format.h>

#include "apps/lu_plan.hpp"
#include "apps/lu_rate.hpp"
#include "apps/matrix_memory.hpp"
#include "apps/run_record.hpp"
#include "apps/solve_method.hpp"

namespace basalt {

namespace {

template <class T>
class SolveByLu : public SolveMethod<T> {
  public:
    explicit SolveByLu(const SolveInput<T>& input)
        : runtime_(input.runtime),
          generator_(input.matrix),
          n_(input.matrix->rows()),
          plan_(lu_plan(input.settings, input.gpu, input.runtime, n_, n_, sizeof(T))) {}

    std::string routine() const override { return "gesv"; }
    double flops(Index right_hand_sides) const override {
        const auto n = static_cast<double>(n_);
        return lu_flops(n_, n_) + 2 * n * n * static_cast<double>(right_hand_sides);
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
        factors_ = lu_factor(runtime_, a_, plan_.options);
        lu_solve(runtime_, factors_, b);
    }
    Index info() const override { return factors_.info(); }
    std::string meaning(Index info) const override {
        return fmt::format("singular: U({0}, {0}) is exactly zero", info);
    }

  private:
    Runtime& runtime_;
    const std::shared_ptr<const Generator<T>> generator_;
    const Index n_;
    const LuPlan plan_;
    Matrix<T> a_;
    LuFactors<T> factors_;
};

}  // namespace

template <class T>
std::unique_ptr<SolveMethod<T>> solve_by_lu(const SolveInput<T>& input) {
    require_square(input, "lu");
    return std::make_unique<SolveByLu<T>>(input);
}

template std::unique_ptr<SolveMethod<float>> solve_by_lu(const SolveInput<float>&);
template std::unique_ptr<SolveMethod<double>> solve_by_lu(const SolveInput<double>&);

}  // namespace basalt
