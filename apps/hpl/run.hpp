#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "apps/factor/lu_plan.hpp"
#include "apps/hpl/report_stream.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/settings.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/progress.hpp"
#include "basalt/runtime.hpp"
#include "io/energy/energy_meter.hpp"
#include "io/hpl/hpl_dat.hpp"
#include "io/hpl/hpl_report.hpp"

namespace basalt {

struct HplOptions {
    std::string file = "HPL.dat";
    bool ignore_grid = false;
    bool mxp = false;
    std::string factor_precision = "auto";  ///< of --mxp
    GpuOptions gpu;
};

/// The tests of one input, run one after the other: what HPL and HPL-MxP share.
class HplRun {
  public:
    /// The first two outlive this object, and the settings do.
    HplRun(const HplOptions& options, HplInput input, const Settings& settings);
    virtual ~HplRun() = default;
    HplRun(const HplRun&) = delete;
    HplRun& operator=(const HplRun&) = delete;

    /// Runs all tests, or those before a Ctrl-C; returns the exit status. Refuses before anything is written what the
    /// machine cannot hold.
    int run();

  protected:
    /// What a test came to. It is not checked where the threshold of the file is zero or less.
    struct Result {
        JsonRecord record;
        std::optional<bool> passed;
    };

    virtual LuPlan plan_of(Index n, Index nb) const = 0;
    /// Throws MachineFailure where the machine cannot hold the system, and WrongUse for options that it cannot have.
    virtual void require_room(Index n, Index nb) const = 0;
    /// The head of the report, whose lines go to `out` from then on.
    virtual void begin_report(std::ostream& out) = 0;
    /// Makes the system.
    virtual void prepare(const HplCase& test, const LuPlan& plan) = 0;
    /// What is timed.
    virtual HplTiming solve() = 0;
    /// Checks the solution and reports the test.
    virtual Result finish(const HplCase& test, const LuPlan& plan, const HplTiming& timing) = 0;
    virtual void skip(const HplGrid& grid, Index tests) = 0;
    virtual void end_report() = 0;

    const HplOptions& options() const { return options_; }
    const HplInput& input() const { return input_; }
    const Settings& settings() const { return settings_; }
    Runtime& runtime() { return runtime_; }
    const Runtime& runtime() const { return runtime_; }
    bool checks() const { return input_.threshold > 0; }

  private:
    bool runs(const HplGrid& grid) const { return options_.ignore_grid || grid.p * grid.q == 1; }
    std::optional<Index> last_case_that_runs() const;
    bool uses_gpus() const;
    double total_flops() const;
    void require_room_for_all() const;
    void tell_unused_panel_threads() const;
    std::ostream& open_output(OutputFiles& files);
    void run_cases(OutputFiles& files);
    void run_case(const HplCase& test, OutputFiles& files, Progress& progress);
    void tell_skipped(const HplGrid& grid, Index cases);

    const HplOptions& options_;
    const HplInput input_;
    const Settings& settings_;
    Runtime runtime_;
    std::optional<ReportStream> report_file_;
    Index done_ = 0;                      // cases run or skipped
    Index ran_ = 0, failed_ = 0;          // of those
    std::optional<Index> last_;           // the last case that runs
    std::unique_ptr<EnergyMeter> meter_;  // only where energy is asked for
};

}  // namespace basalt
