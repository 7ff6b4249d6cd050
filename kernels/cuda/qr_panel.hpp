#pragma once

#include <cstddef>
#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/view.hpp>

/// QR of a column panel on one GPU. CPU twin: kernels/cpu/qr_panel_alone.hpp.
namespace basalt::cuda_kernels {

/// Bytes that qr_panel_factor() needs in the memory of a device of so many multiprocessors.
template <class T>
std::size_t qr_panel_workspace(Index rows, Index cols, Index wide_leaves_from, int multiprocessors);

/// A = (I - V T V^T) (R, 0)^T, LAPACK's geqrf and larft, enqueued on the stream.
///
/// `panel` (m x k, m >= k, row-major) is A and becomes V, with zeros above its diagonal of ones; `r` and `t` (k x k,
/// row-major) become upper triangular with zeros below; tau is T's diagonal. Columns of any scale and rank are safe.
/// Columns that are well-conditioned are factored by Cholesky QR, twice unless they are nearly orthogonal, from which
/// the reflectors are reconstructed (Ballard, Demmel, Grigori, Jacquelin, Knight, Nguyen, "Reconstructing Householder
/// vectors from tall-skinny QR", JPDC 85, 2015); the others by Householder's method, which the device itself decides.
/// Panels of at least `wide_leaves_from` rows have leaves of twice as many columns where the device has the shared
/// memory (GpuTuning::Qr). The same input gives the same bits on GPUs with as many multiprocessors. `workspace` holds
/// qr_panel_workspace() bytes, aligned to 256; its contents are of no matter. Throws DeviceError where a launch fails.
/// For float and double.
template <class T>
void qr_panel_factor(Stream stream, View<T> panel, std::type_identity_t<View<T>> r, std::type_identity_t<View<T>> t,
                     Index wide_leaves_from, void* workspace);

}  // namespace basalt::cuda_kernels
