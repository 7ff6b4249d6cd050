#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/factor/run_place.hpp"
#include "apps/hpl/mxp.hpp"
#include "apps/hpl/run.hpp"
#include "apps/hpl/system.hpp"
#include "apps/input/gpu_options.hpp"
#include "apps/input/input_files.hpp"
#include "apps/input/setting_options.hpp"
#include "apps/runs/run_record.hpp"
#include "apps/solve/method.hpp"

namespace basalt {

namespace {

HplInput read_input(const std::string& path) {
    std::ifstream in = open_input(path, "a file in the format of HPL.dat");
    try {
        return read_hpl_dat(in, path);
    } catch (const HplDatError& error) {
        throw WrongUse(error.what());
    }
}

/// HPL 2.3's matrix, in its output format.
class HplTests final : public HplRun {
  public:
    using HplRun::HplRun;

  private:
    LuPlan plan_of(Index n, Index nb) const override { return hpl_plan(settings(), options().gpu, runtime(), n, nb); }
    void require_room(Index n, Index nb) const override {
        require_room_for_hpl(settings(), options().gpu, runtime(), n, nb);
    }
    void begin_report(std::ostream& out) override { report_.emplace(out, input()).header(); }
    void prepare(const HplCase& test, const LuPlan& plan) override {
        system_.reset();  // two may not fit
        system_.emplace(runtime(), test.n, plan);
    }
    HplTiming solve() override { return system_->solve(); }
    Result finish(const HplCase& test, const LuPlan& plan, const HplTiming& timing) override;
    void skip(const HplGrid& grid, Index tests) override { report_->skipped_grid(grid, tests); }
    void end_report() override { report_->summary(); }

    std::optional<HplCheck> checked();

    std::optional<HplReport> report_;
    std::optional<HplSystem> system_;
};

std::optional<HplCheck> HplTests::checked() {
    if (!checks()) return std::nullopt;
    HplCheck check = system_->check();
    if (!(check.scaled_residual < input().threshold)) check.a_one = system_->a_one();  // printed for failed tests only
    return check;
}

auto HplTests::finish(const HplCase& test, const LuPlan& plan, const HplTiming& timing) -> Result {
    const auto check = checked();
    FactorRecord record = run_record(plan, plan.panel_width, runtime());
    record.routine = "hpl";
    record.m = record.n = test.n;
    record.nb = test.nb;
    record.runs = {timing.seconds};
    record.flops = hpl_flops(test.n);
    std::optional<bool> passed;
    if (check) {
        report_->checked_result(test, timing, *check);
        record.residual_ratio = check->scaled_residual;
        record.passed = passed = check->scaled_residual < input().threshold;
    } else {
        report_->unchecked_result(test, timing);
    }
    JsonRecord json = to_json(record);
    add_places(json, plan, system_->panel_places());
    system_.reset();
    return {json, passed};
}

int hpl(const HplOptions& options, const Settings& settings) {
    const HplInput input = read_input(options.file);
    if (!options.mxp && options.factor_precision != "auto")
        throw WrongUse("--factor-precision without --mxp; allowed: with it");
    if (options.mxp) return run_mxp(options, input, settings);
    return HplTests(options, input, settings).run();
}

}  // namespace

void add_hpl(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand("hpl", "run the HPL benchmark that an HPL.dat describes, on HPL's matrix");
    const auto options = std::make_shared<HplOptions>();
    command->add_option("FILE", options->file, "input in HPL 2.3's format (default: HPL.dat)");
    command->add_flag("--ignore-grid", options->ignore_grid, "run grids of several processes as one process");
    command->add_flag("--mxp", options->mxp,
                      "HPL-MxP in place of HPL: its matrix, factored in low precision and refined; of FILE, the output "
                      "device, N, NB, "
                      "P, Q and the threshold count");
    command
        ->add_option_function<std::string>(
            "--factor-precision",
            [options](const std::string& text) {
                options->factor_precision = parse_choice("--factor-precision", text, factor_precision_names());
            },
            "with --mxp: s, and on GPUs fp16x2, tf32, bf16 or fp16; default: fp16, on cores s")
        ->type_name("VALUE");
    add_setting_options(*command, settings, factor_settings());
    add_gpu_options(*command, options->gpu);
    add_energy_option(*command, options->gpu);
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return hpl(*options, settings); }; });
}

}  // namespace basalt
