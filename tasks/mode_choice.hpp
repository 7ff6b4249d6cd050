#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"
#include "basalt/runtime.hpp"
#include "runtime/engine.hpp"

namespace basalt::detail {

/// What differs from the library's choices, one after the other: RunCase::options.
class Differences {
  public:
    template <class... Args>
    void note(bool differs, fmt::format_string<Args...> format, Args&&... args) {
        if (!differs) return;
        if (!text_.empty()) text_ += ' ';
        text_ += fmt::format(format, std::forward<Args>(args)...);
    }
    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

/// A factorization of the matrix as what is learnt: where it is at present matters, if `mode` is to be chosen by that.
template <class T>
FactorProblem problem_of(const Runtime& runtime, const Matrix<T>& a, FactorMode mode) {
    FactorProblem problem{a.rows(), a.cols(), sizeof(T) == 4 ? 's' : 'd', false, a.tile_shape()};
    const bool learns = mode == FactorMode::automatic && runtime.engine().models() != nullptr;
    problem.on_gpus = learns && a.tile_cols() > 0 && !a.runtime().engine().at_home(*a.share_storage()->datum(0));
    return problem;
}

/// What there is to choose from.
struct ModeRules {
    /// What is asked for, or the tables' choice; throws where it cannot be.
    std::function<FactorMode(int gpus)> by_tables;
    std::function<std::vector<FactorMode>(int gpus)> modes;  ///< that the options allow
    std::function<RunCase(FactorMode)> case_of;
};

/// `asked`, or where that is automatic the choice of learnt_mode().
ModeChoice choose_mode(const Runtime& runtime, FactorMode asked, const ModeRules& rules);

/// Of `modes`, the one in which runs take the shortest time by what the runtime's models have learnt. It has to be 3 %
/// shorter than `by_rule`, which stays where nothing was learnt of it near that size: there is nothing to compare with
/// then, and the run that follows is what will be learnt. `case_of` says what is run in a mode. The same models give
/// the same choice.
ModeChoice learnt_mode(const Runtime& runtime, FactorMode by_rule, const std::vector<FactorMode>& modes,
                       const std::function<RunCase(FactorMode)>& case_of);

}  // namespace basalt::detail
