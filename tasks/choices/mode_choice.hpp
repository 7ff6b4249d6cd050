#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "basalt/matrix.hpp"
#include "basalt/product_precision.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "runtime/engine/gpu_data.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace basalt::detail {

/// The options that differ from the library's choices, one after the other: RunCase::options.
class Differences {
  public:
    template <class... Args>
    void note(fmt::format_string<Args...> format, Args&&... args) {
        if (!text_.empty()) text_ += ' ';
        text_ += fmt::format(format, std::forward<Args>(args)...);
    }
    template <class... Args>
    void note_if(bool differs, fmt::format_string<Args...> format, Args&&... args) {
        if (differs) note(format, std::forward<Args>(args)...);
    }
    /// A number that is given.
    template <class Number>
    void note_given(const std::optional<Number>& number, fmt::format_string<Number> format) {
        if (number) note(format, Number{*number});
    }
    /// A number that is given and not the usual one.
    template <class Number>
    void note_other(const std::optional<Number>& number, Number usual, fmt::format_string<Number> format) {
        if (number != usual) note_given(number, format);
    }
    /// How matrices of floats are multiplied, unless by bf16 slices or as the library chooses.
    void note_products(std::optional<ProductPrecision> products);
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

/// A factorization of the matrix as the models know it. Where the matrix is at present matters only if the models
/// choose the mode.
template <class T>
FactorProblem problem_of(const Runtime& runtime, const Matrix<T>& a, FactorMode mode) {
    FactorProblem problem{
        .m = a.rows(), .n = a.cols(), .precision = sizeof(T) == 4 ? 's' : 'd', .tile = a.tile_shape()};
    const bool learns = mode == FactorMode::automatic && models_of(runtime) != nullptr;
    problem.on_gpus = learns && a.tile_cols() > 0 && !gpu_data(a.runtime()).at_home(*a.share_storage()->datum(0));
    return problem;
}

/// The rules of one factorization for choosing a mode.
struct ModeRules {
    /// The mode that is asked for, or the tables' choice. Throws UsageError for a mode that is not possible.
    std::function<FactorMode(int gpus)> by_tables;
    std::function<std::vector<FactorMode>(int gpus)> modes;  ///< the modes that the options allow
    std::function<RunCase(FactorMode)> case_of;              ///< the run in that mode, as the models know it
    bool without_cpu = false;                                ///< FactorProblem::without_cpu
};

/// `asked`, or the choice of learnt_mode() where that is automatic.
ModeChoice choose_mode(const Runtime& runtime, FactorMode asked, const ModeRules& rules);

/// The mode among `modes` with the shortest time by the runtime's models. It has to be 3 % shorter than `by_rule`,
/// which stays where the models have nothing on it near that size: then there is nothing to compare with, and the run
/// that follows is learnt. `case_of`: the run in a mode. The same models give the same choice.
ModeChoice learnt_mode(const Runtime& runtime, FactorMode by_rule, const std::vector<FactorMode>& modes,
                       const std::function<RunCase(FactorMode)>& case_of);

}  // namespace basalt::detail
