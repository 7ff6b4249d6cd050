#pragma once

#include <memory>
#include <vector>

#include "bench/common/gpu_memory.hpp"
#include "tiles/dealt_columns.hpp"

namespace bench {

/// A column-major matrix whose columns are dealt to the memory of GPUs. Throws std::bad_alloc.
template <class T>
class DealtMatrix {
  public:
    DealtMatrix(basalt::Index rows, const basalt::DealtColumns& columns) : view_{rows, columns, {}} {
        const auto bytes = static_cast<std::size_t>(rows * columns.room()) * sizeof(T);
        for (int gpu = 0; gpu < columns.gpus(); ++gpu) {
            memory_.push_back(std::make_unique<GpuMemory>(bytes, gpu));
            view_.parts.push_back(static_cast<T*>(memory_.back()->data()));
        }
    }
    const basalt::DealtView<T>& view() const { return view_; }

  private:
    basalt::DealtView<T> view_;
    std::vector<std::unique_ptr<GpuMemory>> memory_;
};

/// A whole array in the memory of the host or of one GPU, as one block with leading dimension `rows`.
template <class T>
basalt::DealtView<T> whole(T* a, basalt::Index rows, basalt::Index cols) {
    const basalt::ColumnDeal deal(basalt::Deal::cyclic, 1);
    return {rows, basalt::DealtColumns(cols, std::max<basalt::Index>(cols, 1), deal), {a}};
}

/// target = source, which have equal shapes and may lie in any memory; waits. For int, float and double. Throws
/// std::runtime_error.
template <class T>
void copy_columns(const basalt::DealtView<T>& source, const basalt::DealtView<T>& target);

}  // namespace bench
