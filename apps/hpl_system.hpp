#pragma once

#include <memory>

#include "apps/lu_plan.hpp"
#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "io/hpl_report.hpp"

namespace basalt {

/// The plan for order n and block size nb: HPL's NB is the panel width, and a tile holds whole panels. A tile that the
/// settings name is taken as it is.
LuPlan hpl_plan(const Settings& settings, const GpuOptions& gpu, const Runtime& runtime, Index n, Index nb);

/// Bytes of the system of order n: [A b], the solution and the vectors of the check.
double hpl_bytes(Index n, TileShape tile);

/// Operations that HPL counts, 2/3 n^3 + 3/2 n^2.
double hpl_flops(Index n);

/// HPL's system A x = b of order n, in double: b travels through the factorization as column n of [A b].
class HplSystem {
  public:
    /// Generates [A b] where the plan wants it and waits for it. Throws std::bad_alloc.
    HplSystem(Runtime& runtime, Index n, const LuPlan& plan);

    /// Factors [A b] and solves U x = y by back substitution: what HPL times.
    HplTiming solve();

    /// HPL's residual, computed from the matrix generated again, and the norms in it; a_one stays 0. After
    /// solve().
    HplCheck check() const;

    /// ||A||_1
    double a_one() const;

  private:
    Runtime& runtime_;
    const Index n_;
    const LuOptions options_;
    std::shared_ptr<const Generator<double>> generator_;
    Matrix<double> system_;
    Matrix<double> solution_;
};

}  // namespace basalt
