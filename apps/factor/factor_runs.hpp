#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/factor/factor_options.hpp"
#include "apps/factor/factor_plan.hpp"
#include "apps/runs/machine_load.hpp"
#include "apps/runs/output_files.hpp"
#include "basalt/runtime.hpp"
#include "io/energy/energy_meter.hpp"
#include "io/files/json_record.hpp"

namespace basalt {

/// One factorization, as its subcommand hands it to FactorRuns.
struct FactorRoutine {
    std::string command;                             ///< its name
    std::string name;                                ///< LAPACK's without the precision, e.g. "getrf"
    std::string variant;                             ///< printed after the precision, e.g. " (tf32)"
    Index panel_width = 0;                           ///< for the record
    double flops = 0;                                ///< of one factorization
    JsonRecord other_fields = JsonRecord::object();  ///< of the record, after the common ones

    std::function<double()> expected_rate;          ///< flop/s at least, measured when called; for the progress bar
    std::function<void()> prepare;                  ///< makes the matrix
    std::function<void()> factor;                   ///< submits the factorization and the way back of the factors
    std::function<std::optional<Index>()> collect;  ///< called when all is done; returns INFO, if it has any
    std::function<PanelPlaces()> panel_places;      ///< of the last factors, after collect()
    std::function<double()> residual_ratio;         ///< of the last factors
    std::optional<std::string> without_factors;     ///< printed for INFO above 0, if there is no factor then
};

/// The factorizations of one call of a subcommand and their results. Not for several threads.
class FactorRuns {
  public:
    /// `options` has the size of the matrix. They, `plan`, `runtime` and `files` must outlive the object.
    FactorRuns(const FactorOptions& options, const FactorPlan& plan, FactorRoutine routine, Runtime& runtime,
               OutputFiles& files);

    /// All runs, or those before a Ctrl-C; returns the exit status.
    int run();

  private:
    /// Of the last run. Without factors there is nothing to check, and the run has not passed.
    bool has_factors() const { return !routine_.without_factors || info_.value_or(0) == 0; }
    void run_once();
    void factor();
    void write_line() const;
    void write_median() const;
    void write_record() const;

    const FactorOptions& options_;
    const FactorPlan& plan_;
    const FactorRoutine routine_;
    const MachineLoad load_;
    Runtime& runtime_;
    OutputFiles& files_;
    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
    std::vector<double> seconds_;
    // of the last run
    std::optional<Index> info_;
    double ratio_ = 0;

    double worst_ratio_ = 0;
    bool passed_ = true;
};

}  // namespace basalt
