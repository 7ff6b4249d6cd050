#pragma once

#include "basalt/view.hpp"
#include "runtime/matrix_storage.hpp"

namespace basalt::detail {

/// Whether load_by_gpus() and store_by_gpus() can serve: there are GPUs, and the array is column-major and not empty.
template <class T>
bool gpus_can_convert(const MatrixStorage& storage, View<const T> array);

/// Submits tasks that overwrite the matrix with `source`, an array in the host's memory. Tile columns are dealt to the
/// GPUs: stripes of columns go there as they are and are converted there. Pinned memory is copied from by the
/// GPUs themselves, other memory by cores into pinned buffers.
template <class T>
void load_by_gpus(MatrixStorage& storage, View<const T> source);

/// The way back: each block is converted on the GPU that its tile column is dealt to, and leaves as soon as its
/// elements are final.
template <class T>
void store_by_gpus(MatrixStorage& storage, View<T> target);

}  // namespace basalt::detail
