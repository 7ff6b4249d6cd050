#pragma once

#include <cstddef>
#include <type_traits>

#include <basalt/device.hpp>
#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

#include "kernels/strided.hpp"

/// Cholesky of column panels and its trailing update on one GPU. All pointers are to the device's memory, all matrices
/// row-major; everything is enqueued on the stream, and DeviceError is thrown where that fails. For float and double.
/// CPU twins: kernels/cpu/cholesky_panel.hpp.
namespace basalt::cuda_kernels {

/// How a panel is factored.
enum class CholeskyPanelDesign {
    /// In halves with a product between them, down to leaves, which one block of threads factors; rows below a leaf are
    /// solved for by a launch of their own.
    recursive,
    /// By one kernel, left-looking in squares of 64 x 64 (cholesky_fused.hpp).
    fused,
    /// The same with twice the shared memory for operands: faster where the products take longer than the chain of
    /// squares on the diagonal.
    fused_wide,
};

struct CholeskyPanelPlan {
    CholeskyPanelDesign design = CholeskyPanelDesign::recursive;
    GpuCholeskyLeaf leaf{};  ///< of the design `recursive`
};

/// `fused`: the plan for a square of order n, a matrix or the last of it, that one kernel factors; otherwise for
/// panels.
inline CholeskyPanelPlan cholesky_panel_plan(const GpuTuning::Cholesky& tuning, Index n, bool fused) {
    if (!fused) return {CholeskyPanelDesign::recursive, tuning.leaf};
    return {n < tuning.fused_wide_from ? CholeskyPanelDesign::fused : CholeskyPanelDesign::fused_wide, tuning.leaf};
}

/// Bytes that cholesky_panel() needs by any plan for a panel of at most so many rows and of so many columns or fewer.
template <class T>
std::size_t cholesky_workspace(Index rows, Index cols);

/// panel = L in place: the square D on top becomes its Cholesky factor L(k, k), the rows P below it P L(k, k)^-T.
/// `panel` is m x n, m >= n; the square's strictly upper triangle is not read and may be written. *info is 0 or the
/// number, from 1, of the first pivot that is not positive or is NaN; what is computed then has no meaning. The same
/// input and plan give the same bits. `workspace` holds cholesky_workspace() bytes, aligned to 256; its contents are
/// of no matter.
///
/// Rows are multiplied by the inverses of tiles on the diagonal, or solved for by substitution where these are
/// too large. Source of the blocking: Abdelfattah, Haidar, Tomov, Dongarra (IEEE TPDS 29, 2018), section 6.3.
template <class T>
void cholesky_panel(Stream stream, View<T> panel, CholeskyPanelPlan plan, Index* info, void* workspace);

/// C_i -= A_i B_i^T for i < count: A_i m x k, B_i n x k, C_i m x n.
template <class T>
void subtract_transposed_products(Stream stream, Index count, std::type_identity_t<Strided<const T>> a,
                                  std::type_identity_t<Strided<const T>> b, Strided<T> c);

/// The elements of `a` right of its diagonal, at most band - 1 columns from it: element (i, i + d), 0 < d < band, goes
/// to saved(i, d), or comes from there. `saved` is a.rows() x band.
template <class T>
void save_above_diagonal(Stream stream, std::type_identity_t<View<const T>> a, View<T> saved);
template <class T>
void restore_above_diagonal(Stream stream, std::type_identity_t<View<const T>> saved, View<T> a);

}  // namespace basalt::cuda_kernels
