#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/input/matrix_memory.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"

namespace basalt {

/// The common part of all methods. `Method` is one factorization with its solution:
///   Factors                        the type of the factors
///   routine                        LAPACK's name without the precision, e.g. "gesv"
///   factored                       the generator of the matrix that is factored: A or A^T
///   plan                           how it is factored
///   flops(n)                       operations of the factorization and the solution for n right-hand sides
///   factor(runtime, a)             submits the factorization
///   solve(runtime, factors, b)     submits the solution
///   reciprocal_condition(runtime, factors, a_inf)
///   meaning(info)                  as SolveMethod says
template <class T, class Method>
class SolveByFactors final : public SolveMethod<T> {
  public:
    SolveByFactors(Runtime& runtime, Method method) : runtime_(runtime), method_(std::move(method)) {}

    std::string routine() const override { return Method::routine; }
    double flops(Index right_hand_sides) const override { return method_.flops(static_cast<double>(right_hand_sides)); }
    double bytes(Index) const override {
        return matrix_bytes(rows(), cols(), plan().tile, sizeof(T)) +
               emulated_bytes(plan(), panel_width(), runtime_, rows(), cols(), sizeof(T));
    }
    Index rows() const override { return method_.factored->rows(); }
    TileShape tile(Index right_hand_sides) const override {
        return {plan().tile.height, std::clamp<Index>(right_hand_sides, 1, plan().tile.width)};
    }
    const FactorPlan& plan() const override { return method_.plan; }
    PanelPlaces panel_places() const override { return factors_.panel_places(); }
    FactorRecord record() const override { return run_record(plan(), panel_width(), runtime_); }

    void prepare() override {
        factors_ = {};
        a_ = {};  // two matrices may not fit
        a_ = make_matrix<T>(plan(), runtime_, method_.factored, rows(), cols());
    }
    void submit(Matrix<T>& b) override {
        factors_ = method_.factor(runtime_, a_);
        method_.solve(runtime_, factors_, b);
    }
    Index info() const override { return factors_.info(); }
    std::optional<double> reciprocal_condition(double a_inf) override {
        return method_.reciprocal_condition(runtime_, factors_, a_inf);
    }
    std::string meaning(Index info) const override { return method_.meaning(info); }

  private:
    Index cols() const { return method_.factored->cols(); }
    Index panel_width() const { return method_.plan.panel_width; }

    Runtime& runtime_;
    const Method method_;
    Matrix<T> a_;
    typename Method::Factors factors_;
};

}  // namespace basalt
