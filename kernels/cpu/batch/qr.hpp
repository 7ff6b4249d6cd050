#pragma once

#include <basalt/batch.hpp>

/// QR of batches on one core. Single-threaded, reentrant. For float and double. Arguments are checked by the callers:
/// equal counts, tau as k x 1 matrices, shapes as in basalt/batch_qr.hpp.
namespace basalt::cpu_kernels {

/// geqrf.
template <class T>
void batch_qr_factor(const BatchView<T>& a, const BatchView<T>& tau);

/// orgqr with as many reflectors as tau has rows.
template <class T>
void batch_qr_form(const BatchView<T>& a, const BatchView<const T>& tau);

/// gels.
template <class T>
void batch_least_squares(const BatchView<T>& a, const BatchView<T>& b, Index* info);

}  // namespace basalt::cpu_kernels
