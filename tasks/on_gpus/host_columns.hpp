#pragma once

#include "basalt/view.hpp"
#include "runtime/storage/matrix_storage.hpp"

namespace basalt::detail {

/// Whether load_by_gpus() and store_by_gpus() are possible: there are GPUs, and the array is column-major and not
/// empty.
template <class T>
bool gpus_can_convert(const MatrixStorage& storage, View<const T> array);

/// Submits tasks that overwrite the matrix with `source`, an array in the host's memory. Tile columns are dealt to the
/// GPUs; stripes of columns go there unchanged and are converted there. GPUs copy from pinned memory themselves; cores
/// copy other memory to pinned buffers.
template <class T>
void load_by_gpus(MatrixStorage& storage, View<const T> source);

/// The way back: each block is converted on the GPU of its tile column, and leaves as soon as its elements are final.
template <class T>
void store_by_gpus(MatrixStorage& storage, View<T> target);

}  // namespace basalt::detail
