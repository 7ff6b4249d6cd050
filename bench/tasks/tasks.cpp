// bench_tasks: the cost of a task in our runtime, OpenMP's depend tasks, oneTBB and a bare loop, in turn.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/tasks/peak_memory.hpp"
#include "bench/tasks/task_streams.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;

const std::vector<std::string> all_cases{"independent", "chain",   "cholesky", "wavefront",
                                         "accesses",    "sharing", "scaling"};
const std::vector<std::string> streams{"independent", "chain", "cholesky"};
const std::vector<std::size_t> numbers_of_accesses{1, 2, 3, 4, 5, 6, 8, 12, most_accesses};
const std::vector<std::string> all_systems{"basalt", "replay", "replay-other", "openmp", "onetbb", "bare"};

struct Options {
    std::vector<std::string> cases = all_cases;
    std::vector<std::string> systems = all_systems;
    std::vector<int> workers{1, 2};
    int repeat = 5;
    std::int64_t tasks = 1'000'000;
    std::int64_t tiles = 64;
    std::int64_t largest = 10'000'000;
    std::string json;
    bool print_memory = false;

    bool wants(const std::string& system) const {
        return std::find(systems.begin(), systems.end(), system) != systems.end();
    }
};

Stream stream_of(const std::string& name, const Options& options) {
    return name == "cholesky" ? Stream::cholesky(options.tiles) : Stream::of_size(name, options.tasks);
}

