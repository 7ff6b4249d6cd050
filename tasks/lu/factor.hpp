#pragma once

#include <functional>

#include "basalt/lu.hpp"
#include "tiles/panels.hpp"

namespace basalt::detail {

/// lu_factor(), which calls `factored` for one panel after the other: the tasks submitted by then leave it factored
/// where it lies in A. Not for a matrix that does not fit into the GPUs' memory.
template <class T>
LuFactors<T> lu_factor_observed(Runtime& runtime, Matrix<T>& a, const LuOptions& options,
                                const std::function<void(const Panel&)>& factored);

}  // namespace basalt::detail
