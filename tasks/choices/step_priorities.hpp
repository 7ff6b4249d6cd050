#pragma once

#include <cstddef>

#include <basalt/view.hpp>

namespace basalt::detail {

/// Priorities of a factorization's tasks on cores: panels first, then the columns that the next panels need, then the
/// rest; older steps first.
class StepPriorities {
  public:
    StepPriorities(std::size_t steps, int lookahead) : steps_(static_cast<int>(steps)), lookahead_(lookahead) {}

    int panel(int k) const { return 4 * steps_ - k; }
    /// Work of step k on columns that the next panels need.
    int needed_next(int k) const { return 2 * steps_ - k; }
    /// Work of step k on columns that are `ahead` of it. The next panels need those up to `lookahead` steps of `panels`
    /// panels each.
    int update(int k, Index ahead, Index panels = 1) const {
        return ahead <= Index{lookahead_} * panels ? needed_next(k) : steps_ - k;
    }

  private:
    int steps_;
    int lookahead_;
};

}  // namespace basalt::detail
