// bench_task_bench: Task Bench's patterns and metric. The smallest tasks with which our runtime, OpenMP, oneTBB and
// Taskflow still reach half of the best rate, in turn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/topology.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/task_bench/kernel.hpp"
#include "bench/task_bench/metg.hpp"
#include "bench/task_bench/sweep.hpp"
#include "bench/task_bench/task_grid.hpp"
#include "bench/task_bench/task_systems.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;

struct Options {
    std::vector<std::string> patterns = pattern_names();
    std::vector<std::string> systems = grid_system_names();
    std::vector<int> widths{8};
    std::vector<std::int64_t> iterations;
    std::optional<double> task_us;
    int steps = 1000;
    int workers = basalt::detail::usable_cores();
    int repeat = 5;
    bool check = false;
    std::string json;

    int workers_of(const std::string& system) const { return system == "serial" ? 1 : workers; }
    /// The METG is what is looked for, and not the efficiency with tasks of given sizes.
    bool sweeps() const { return iterations.empty() && !task_us; }
};

/// Iterations of a task's kernel that take that long on one thread.
std::int64_t iterations_of(double us) {
    constexpr std::int64_t many = 1'000'000;
    std::vector<double> seconds;
    for (int i = 0; i < 5; ++i) {
        const Stopwatch watch;
        multiply_add(many);
        seconds.push_back(watch.elapsed().wall);
    }
    return std::max<std::int64_t>(1, std::llround(us * 1e-6 / basalt::median(seconds) * many));
}

/// From tasks of about 50 us, which every system runs at nearly the best rate, to tasks of a few nanoseconds.
std::vector<std::int64_t> sweep_sizes() {
    std::vector<std::int64_t> sizes;
    for (std::int64_t iterations = 32768; iterations >= 1; iterations /= 2) sizes.push_back(iterations);
    return sizes;
}

class TaskBenchReport {
  public:
    explicit TaskBenchReport(const Options& options)
        : options_(options), table_(options.json == "-" ? stderr : stdout), records_(options.json) {}

    template <class... Args>
    void print(fmt::format_string<Args...> text, Args&&... args) {
        fmt::print(table_, text, std::forward<Args>(args)...);
        std::fflush(table_);
    }

    void head(int width) {
        print("\nMETG(50 %) in us: width {}, {} steps, {} threads, medians of {} rounds in turn\n{:<14}", width,
              options_.steps, options_.workers, options_.repeat, "pattern");
        for (const std::string& system : options_.systems) print(" {:>{}}", system, width_of(system));
        print("\n");
    }
    void metg(const std::string& pattern, const std::vector<GridCurve>& curves) {
        print("{:<14}", pattern);
        for (const GridCurve& curve : curves) {
            print(" {:>{}}", curve.metg_ns ? fmt::format("{:.3f}", *curve.metg_ns * 1e-3) : "-",
                  width_of(curve.system));
        }
        print("\n");
    }
    void points(const std::string& pattern, int width, const std::vector<GridCurve>& curves) {
        for (const GridCurve& curve : curves) {
            for (const GridPoint& point : curve.points) {
                print("{:<14} {:>5} {:<16} {:>10} {:>11.3f} {:>10.1f} %\n", pattern, width, curve.system,
                      point.iterations, point.granularity_ns * 1e-3, point.efficiency * 100);
            }
        }
    }

    void record(const std::string& pattern, const TaskGrid& grid, const GridCurve& curve) {
        basalt::JsonRecord record;
        record["bench"] = "task_bench";
        record["pattern"] = pattern;
        record["width"] = grid.width();
        record["steps"] = grid.steps();
        record["tasks"] = grid.tasks().size();
        record["inputs"] = grid.inputs();
        record["system"] = curve.system;
        record["workers"] = curve.workers;
        record["rounds"] = options_.repeat;
        if (options_.task_us) {
            record["task_us"] = *options_.task_us;
            record["efficiency"] = curve.points.back().efficiency;
        }
        if (options_.sweeps()) {
            record["metg_ns"] = curve.metg_ns ? basalt::JsonRecord(*curve.metg_ns) : basalt::JsonRecord();
        }
        for (const GridPoint& point : curve.points) {
            record["points"].push_back({{"iterations", point.iterations},
                                        {"granularity_ns", point.granularity_ns},
                                        {"efficiency", point.efficiency}});
        }
        records_.write(record);
    }

