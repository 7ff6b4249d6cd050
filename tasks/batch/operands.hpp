#pragma once

#include <basalt/batch.hpp>

/// Checks of the operands of batches. They throw UsageError with the call, the operand and, where shapes may differ,
/// the number of the matrix.
namespace basalt::detail {

template <class T>
void check_batch(const char* call, const char* name, const BatchView<T>& batch);

/// check_batch(), and that matrices are square.
template <class T>
void check_square(const char* call, const char* name, const BatchView<T>& batch);

/// check_batch() for B, and that it has as many matrices as A, with as many rows.
template <class T>
void check_right_sides(const char* call, const BatchView<const T>& a, const BatchView<const T>& b);

}  // namespace basalt::detail