std::vector<std::int64_t> scaling_sizes(const Options& options) {
    std::vector<std::int64_t> sizes;
    for (auto tasks = std::min<std::int64_t>(10'000, options.largest); tasks <= options.largest; tasks *= 10) {
        sizes.push_back(tasks);
    }
    return sizes;
}

std::unique_ptr<TaskSystem> make_system(const std::string& name, int workers) {
    if (name == "openmp") return make_openmp_system(workers);
    if (name == "onetbb") return make_onetbb_system(workers);
    if (name == "replay") return make_replay_system(workers, ReplayData::same);
    if (name == "replay-other") return make_replay_system(workers, ReplayData::other);
    if (name == "bare") return make_bare_loop();
    return make_basalt_system(workers);
}

/// One line of the table: a stream, the system that runs it, and its times so far.
struct Line {
    std::string stream;
    std::string system;
    int workers;
    Stream tasks;
    std::vector<double> ns_per_task = {};
    std::vector<double> cpu_ns_per_task = {};
    std::optional<double> peak_mb = {};

    /// The same with that many tasks.
    Stream shorter(std::int64_t count) const {
        switch (tasks.kind) {
            case Stream::Kind::accesses: return Stream::with_accesses(tasks.accesses, count);
            case Stream::Kind::sharing: return Stream::sharing(tasks.update, count);
            default: return Stream::of_size(stream, count);
        }
    }
    double median_ns() const { return basalt::median(ns_per_task); }
    double cpu_ns() const { return basalt::median(cpu_ns_per_task); }
    double best_ns() const { return *std::min_element(ns_per_task.begin(), ns_per_task.end()); }
};

/// Times the line once more, with a system of its own whose threads are warm. (oneTBB limits threads for the whole
/// process, so that systems with different numbers of threads cannot exist at the same time.) Short streams run several
/// times: waking one sleeping thread would count as much as all their tasks.
void measure_once(Line& line) {
    constexpr std::int64_t least_tasks = 200'000;
    const std::unique_ptr<TaskSystem> system = make_system(line.system, line.workers);
    constexpr std::int64_t warming_tasks = 50'000;
    const std::int64_t first_tasks = std::min(line.tasks.tasks, warming_tasks);
    system->run(line.shorter(first_tasks));
    let_others_rest(std::chrono::milliseconds(20));
    const std::int64_t runs = std::max<std::int64_t>(1, least_tasks / line.tasks.tasks);
    std::vector<double> wall, cpu;
    for (std::int64_t i = 0; i < runs; ++i) {
        const Times times = system->run(line.tasks);
        wall.push_back(times.wall);
        cpu.push_back(times.cpu);
    }
    const double scale = 1e9 / static_cast<double>(line.tasks.tasks);
    line.ns_per_task.push_back(basalt::median(wall) * scale);
    line.cpu_ns_per_task.push_back(basalt::median(cpu) * scale);
}

/// Times the lines `repeat` times, alternating.
void measure(std::vector<Line>& lines, int repeat) {
    for (int round = 0; round < repeat; ++round) {
        for (Line& line : lines) measure_once(line);
    }
}

/// Growth of the resident set in MB while this process makes the line's system and runs its stream. A process of its
/// own prints it for number_from_self().
double own_peak_mb(const Options& options) {
    const double before = status_bytes("VmRSS");
    make_system(options.systems[0], options.workers[0])->run(stream_of(options.cases[0], options));
    return (status_bytes("VmHWM") - before) * 1e-6;
}

std::optional<double> peak_mb(const Line& line, const Options& options) {
    return number_from_self({"--print-memory", "--case", line.stream, "--system", line.system, "--workers",
                             std::to_string(line.workers), "--tasks", std::to_string(options.tasks), "--tiles",
                             std::to_string(options.tiles)});
}

class Report {
  public:
    explicit Report(const std::string& json) : table_(json == "-" ? stderr : stdout), records_(json) {}

    template <class... Args>
    void print(fmt::format_string<Args...> text, Args&&... args) {
        fmt::print(table_, text, std::forward<Args>(args)...);
        std::fflush(table_);
    }

    /// `ratios`: of figures of the same run, by name.
    void record(const std::string& name, const Line& line,
                const std::vector<std::pair<std::string, double>>& ratios = {}) {
        basalt::JsonRecord record;
        record["bench"] = "tasks";
        record["case"] = name;
        if (name != line.stream) record["stream"] = line.stream;
        if (line.tasks.accesses > 0) record["accesses"] = line.tasks.accesses;
        record["system"] = line.system;
        record["workers"] = line.workers;
        record["tasks"] = line.tasks.tasks;
        record["ns_per_task"] = line.median_ns();
        record["cpu_ns_per_task"] = line.cpu_ns();
        record["peak_mb"] = line.peak_mb ? basalt::JsonRecord(*line.peak_mb) : basalt::JsonRecord();
        for (const auto& [ratio, value] : ratios) record[ratio] = value;
        records_.write(record);
    }
    /// What one access more costs a task.
    void record_slope(const char* figure, int workers, std::int64_t tasks, double ns) {
        basalt::JsonRecord record;
        record["bench"] = "tasks";
        record["case"] = "access-cost";
        record["figure"] = figure;
        record["system"] = "basalt";
        record["workers"] = workers;
        record["tasks"] = tasks;
        record["ns_per_access"] = ns;
        records_.write(record);
    }

  private:
    std::FILE* table_;
    RecordFile records_;
};

/// The line's time over those of the other libraries in the same run, with as many workers.
std::vector<std::pair<std::string, double>> ratios_to_others(const Line& line, const std::vector<Line>& lines) {
    std::vector<std::pair<std::string, double>> ratios;
    for (const Line& other : lines) {
        const bool library = other.system == "openmp" || other.system == "onetbb";
        if (!library || other.system == line.system || other.workers != line.workers) continue;
        ratios.emplace_back("times_" + other.system, line.median_ns() / other.median_ns());
    }
    return ratios;
}

/// One stream, every system and number of workers.
void compare(const std::string& stream, const Options& options, Report& report) {
    std::vector<Line> lines;
    for (const std::string& system : options.systems) {
        for (const int workers : options.workers) {
            if (system == "bare" && workers != options.workers[0]) continue;  // it has no threads
            lines.push_back({stream, system, system == "bare" ? 1 : workers, stream_of(stream, options)});
        }
    }
    measure(lines, options.repeat);
    report.print("\n{}, {} tasks\n{:<12} {:>7} {:>9} {:>9} {:>9} {:>9}\n", stream, lines[0].tasks.tasks, "system",
                 "workers", "ns/task", "best", "cpu ns", "peak MB");
    for (Line& line : lines) {
        line.peak_mb = peak_mb(line, options);
        report.print("{:<12} {:>7} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}\n", line.system, line.workers, line.median_ns(),
                     line.best_ns(), line.cpu_ns(), line.peak_mb.value_or(0));
        report.record(stream, line, ratios_to_others(line, lines));
    }
}

/// Prints a row of the scaling table, and by how much the costliest size exceeds the cheapest.
void print_costs(const std::string& stream, int workers, const char* kind, const std::vector<double>& costs,
                 Report& report) {
    report.print("{:<12} {:>7} {:<4}", stream, workers, kind);
    for (const double cost : costs) report.print(" {:>9.1f}", cost);
    const auto [least, most] = std::minmax_element(costs.begin(), costs.end());
    report.print(" {:>8.0f} %\n", (*most / *least - 1) * 100);
}

/// Ours from 10^4 tasks up: the cost of a task must not depend on the number of tasks before it.
void scale(const std::string& stream, int workers, const Options& options, Report& report) {
    std::vector<Line> lines;
    for (const std::int64_t tasks : scaling_sizes(options)) {
        lines.push_back({stream, "basalt", workers, Stream::of_size(stream, tasks)});
    }
    measure(lines, options.repeat);
    std::vector<double> wall, cpu;
    for (const Line& line : lines) {
        wall.push_back(line.median_ns());
        cpu.push_back(line.cpu_ns());
        report.record("scaling", line);
    }
    print_costs(stream, workers, "wall", wall, report);
    print_costs(stream, workers, "cpu", cpu, report);
}

void scale_all(const Options& options, Report& report) {
    report.print("\nscaling of basalt, ns/task by number of tasks\n{:<12} {:>7} {:<4}", "stream", "workers", "time");
    for (const std::int64_t tasks : scaling_sizes(options)) report.print(" {:>9}", tasks);
    report.print(" {:>10}\n", "spread");
    for (const std::string& stream : streams) {
        for (const int workers : options.workers) scale(stream, workers, options, report);
    }
}

/// The cost of one access more: on average (least squares), and in the steepest step between two numbers of accesses.
void report_access_cost(const std::vector<Line>& lines, int workers, Report& report) {
    std::vector<std::pair<double, double>> points;  // accesses, ns a task
    for (const Line& line : lines) {
        if (line.workers == workers) points.emplace_back(line.tasks.accesses, line.median_ns());
    }
    double x = 0, y = 0, steepest = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        x += points[i].first / static_cast<double>(points.size());
        y += points[i].second / static_cast<double>(points.size());
        if (i == 0) continue;
        const double step = points[i].first - points[i - 1].first;
        steepest = std::max(steepest, (points[i].second - points[i - 1].second) / step);
    }
    double both = 0, squares = 0;
    for (const auto& [accesses, ns] : points) {
        both += (accesses - x) * (ns - y);
        squares += (accesses - x) * (accesses - x);
    }
    report.print("one access more, {} workers: {:.1f} ns, {:.1f} in the steepest step\n", workers, both / squares,
                 steepest);
    report.record_slope("average", workers, lines.front().tasks.tasks, both / squares);
    report.record_slope("steepest", workers, lines.front().tasks.tasks, steepest);
}

