#pragma once

#include <memory>

#include "tasks/cholesky/gpu_memory.hpp"
#include "tasks/cholesky/options.hpp"
#include "tasks/cholesky/state.hpp"
#include "tasks/on_gpus/panel_geometry.hpp"

namespace basalt::detail {

/// What a Cholesky factorization in the modes hybrid and gpu needs next to CholeskyState while it runs.
template <class T>
struct GpuCholeskyState {
    /// `storage`: the matrix that is factored, the user's or one of the runtime's own; `triangle`: which one of it.
    GpuCholeskyState(CholeskyState<T>& cholesky, std::shared_ptr<MatrixStorage> storage, Triangle triangle,
                     const CholeskyChoices& choices);

    /// Whether the GPUs cannot hold all of the matrix where it is factored where it lies.
    static bool needs_groups(const CholeskyState<T>& cholesky, const CholeskyChoices& choices) {
        return GpuCholeskyMemory<T>(cholesky, *cholesky.a, cholesky.triangle, choices).fitting_columns().group <
               cholesky.grid().tile_cols();
    }

    bool out_of_core() const { return fitting.group < a->grid().tile_cols(); }

    Runtime& runtime;
    const std::shared_ptr<MatrixStorage> a;
    /// Panels are columns of a lower triangle. Of an upper one they are rows of tiles, which lie in many tile columns;
    /// in buffers they are columns too, L = U^T.
    const bool upper;
    const PanelGeometry geometry;
    const GpuCholeskyMemory<T> memory;
    const Index nb;  ///< widest panel
    const FittingColumns fitting;
    const bool in_place;  ///< see GpuCholeskyMemory
    /// The first of the panels that one kernel factors together, to the end; or the number of panels.
    const int fused_from;

  private:
    ScratchMemory memory_;

  public:
    GpuCholeskyBuffers<T> buffers;
};

extern template struct GpuCholeskyState<float>;
extern template struct GpuCholeskyState<double>;

}  // namespace basalt::detail
