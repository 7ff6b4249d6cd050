#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "apps/commands.hpp"
#include "apps/exit_status.hpp"
#include "apps/input/arguments.hpp"
#include "apps/input/setting_options.hpp"
#include "apps/runs/interrupt.hpp"
#include "apps/runs/output_files.hpp"
#include "apps/runs/progress.hpp"
#include "apps/tune/tune_options.hpp"
#include "basalt/tuning.hpp"
#include "io/files/atomic_file.hpp"
#include "tuner/nvrtc/compiler.hpp"
#include "tuner/winners.hpp"

namespace basalt {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int largest_tuned_order = 512, largest_tuned_cholesky = 256;

/// A line that is drawn again and again on a terminal, about ten times a second, and erased at the end.
class CountsOnTerminal {
  public:
    ~CountsOnTerminal() {
        if (drawn_) std::cerr << "\r\033[K" << std::flush;
    }
    void show(const tuner::Problem& problem, const tuner::SweepCounts& counts) {
        if (!wanted_ || Clock::now() < next_) return;
        next_ = Clock::now() + std::chrono::milliseconds(100);
        drawn_ = true;
        const std::chrono::duration<double> passed = Clock::now() - start_;
        std::cerr << fmt::format("\r{}: {} of {} kernels, {:.0f} s\033[K", name_of(problem), counts.done(),
                                 counts.generated - counts.pruned, passed.count())
                  << std::flush;
    }