  private:
    static std::size_t width_of(const std::string& system) { return std::max<std::size_t>(9, system.size()); }

    const Options& options_;
    std::FILE* table_;
    RecordFile records_;
};

std::vector<GridCurve> measure(const TaskGrid& grid, const Options& options) {
    std::vector<GridCurve> curves;
    for (const std::string& system : options.systems) curves.push_back({system, options.workers_of(system)});
    Sweep sweep{sweep_sizes(), options.repeat};
    if (!options.sweeps()) {
        // the best rate is that of large tasks
        sweep.sizes =
            options.task_us ? std::vector{sweep.sizes.front(), iterations_of(*options.task_us)} : options.iterations;
        std::sort(sweep.sizes.rbegin(), sweep.sizes.rend());
        sweep.ends_below_threshold = false;
    }
    measure_curves(grid, sweep, curves);
    return curves;
}

int compare(const Options& options) {
    TaskBenchReport report(options);
    const bool sweep = options.sweeps();
    if (!sweep) {
        report.print("{:<14} {:>5} {:<16} {:>10} {:>11} {:>12}\n", "pattern", "width", "system", "iterations",
                     "us a task", "efficiency");
    }
    for (const int width : options.widths) {
        if (sweep) report.head(width);
        for (const std::string& pattern : options.patterns) {
            const TaskGrid grid(pattern_of(pattern), width, options.steps);
            const std::vector<GridCurve> curves = measure(grid, options);
            if (sweep) {
                report.metg(pattern, curves);
            } else {
                report.points(pattern, width, curves);
            }
            for (const GridCurve& curve : curves) report.record(pattern, grid, curve);
        }
    }
    return 0;
}

/// Every system runs every grid once, with tasks of different lengths; 1 where one ran too often, too early or never.
int check(const Options& options) {
    constexpr std::int64_t longest = 2000;
    bool passed = true;
    for (const int width : options.widths) {
        for (const std::string& pattern : options.patterns) {
            const TaskGrid grid(pattern_of(pattern), width, options.steps);
            for (const std::string& system : options.systems) {
                const Work work(grid, longest, Work::Load::uneven);
                make_grid_system(system, options.workers_of(system))->run(work);
                const bool right = work.wrong() == 0 && work.ran() == static_cast<std::int64_t>(grid.tasks().size());
                fmt::print("{} width {} {}: {} of {} tasks ran, {} of {} inputs are wrong: {}\n", pattern, width,
                           system, work.ran(), grid.tasks().size(), work.wrong(), grid.inputs(),
                           right ? "passed" : "FAILED");
                passed = passed && right;
            }
        }
    }
    return passed ? 0 : 1;
}

void add_options(const Command& app, Options& options) {
    app.add_option("--pattern", options.patterns, "which tasks of the step before a task reads")
        .list()
        .one_of(pattern_names());
    app.add_option("--system", options.systems,
                   "who runs the tasks; basalt_readwrite: outputs are read and written, "
                   "which excludes renaming; basalt_after: tasks name those they follow; basalt_replay: a recording; "
                   "onetbb_reused: a flow graph that is built once; "
                   "serial: one thread, no tasks")
        .list()
        .one_of(grid_system_names());
    app.add_option("--width", options.widths, "tasks a step").list().range(1, 64);
    app.add_option("--steps", options.steps, "steps; each reads the outputs of the previous step").range(2, 10'000);
    const CommandOption iterations = app.add_option("--iterations", options.iterations,
                                                    "of each task's kernel; without: a sweep that finds the METG")
                                         .list()
                                         .range(std::int64_t{1}, std::int64_t{100'000'000});
    app.add_option("--task-us", options.task_us, "efficiency with tasks of that many microseconds; no sweep")
        .range(0.01, 40.0)
        .excludes(iterations);
    app.add_option("--workers", options.workers, "threads that run tasks").range(1, 1024);
    app.add_option("--repeat", options.repeat, "rounds; figures are their medians").range(1, 1000);
    app.add_flag("--check", options.check, "measures nothing: every system runs every pattern once, with uneven tasks")
        .excludes(iterations);
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Task Bench: the smallest tasks with which half of the best rate is reached", "bench_task_bench");
    Options options;
    add_options(app, options);
    return app.run_program(argc, argv, [&] { return options.check ? check(options) : compare(options); });
}
