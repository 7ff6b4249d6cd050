#pragma once

#include <cstddef>
#include <vector>

#include "runtime/host_memory.hpp"
#include "tasks/scratch_matrix.hpp"

namespace basalt::detail {

/// What multiplying by Q on GPUs needs: by a Q of order `rows` in panels of nb columns at most, `columns` columns of
/// the other matrix at a time.
template <class T>
struct GpuReflections {
    GpuReflections(Runtime& runtime, Index rows, Index nb, Index columns);

    /// Of a GPU's memory.
    static std::size_t bytes(Runtime& runtime, Index rows, Index nb, Index columns);

    const Index columns;

  private:
    HostBuffer addresses_;  // of what only GPUs use: never touched here

  public:
    // by GPU
    std::vector<ScratchMatrix<T>> v;           ///< explicit, of a panel: rows x nb
    std::vector<ScratchMatrix<T>> workspaces;  ///< of reflect_columns()
};

extern template struct GpuReflections<float>;
extern template struct GpuReflections<double>;

}  // namespace basalt::detail