  private:
    const bool wanted_ = Progress::wanted();
    const Clock::time_point start_ = Clock::now();
    Clock::time_point next_ = start_ + std::chrono::seconds(2);
    bool drawn_ = false;
};

int compiler_threads(const Settings& settings) {
    const auto asked = static_cast<int>(settings.integer("BASALT_WORKERS"));
    return asked > 0 ? asked : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

tuner::SweepOptions sweep_options(const TuneOptions& options, const Settings& settings, CountsOnTerminal& terminal) {
    tuner::SweepOptions sweep;
    sweep.problems = options.problems();
    sweep.arithmetic = options.arithmetic;
    sweep.compiler_threads = compiler_threads(settings);
    sweep.progress = [&terminal](const tuner::Problem& problem, const tuner::SweepCounts& counts) {
        terminal.show(problem, counts);
    };
    const auto end = options.budget ? Clock::now() + std::chrono::seconds(*options.budget) : Clock::time_point::max();
    sweep.goes_on = [end] { return Clock::now() < end && !Interrupt::requested(); };
    return sweep;
}

std::unique_ptr<tuner::Compiler> require_compiler() {
    try {
        return tuner::make_nvrtc_compiler();
    } catch (const tuner::NvrtcMissing& missing) {
        throw MachineFailure(fmt::format("tune: {}", missing.what()));
    }
}

int dry_run(const TuneOptions& options, const Settings& settings) {
    OutputFiles files(settings);
    const std::optional<tuner::GpuLimits> limits = tuner::limits_of(options.architecture);
    const std::unique_ptr<tuner::Compiler> compiler = options.compile ? require_compiler() : nullptr;
    CountsOnTerminal terminal;
    const Interrupt interrupt([] {});
    const tuner::SweepOptions all = sweep_options(options, settings, terminal);
    tuner::SweepCounts total;
    for (const tuner::Problem& problem : all.problems) {
        tuner::SweepOptions one = all;
        one.problems = {problem};
        const tuner::SweepCounts counts = tuner::sweep_without_gpu(limits.value(), compiler.get(), one);
        if (Interrupt::requested()) throw Interrupted("tune: stopped", Interrupt::status());
        std::string line =
            fmt::format("{:<24} generated {:>5}  pruned {:>5}", name_of(problem), counts.generated, counts.pruned);
        JsonRecord json;
        json["tune"] = name_of(problem);
        json["generated"] = counts.generated;
        json["pruned"] = counts.pruned;
        if (options.compile) {
            line += fmt::format("  compiled {:>5}  not compiled {}  spilled {}", counts.compiled, counts.not_compiled,
                                counts.spilled);
            json["compiled"] = counts.compiled;
            json["not_compiled"] = counts.not_compiled;
            json["spilled"] = counts.spilled;
        }
        files.human() << line << '\n' << std::flush;
        files.record(json);
        total.generated += counts.generated;
        total.pruned += counts.pruned;
    }
    files.human() << fmt::format("{} problems: generated {}, pruned {}, left {}\n", all.problems.size(),
                                 total.generated, total.pruned, total.generated - total.pruned);
    files.require_written();
    return exit_done;
}

/// Prints the winners of a journal, and writes the tuning file if that was asked for.
void conclude(const std::string& path, const TuneOptions& options, const Settings& settings, OutputFiles& files) {
    const tuner::JournalContents journal = tuner::read_journal(path);
    report_winners(journal, files);
    if (!options.out) return;
    const auto tuning = settings.runtime_config().tuning;
    GpuTuning entry = (tuning ? *tuning : TuningTables::built_in()).for_gpu(journal.head.architecture);
    entry.architecture = journal.head.architecture;
    tuner::set_widths(tuner::winners(journal), entry);
    try {
        write_file_atomically(*options.out, tuner::width_file(entry));
    } catch (const std::runtime_error& error) {
        throw MachineFailure(fmt::format("--out {}: {}", *options.out, error.what()));
    }
    files.human() << fmt::format("widths of panels on {}: {}; --tuning or BASALT_TUNING reads it\n",
                                 journal.head.architecture, *options.out);
}

int run_sweep(const TuneOptions& options, const Settings& settings) {
    OutputFiles files(settings);
    const std::unique_ptr<tuner::Compiler> compiler = require_compiler();
    std::unique_ptr<tuner::TunedGpu> gpu;
    try {
        gpu = tuner::open_cuda_gpu(options.matrices);
    } catch (const tuner::GpuMissing& missing) {
        throw MachineFailure(fmt::format("tune: {}; --dry-run counts kernels without a GPU", missing.what()));
    }
    tuner::Journal journal(options.journal, {gpu->name(), gpu->limits().architecture, options.matrices});
    files.human() << fmt::format("{}, journal {}, {} kernels in it\n", gpu->name(), options.journal,
                                 journal.before().findings.size())
                  << std::flush;
    tuner::SweepCounts counts;
    const Interrupt interrupt([] {});
    try {
        CountsOnTerminal terminal;
        counts = tuner::sweep(*gpu, *compiler, journal, sweep_options(options, settings, terminal));
    } catch (const tuner::GpuLost& lost) {
        throw MachineFailure(
            fmt::format("tune: {}; the journal has the kernel that caused it, the same command goes on "
                        "behind it",
                        lost.what()));
    }
    files.human() << counts_line(counts);
    if (Interrupt::requested()) {
        throw Interrupted(fmt::format("tune: {} kernels are left, the same command goes on", counts.remaining()),
                          Interrupt::status());
    }
    conclude(options.journal, options, settings, files);
    if (counts.remaining() > 0) {
        files.human() << fmt::format("the budget is used up: {} kernels are left, the same command goes on\n",
                                     counts.remaining());
    }
    files.require_written();
    return exit_done;
}

int tune(const TuneOptions& options, const Settings& settings) {
    if (options.compile && !options.dry_run) throw WrongUse("--compile: only with --dry-run");
    if (options.winners) {
        OutputFiles files(settings);
        files.add_input("--winners", *options.winners);
        conclude(*options.winners, options, settings, files);
        files.require_written();
        return exit_done;
    }
    return options.dry_run ? dry_run(options, settings) : run_sweep(options, settings);
}

std::vector<int> parse_orders(const std::string& text) {
    std::vector<int> orders;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        orders.push_back(static_cast<int>(
            parse_integer("--n", text.substr(begin, end - begin), 1, largest_tuned_order, ", separated by commas")));
        begin = end + 1;
    }
    return orders;
}

void add_tune_options(CLI::App& command, TuneOptions& options) {
    const auto value = [&command](const std::string& name, const std::string& meaning, const auto& parse) {
        command.add_option_function<std::string>(name, parse, meaning)->type_name("VALUE");
    };
    value("--routine", "cholesky, lu or qr (default: all)", [&options](const std::string& text) {
        options.routines = {*tuner::routine_named(parse_choice("--routine", text, {"cholesky", "lu", "qr"}))};
    });
    value("--precision", "s (single) or d (double) (default: both)", [&options](const std::string& text) {
        const bool single = parse_choice("--precision", text, {"s", "d"}) == "s";
        options.precisions = {single ? tuner::Precision::single : tuner::Precision::twice};
    });
    value("--n", "orders, separated by commas (default: 8,16,24,32,48,64,96,128,192,256)",
          [&options](const std::string& text) { options.orders = parse_orders(text); });
    value("--count", "matrices that times are for (default: 10000)",
          [&options](const std::string& text) { options.matrices = parse_integer("--count", text, 1, 100'000'000); });
    value("--budget", "seconds after which no other kernel is tried",
          [&options](const std::string& text) { options.budget = parse_integer("--budget", text, 1, 100'000'000); });
    command.add_flag_callback(
        "--relaxed", [&options] { options.arithmetic = tuner::ArithmeticSpace::relaxed; },
        "also kernels in single precision with approximate roots, quotients, and without denormal numbers");
    command.add_option("--journal", options.journal, "file that gets what is found, and is gone on with")
        ->type_name("FILE")
        ->capture_default_str();
    command.add_option("--out", options.out, "tuning file for the widths of panels")->type_name("FILE");
    command.add_option("--winners", options.winners, "report on a journal, without a GPU")->type_name("FILE");
    command.add_flag("--dry-run", options.dry_run, "count kernels, without a GPU");
    command.add_flag("--compile", options.compile, "with --dry-run: compile them, too");
    value("--architecture", "of a dry run (default: sm_90)", [&options](const std::string& text) {
        options.architecture =
            parse_choice("--architecture", text, {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"});
    });
}

}  // namespace

std::vector<tuner::Problem> TuneOptions::problems() const {
    std::vector<tuner::Problem> all;
    for (const int n : orders) {
        for (const tuner::Routine routine : routines) {
            if (routine == tuner::Routine::cholesky && n > largest_tuned_cholesky) continue;
            for (const tuner::Precision precision : precisions) {
                for (const auto job :
                     {tuner::BatchJob::factor, tuner::BatchJob::solve, tuner::BatchJob::factor_solve}) {
                    const tuner::Problem problem{routine, job, precision, n};
                    if (has_kernels(problem)) all.push_back(problem);
                }
            }
        }
    }
    return all;
}

void add_tune(CLI::App& program, Settings& settings, Command& chosen) {
    auto* command = program.add_subcommand(
        "tune", "search for the fastest kernels of batched factorizations on this machine's GPU");
    const auto options = std::make_shared<TuneOptions>();
    add_tune_options(*command, *options);
    add_setting_options(*command, settings, {"BASALT_WORKERS", "BASALT_JSON"});
    command->callback(
        [options, &settings, &chosen] { chosen = [options, &settings] { return tune(*options, settings); }; });
}

}  // namespace basalt
