#pragma once

#include <cstddef>

#include <basalt/product_precision.hpp>
#include <basalt/tuning.hpp>
#include <basalt/view.hpp>

#include "kernels/on_stream/kernel.hpp"

namespace basalt::cuda_kernels {

/// How a panel is factored.
enum class CholeskyPanelDesign {
    /// Recursively in halves with a product between them, down to leaves that one block of threads factors; a launch of
    /// its own solves for the rows below a leaf.
    recursive,
    /// By one kernel, left-looking in squares of 64 x 64 (fused.hpp).
    fused,
    /// The same with twice the shared memory for operands: faster where the products take longer than the chain of
    /// squares on the diagonal.
    fused_wide,
};

struct CholeskyPanelPlan {
    CholeskyPanelDesign design = CholeskyPanelDesign::recursive;
    GpuCholeskyLeaf leaf{};                               ///< of the design `recursive`
    ProductPrecision products = ProductPrecision::plain;  ///< between the halves of the design `recursive`
};

/// The plan for panels of a factorization whose large updates are products in precision `updates`.
inline CholeskyPanelPlan cholesky_panel_plan(const GpuTuning::Cholesky& tuning,
                                             ProductPrecision updates = ProductPrecision::plain) {
    return {CholeskyPanelDesign::recursive, tuning.leaf, without_conversion(updates)};
}

/// The plan for a square of order n, a matrix or the last of it, that one kernel factors.
inline CholeskyPanelPlan cholesky_square_plan(const GpuTuning::Cholesky& tuning, Index n) {
    return {n < tuning.fused_wide_from ? CholeskyPanelDesign::fused : CholeskyPanelDesign::fused_wide, tuning.leaf};
}

}  // namespace basalt::cuda_kernels

namespace basalt::cuda_detail {

template <class T>
std::size_t cholesky_workspace(Index rows, Index cols);

}  // namespace basalt::cuda_detail

namespace basalt::cuda_kernels {

/// Bytes that cholesky_panel() needs in a GPU's memory, by any plan, for panels of at most `rows` rows and `cols`
/// columns.
template <class T>
std::size_t cholesky_workspace(Index rows, Index cols) {
    return on_stream::on_gpus_only([=] { return cuda_detail::cholesky_workspace<T>(rows, cols); });
}

}  // namespace basalt::cuda_kernels