/// Ours by the number of data that a task reads and writes: no step in its cost.
void compare_accesses(const Options& options, Report& report) {
    std::vector<Line> lines;
    for (const int workers : options.workers) {
        for (const std::size_t accesses : numbers_of_accesses) {
            lines.push_back({"accesses", "basalt", workers, Stream::with_accesses(accesses, options.tasks)});
        }
    }
    measure(lines, options.repeat);
    report.print("\nbasalt by number of accesses, {} tasks in {} chains\n{:>8} {:>7} {:>9} {:>9} {:>9}\n",
                 options.tasks, Stream::chains, "accesses", "workers", "ns/task", "best", "cpu ns");
    for (const Line& line : lines) {
        report.print("{:>8} {:>7} {:>9.1f} {:>9.1f} {:>9.1f}\n", line.tasks.accesses, line.workers, line.median_ns(),
                     line.best_ns(), line.cpu_ns());
        report.record("accesses", line);
    }
    for (const int workers : options.workers) report_access_cost(lines, workers, report);
}

/// Ours by the access with which tasks update one datum.
void compare_updates(const Options& options, Report& report) {
    const std::vector<std::pair<std::string, Stream::Update>> updates{{"readwrite", Stream::Update::readwrite},
                                                                      {"commute", Stream::Update::commute},
                                                                      {"reduce", Stream::Update::reduce}};
    std::vector<Line> lines;
    for (const int workers : options.workers) {
        for (const auto& [name, update] : updates) {
            lines.push_back({name, "basalt", workers, Stream::sharing(update, options.tasks)});
        }
    }
    measure(lines, options.repeat);
    report.print("\nbasalt, {} tasks that update one datum\n{:<9} {:>7} {:>9} {:>9} {:>9}\n", options.tasks, "access",
                 "workers", "ns/task", "best", "cpu ns");
    for (const Line& line : lines) {
        report.print("{:<9} {:>7} {:>9.1f} {:>9.1f} {:>9.1f}\n", line.stream, line.workers, line.median_ns(),
                     line.best_ns(), line.cpu_ns());
        const auto readwrite = std::find_if(lines.begin(), lines.end(), [&](const Line& other) {
            return other.workers == line.workers && other.stream == "readwrite";
        });
        report.record("sharing", line, {{"times_readwrite", line.median_ns() / readwrite->median_ns()}});
    }
}

