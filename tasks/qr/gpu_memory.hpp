#pragma once

#include <cstddef>
#include <vector>

#include "kernels/split_product.hpp"
#include "tasks/on_gpus/column_groups.hpp"
#include "tasks/on_gpus/scratch_layout.hpp"
#include "tasks/qr/options.hpp"
#include "tasks/qr/state.hpp"

namespace basalt::detail {

/// The scratch buffers of QR in the modes hybrid and gpu.
template <class T>
struct GpuQrBuffers {
    // by slot
    std::vector<ScratchMatrix<T>> panels;  ///< m x nb, in the matrix's rows; then V. None in place
    std::vector<ScratchMatrix<T>> r;       ///< nb x nb
    // by panel; no contents: a task that writes one tells that it has run
    std::vector<ScratchMatrix<Index>> taken_out;  ///< the panel has left the matrix; in place: it is up to date
    std::vector<ScratchMatrix<Index>> factored;
    // by GPU
    std::vector<ScratchMatrix<T>> panel_workspaces;
    std::vector<ScratchMatrix<T>> leading_workspaces;  ///< of reflect_columns() on the leading columns
    std::vector<ScratchMatrix<T>> rest_workspaces;     ///< and on the others
};

/// The memory of a QR factorization in the modes hybrid and gpu, next to its tile columns.
template <class T>
class GpuQrMemory {
  public:
    GpuQrMemory(const QrState<T>& qr, const QrChoices& choices);

    /// Panels that are on their way at once: one is factored, one comes, one returns.
    static constexpr Index panel_slots = 3;

    /// How large updates multiply.
    Multiplication large_products() const { return large_products_; }
    /// Whether panels are factored where they lie, and updates read them there: one GPU that has all columns.
    /// `columns`: tile columns that a GPU has at a time.
    bool in_place(Index columns) const { return may_be_in_place_ && columns >= qr_.grid().tile_cols(); }

    /// The buffers, with `columns` tile columns on a GPU at a time. `panels`: where panels are on the host.
    ScratchLayout layout(Index columns, ScratchHome panels, GpuQrBuffers<T>& buffers) const;

    /// Bytes of one GPU's memory that these buffers and the triangles T take.
    std::size_t workspace(Index columns) const;

  private:
    const QrState<T>& qr_;
    const Multiplication large_products_;
    const bool may_be_in_place_;
    const int processors_;  ///< 0 on emulated GPUs, whose kernels are the CPU's and have workspaces of their own
};

extern template class GpuQrMemory<float>;
extern template class GpuQrMemory<double>;

}  // namespace basalt::detail
