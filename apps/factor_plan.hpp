#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "apps/settings.hpp"
#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"

namespace basalt {

/// How one factorization runs, with the choices made that all factorizations have.
struct FactorPlan {
    FactorMode mode = FactorMode::cpu;  ///< never automatic
    std::string reason;  ///< why, in words that end a sentence; empty: as asked for or by the tuning tables
    RunCase run;         ///< what runs by this plan are learnt as; no routine: they are not
    TileShape tile;
    Deal deal = Deal::balanced;  ///< of tile columns to GPUs
    Place data = Place::cpu();   ///< where the matrix begins and ends: the cores, or any(), which stands for all GPUs
    bool fits_gpus = false;      ///< whether the GPUs can hold the matrix and what the factorization needs
    bool moves = false;          ///< the GPUs get the matrix from the host's memory, which then has to be pinned

    bool on_gpus() const { return mode != FactorMode::cpu; }
    /// Whether the matrix lives on GPUs from beginning to end, and takes no memory of the host's.
    bool stays_on_gpus() const { return on_gpus() && !data.is_cpu() && !moves; }
    const char* mode_name() const { return name_of(mode); }
};

/// The plan for an m x n matrix of elements of `element_size` bytes in a mode that is not automatic, but for whether it
/// fits the GPUs and moves. Where the settings name no tile it is `usual`, or a smaller one where the GPUs have little
/// memory.
FactorPlan factor_plan(const Settings& settings, const Runtime& runtime, FactorMode mode, Index m, Index n,
                       std::size_t element_size, TileShape usual);

/// Decides whether the GPUs together can hold the m x n matrix and whether it moves.
void plan_moves_by_size(FactorPlan& plan, const Runtime& runtime, Index m, Index n, std::size_t element_size);

/// The matrix where the plan wants it, ready for the factorization to be timed. Waits for it.
template <class T>
Matrix<T> make_matrix(const FactorPlan& plan, Runtime& runtime, std::shared_ptr<const Generator<T>> generator, Index m,
                      Index n) {
    Matrix<T> matrix(runtime, m, n, plan.tile);
    matrix.set_deal(plan.deal);
    matrix.fill(std::move(generator), plan.data);
    if (plan.moves) matrix.pin();
    runtime.wait();
    return matrix;
}

/// Has the factors copied to where the plan wants the matrix. Submits tasks and returns at once; nothing moves that is
/// there. A matrix that the GPUs' memory cannot hold stays on the host.
template <class T>
void return_matrix(const FactorPlan& plan, Runtime& runtime, const Matrix<T>& matrix) {
    if (runtime.gpus() == 0 || (!plan.data.is_cpu() && plan.moves)) return;
    for (Index j = 0; j < matrix.tile_cols(); ++j) {
        runtime.prefetch(matrix.column(j), plan.data.is_cpu() ? Place::cpu() : matrix.dealt_to(j));
    }
}

}  // namespace basalt
