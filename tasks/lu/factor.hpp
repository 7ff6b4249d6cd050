#pragma once

#include "basalt/lu.hpp"

namespace basalt::detail {

/// lu_factor() for factors that are of no use with a pivot of smaller magnitude than `least_pivot`. In mode cpu the
/// factorization then stops at the end of that pivot's panel: info() is the pivot's number, and the factors are not
/// complete. The other modes factor to the end.
template <class T>
LuFactors<T> lu_factor_above(Runtime& runtime, Matrix<T>& a, const LuOptions& options, T least_pivot);

extern template LuFactors<float> lu_factor_above(Runtime&, Matrix<float>&, const LuOptions&, float);

}  // namespace basalt::detail
