#pragma once

#include "kernels/cuda/cholesky/plan.hpp"
#include "kernels/on_stream/kernel.hpp"

/// Cholesky of column panels. All pointers are to the device's memory, all matrices row-major. For float and double.
namespace basalt::on_stream {

using cuda_kernels::CholeskyPanelPlan;

template <class T>
struct CholeskyPanel
    : Kernel<CholeskyPanel<T>, void(View<T> panel, const CholeskyPanelPlan& plan, Index* info, void* workspace)> {};
/// panel = L in place: the square D on top becomes its Cholesky factor L(k, k), the rows P below it P L(k, k)^-T.
/// `panel` is m x n, m >= n; the square's strictly upper triangle is not read and may be written. *info is 0 or the
/// 1-based number of the first pivot that is not positive or is NaN; the panel is meaningless then. The same input and
/// plan give the same bits. `workspace` is aligned to 256 bytes and holds cholesky_workspace() bytes, of any contents;
/// the CPU twin does not use it.
///
/// Rows are multiplied by the inverses of tiles on the diagonal, or solved for by substitution where these are too
/// large. Source of the blocking: Abdelfattah, Haidar, Tomov, Dongarra (IEEE TPDS 29, 2018), section 6.3.
template <class T>
inline constexpr CholeskyPanel<T> cholesky_panel{};

template <class T>
struct SaveAboveDiagonal : Kernel<SaveAboveDiagonal<T>, void(View<const T> a, View<T> saved)> {};
/// Copies the elements of `a` right of its diagonal, at most band - 1 columns from it: saved(i, d) = a(i, i + d) for
/// 0 < d < band. `saved` is a.rows() x band.
template <class T>
inline constexpr SaveAboveDiagonal<T> save_above_diagonal{};

template <class T>
struct RestoreAboveDiagonal : Kernel<RestoreAboveDiagonal<T>, void(View<const T> saved, View<T> a)> {};
/// Copies them back.
template <class T>
inline constexpr RestoreAboveDiagonal<T> restore_above_diagonal{};

}  // namespace basalt::on_stream
