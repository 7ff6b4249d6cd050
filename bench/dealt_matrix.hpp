#pragma once

#include <memory>
#include <vector>

#include "bench/gpu_memory.hpp"
#include "tiles/dealt_columns.hpp"

namespace bench {

/// A column-major matrix in the memory of GPUs, its columns dealt to them. Throws std::bad_alloc.
template <class T>
class DealtMatrix {
  public:
    DealtMatrix(basalt::Index rows, const basalt::DealtColumns& columns) : view_{rows, columns, {}} {
        const auto bytes = static_cast<std::size_t>(rows * columns.room()) * sizeof(T);
        for (int gpu = 0; gpu < columns.gpus(); ++gpu) {
            memory_.push_back(std::make_unique<GpuMemory>(bytes, gpu));
            view_.pieces.push_back(static_cast<T*>(memory_.back()->data()));
        }
    }
    const basalt::DealtView<T>& view() const { return view_; }

  private:
    basalt::DealtView<T> view_;
    std::vector<std::unique_ptr<GpuMemory>> memory_;
};

/// The whole of an array, in the host's memory or a GPU's, as one block; its leading dimension is `rows`.
template <class T>
basalt::DealtView<T> whole(T* a, basalt::Index rows, basalt::Index cols) {
    const basalt::ColumnDeal deal(basalt::Deal::cyclic, 1);
    return {rows, basalt::DealtColumns(cols, std::max<basalt::Index>(cols, 1), deal), {a}};
}

/// target = source, of as many rows and columns, wherever they lie; waits. For int, float and double. Throws
/// std::runtime_error.
template <class T>
void copy_columns(const basalt::DealtView<T>& source, const basalt::DealtView<T>& target);

}  // namespace bench