void add_options(const Command& app, Options& options) {
    constexpr std::int64_t least = 1, most = 10'000'000;
    app.add_option("--case", options.cases,
                   "what to run: independent, chain, cholesky, wavefront; of basalt: accesses, sharing, scaling")
        .list()
        .one_of(all_cases);
    app.add_option("--system", options.systems,
                   "who runs it: basalt, replay (a recording), replay-other (on other data each time), openmp, onetbb, "
                   "bare (loop, "
                   "hash table)")
        .list()
        .one_of(all_systems);
    app.add_option("--workers", options.workers, "threads that insert or run tasks").list().range(1, 1024);
    app.add_option("--repeat", options.repeat, "rounds; the table shows their median").range(1, 1000);
    app.add_option("--tasks", options.tasks, "tasks of independent, chain, wavefront, accesses and sharing")
        .range(least, most);
    app.add_option("--tiles", options.tiles, "tiles a side in cholesky").range(1, 390);
    app.add_option("--largest", options.largest, "most tasks in scaling").range(least, most);
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    app.add_flag("--print-memory", options.print_memory).hidden();  // one case, a process: see own_peak_mb()
}

int run(const Options& options) {
    if (options.print_memory) {
        fmt::print("{}\n", own_peak_mb(options));
        return 0;
    }
    Report report(options.json);
    report.print("cost of an empty task, one thread inserts; median of {} rounds in turn\n", options.repeat);
    for (const std::string& name : options.cases) {
        const bool ours_alone = name == "scaling" || name == "accesses" || name == "sharing";
        if (!ours_alone) compare(name, options, report);
        if (!ours_alone || !options.wants("basalt")) continue;
        if (name == "scaling") scale_all(options, report);
        if (name == "accesses") compare_accesses(options, report);
        if (name == "sharing") compare_updates(options, report);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("The cost of a task: ours, OpenMP, oneTBB and a bare loop", "bench_tasks");
    Options options;
    add_options(app, options);
    return app.run_program(argc, argv, [&] { return run(options); });
}
