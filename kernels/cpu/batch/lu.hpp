#pragma once

#include <basalt/batch.hpp>

/// LU of batches on one core. Single-threaded, reentrant. For float and double. Arguments are checked by the callers:
/// square matrices, equal counts and rows, pivots as n x 1 matrices of numbers counted from 1. INFO is as in
/// basalt/batch_lu.hpp.
namespace basalt::cpu_kernels {

/// getrf.
template <class T>
void batch_lu_factor(const BatchView<T>& a, const BatchView<Index>& pivots, Index* info);
/// The same without pivoting.
template <class T>
void batch_lu_factor(const BatchView<T>& a, Index* info);

/// getrs; with `pivots` null for factors without pivoting.
template <class T>
void batch_lu_solve(const BatchView<const T>& factors, const BatchView<const Index>* pivots, const BatchView<T>& b);

/// gesv that leaves factors and pivots.
template <class T>
void batch_lu_factor_solve(const BatchView<T>& a, const BatchView<Index>& pivots, const BatchView<T>& b, Index* info);
/// gesv that leaves A as it was.
template <class T>
void batch_lu_factor_solve(const BatchView<const T>& a, const BatchView<T>& b, Index* info);

/// getri.
template <class T>
void batch_lu_invert(const BatchView<T>& factors, const BatchView<const Index>& pivots, Index* info);

}  // namespace basalt::cpu_kernels
