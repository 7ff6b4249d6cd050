#pragma once

#include <memory>
#include <vector>

#include "apps/factor/lu_plan.hpp"
#include "apps/runs/residual.hpp"
#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "io/hpl/hpl_report.hpp"

namespace basalt {

/// The plan for order n and block size nb: HPL's NB is the panel width, and a tile holds whole panels. A tile that the
/// settings name is not changed. If GPUs factor, the system is generated, kept and checked in their memory as long as
/// it fits there, unless the settings name the host's.
LuPlan hpl_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index n, Index nb);

/// Panels of NB columns in tiles that hold whole ones. A tile that the settings name is not changed.
void take_block_size(LuPlan& plan, const Settings& settings, Index nb);

/// Throws MachineFailure if the memory of host and GPUs cannot hold the system of order n. The message names bytes and
/// the largest order that the GPUs hold.
void require_room_for_hpl(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index n, Index nb);

/// The largest order of a system that stays on the runtime's GPUs, in the mode that the settings ask for; 0 if they
/// hold none or are not used.
Index largest_hpl_order(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index nb);

/// HPL's check of x, from norms that need not be those of the solver.
HplCheck hpl_check(const SystemNorms& norms, const std::vector<double>& x, const std::vector<double>& b);
/// The column's elements.
std::vector<double> entries_of(const Matrix<double>& column);

/// Operations that HPL counts, 2/3 n^3 + 3/2 n^2.
double hpl_flops(Index n);

/// HPL's system A x = b of order n, in double: b travels through the factorization as column n of [A b].
class HplSystem {
  public:
    /// Generates [A b] where the plan wants it and waits for it. Throws std::bad_alloc.
    HplSystem(Runtime& runtime, Index n, const LuPlan& plan);

    /// Factors [A b] and solves U x = y by back substitution: what HPL times.
    HplTiming solve();

    /// HPL's residual and its norms, computed from the matrix generated again; a_one stays 0. Call it after solve().
    /// For a system on GPUs call it only once: the matrix overwrites the factors.
    HplCheck check();

    /// ||A||_1
    double a_one() const;

    /// Who factored the panels, after solve().
    const PanelPlaces& panel_places() const { return panels_; }

  private:
    Runtime& runtime_;
    const Index n_;
    const LuOptions options_;
    const bool stays_on_gpus_;
    std::shared_ptr<const Generator<double>> generator_;
    Matrix<double> system_;
    Matrix<double> solution_;
    PanelPlaces panels_;
};

}  // namespace basalt
