#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "apps/input/settings.hpp"
#include "basalt/factor_mode.hpp"
#include "basalt/matrix.hpp"
#include "basalt/run_models.hpp"

namespace basalt {

/// How one factorization runs: the choices that all factorizations have.
struct FactorPlan {
    FactorMode mode = FactorMode::cpu;  ///< never automatic
    std::string reason;   ///< for the mode, to end a sentence; empty: as asked for or by the tuning tables
    bool learnt = false;  ///< the mode was chosen by what earlier runs took
    RunCase run;          ///< the models know runs by this plan as this; without a routine they are not learnt
    TileShape tile;
    Index panel_width = 0;              ///< the factorization's option of that name
    Deal deal = Deal::balanced;         ///< of tile columns to GPUs
    Place data = Place::cpu();          ///< of the matrix before and after: cpu(), or any() for all GPUs
    bool fits_gpus = false;             ///< whether the GPUs can hold the matrix and what the factorization needs
    bool moves = false;                 ///< the GPUs get the matrix from the host's memory, which then has to be pinned
    Index gpu_panel_slots = 4;          ///< panels that a GPU's memory holds at once, workspaces included
    bool threads_share_panels = false;  ///< teams of cores factor panels: --panel-threads has an effect

    bool on_gpus() const { return mode != FactorMode::cpu; }
    /// Whether the matrix lives on GPUs from beginning to end, and takes no memory of the host's.
    bool stays_on_gpus() const { return on_gpus() && !data.is_cpu() && !moves; }
    const char* mode_name() const { return name_of(mode); }
};

/// The plan for an m x n matrix of elements of `element_size` bytes in a mode that is not automatic. It does not yet
/// say whether the matrix fits the GPUs and moves. If the settings name no tile, the tile is `usual`, or a smaller one
/// if the GPUs have little memory.
FactorPlan factor_plan(const Settings& settings, const Runtime& runtime, FactorMode mode, Index m, Index n,
                       std::size_t element_size, TileShape usual);

/// Takes over what choose_lu_mode() and the like decided for runs that are learnt as `run`. Throws WrongUse where the
/// command line asks for GPUs and the mode has none.
void set_choice(FactorPlan& plan, const Settings& settings, const ModeChoice& choice, RunCase run);

/// If the command line has --panel-threads and the plan has no use for it, says so on standard error.
void tell_unused_panel_threads(const FactorPlan& plan, const Settings& settings);

/// Bytes of the host's memory that the runtime's emulated GPUs take for a factorization with panels of `panel_width`:
/// their tile columns, panels and workspaces, as far as their memory goes. 0 without emulated GPUs and in mode cpu.
double emulated_bytes(const FactorPlan& plan, Index panel_width, const Runtime& runtime, Index m, Index n,
                      std::size_t element_size);

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

/// Copies the factors to where the plan wants the matrix, unless they are there. Submits tasks and returns at once. A
/// matrix that the GPUs' memory cannot hold stays on the host.
template <class T>
void return_matrix(const FactorPlan& plan, Runtime& runtime, const Matrix<T>& matrix) {
    if (runtime.gpus() == 0 || (!plan.data.is_cpu() && plan.moves)) return;
    for (Index j = 0; j < matrix.tile_cols(); ++j) {
        runtime.prefetch(matrix.column(j), plan.data.is_cpu() ? Place::cpu() : matrix.dealt_to(j));
    }
}

}  // namespace basalt
