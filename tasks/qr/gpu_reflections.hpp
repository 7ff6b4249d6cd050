#pragma once

#include <cstddef>
#include <vector>

#include "tasks/on_gpus/scratch_layout.hpp"

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
    std::vector<ScratchMatrix<T>> workspaces;  ///< of reflect_columns()
};

extern template struct GpuReflections<float>;
extern template struct GpuReflections<double>;

}  // namespace basalt::detail
