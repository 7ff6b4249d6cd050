#pragma once

#include <cstddef>
#include <memory>
#include <string>
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
    bool fits_gpus = false;     ///< whether the GPUs can hold the matrix and what the factorization needs
    bool moves = false;         ///< the GPUs get the matrix from the host's memory, which then has to be pinned

    /// Whether the matrix lives on GPUs from beginning to end, and takes no memory of the host's.
    bool stays_on_gpus() const { return mode != LuMode::cpu && !data.is_cpu() && !moves; }
    const char* mode_name() const { return mode == LuMode::gpu ? "gpu" : mode == LuMode::hybrid ? "hybrid" : "cpu"; }
};

/// The plan for an m x n matrix of elements of `element_size` bytes. Where the settings name no tile or panel width,
/// they are the library's choice for the mode, with smaller tiles where the GPUs have little memory. Throws UsageError
/// as chosen_lu_mode() does.
LuPlan lu_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index m, Index n,
               std::size_t element_size);

/// Decides, for the plan's tiles and panels, whether the GPUs can hold the matrix and whether it moves.
void plan_moves(LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size);

/// Throws MachineFailure, naming `what` and bytes, unless the host's memory holds what the plan keeps there: the matrix of
/// `matrix_bytes`, where it does not stay on GPUs, and `other_bytes`. Where GPUs could not hold the matrix, it names what
/// they lack too; `advice` ends that sentence.
void require_room(const LuPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size,
                  double other_bytes, const std::string& what, const std::string& advice = "");

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
