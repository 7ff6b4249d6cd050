#pragma once

#include <cstddef>
#include <vector>

#include "tasks/on_gpus/scratch_layout.hpp"
#include "tasks/on_gpus/substitution_on_gpus.hpp"
#include "tasks/qr/state.hpp"

namespace basalt::detail {

/// The buffers for multiplying by Q on GPUs: a Q of order `rows` in panels of at most nb columns, and `columns` columns
/// of the other matrix at a time.
template <class T>
struct GpuReflections {
    GpuReflections(Runtime& runtime, Index rows, Index nb, Index columns);

    /// Bytes of one GPU's memory.
    static std::size_t bytes(Runtime& runtime, Index rows, Index nb, Index columns);

    const Index columns = 0;

  private:
    GpuReflections() = default;
    static ScratchLayout layout(Runtime& runtime, Index rows, Index nb, Index columns, GpuReflections<T>& reflections);

    ScratchMemory memory_;

  public:
    // by GPU
    std::vector<ScratchMatrix<T>> v;           ///< explicit, of a panel: rows x nb
    std::vector<ScratchMatrix<T>> workspaces;  ///< of reflect_columns() and gram_matrix()
};

/// The GPUs that have Q's panels, by tile column, if each has room for the buffers, which the state then has, and for
/// `more` bytes. Otherwise empty: cores multiply by Q.
template <class T>
ColumnGpus gpus_for_reflections(QrState<T>& qr, std::size_t more);

extern template struct GpuReflections<float>;
extern template struct GpuReflections<double>;

}  // namespace basalt::detail
