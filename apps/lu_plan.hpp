#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "apps/gpu_options.hpp"
#include "basalt/matrix.hpp"

namespace basalt {

/// How one LU factorization runs, with all choices made.
struct LuPlan {
    LuMode mode = LuMode::cpu;  ///< never automatic
    TileShape tile;
    LuOptions options;          ///< with mode and panel width
    Place data = Place::cpu();  ///< where the matrix begins and ends: the cores, or any(), which stands for all GPUs
    bool moves = false;         ///< the GPUs get the matrix from the host's memory, which then has to be pinned

    const char* mode_name() const { return mode == LuMode::gpu ? "gpu" : mode == LuMode::hybrid ? "hybrid" : "cpu"; }
};

/// The plan for an m x n matrix of elements of `element_size` bytes. Where the settings name no tile or panel width,
/// they are the library's choice for the mode, with smaller tiles where the GPUs have little memory. Throws UsageError
/// as chosen_lu_mode() does.
LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size);

/// The matrix where the plan wants it, ready for the factorization to be timed. Waits for it.
template <class T>
Matrix<T> make_matrix(const LuPlan& plan, Runtime& runtime, std::shared_ptr<const Generator<T>> generator, Index m,
                      Index n) {
    auto matrix = Matrix<T>::generate(runtime, std::move(generator), m, n, plan.tile, plan.data);
    if (plan.moves) matrix.pin();
    runtime.wait();
    return matrix;
}

/// Has the factors copied to where the plan wants the matrix. Submits tasks and returns at once; nothing moves that is
/// there. A matrix that the GPUs' memory cannot hold stays on the host.
template <class T>
void return_matrix(const LuPlan& plan, Runtime& runtime, const Matrix<T>& matrix) {
    if (runtime.gpus() == 0 || (!plan.data.is_cpu() && plan.moves)) return;
    for (Index j = 0; j < matrix.tile_cols(); ++j) {
        const int gpu = static_cast<int>(j % runtime.gpus());
        runtime.prefetch(matrix.column(j), plan.data.is_cpu() ? Place::cpu() : Place::gpu(gpu));
    }
}

}  // namespace basalt
