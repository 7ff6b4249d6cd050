#pragma once

#include "basalt/matrix.hpp"

namespace basalt {

/// Has the matrix copied into the memory of the GPUs, its tile columns dealt to them in turn, or home. Submits tasks
/// and returns at once. Does nothing for what is there, and nothing at all on a runtime without GPUs.
template <class T>
void move_to_gpus(Runtime& runtime, const Matrix<T>& matrix) {
    for (Index j = 0; runtime.gpus() > 0 && j < matrix.tile_cols(); ++j) {
        runtime.prefetch(matrix.column(j), Place::gpu(static_cast<int>(j % runtime.gpus())));
    }
}
template <class T>
void move_home(Runtime& runtime, const Matrix<T>& matrix) {
    for (Index j = 0; runtime.gpus() > 0 && j < matrix.tile_cols(); ++j) {
        runtime.prefetch(matrix.column(j), Place::cpu());
    }
}

}  // namespace basalt
