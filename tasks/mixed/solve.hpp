#pragma once

#include "basalt/mixed.hpp"
#include "tasks/mixed/columns_at.hpp"

namespace basalt::detail {

/// mixed_solve(), which also gives the factors in double, if A was factored by LU in double.
MixedResult solve_mixed(Runtime& runtime, Matrix<double>& a, const Matrix<double>& b, Matrix<double>& x,
                        const MixedOptions& options, LuFactors<double>& in_double);

/// Submits tasks that copy the lower triangle of a square matrix to its upper one.
void mirror_lower_triangle(const Matrix<double>& a, ColumnsAt where);

}  // namespace basalt::detail
