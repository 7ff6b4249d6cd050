// bench_submission: the cost of submitting hybrid LU's task graph. The graph is that of a large matrix with few
// elements, since the cost depends on tasks and accesses alone. A gate task keeps the others from running meanwhile.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::Index;

struct Options {
    Index n = 131072;
    Index nb = 512;
    Index tile = 1024;
    int gpus = 8;
    int repeat = 3;
    std::string json;
};

// One element stands for this many: panels and tiles are narrower by that factor, and their numbers stay the same.
constexpr Index scale = 64;

struct Submission {
    double seconds;
    std::uint64_t tasks;
};

Submission submit_once(const Options& options) {
    basalt::Config config;
    config.workers = 2;
    config.window = basalt::Config::most_window;  // no submission waits for the window
    config.emulation.gpus = options.gpus;
    basalt::Runtime runtime(config);
    const Index tile = options.tile / scale;
    basalt::Matrix<double> a(runtime, options.n / scale, options.n / scale, {tile, tile});
    runtime.wait();
    std::atomic<bool> open{false};
    basalt::AccessList all;
    for (Index j = 0; j < a.tile_cols(); ++j) all.readwrite(a.column(j));
    runtime.submit({.name = "gate", .place = basalt::Place::cpu()}, all, [&open] {
        while (!open.load()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
    basalt::LuOptions lu_options;
    lu_options.mode = basalt::LuMode::hybrid;
    lu_options.panel_width = options.nb / scale;
    const std::uint64_t before = runtime.statistics().tasks;
    const double start = now();
    const auto lu = basalt::lu_factor(runtime, a, lu_options);
    const double seconds = now() - start;
    const std::uint64_t tasks = runtime.statistics().tasks - before;
    runtime.cancel();
    open.store(true);
    try {
        runtime.wait();
    } catch (const basalt::Cancelled&) {  // cancel() was called above
    }
    return {seconds, tasks};
}

int run(const Options& options) {
    RecordFile records(options.json);
    std::vector<double> seconds;
    std::uint64_t tasks = 0;
    for (int round = 0; round <= options.repeat; ++round) {
        const Submission submission = submit_once(options);
        tasks = submission.tasks;
        if (round > 0) seconds.push_back(submission.seconds);
    }
    std::FILE* table = options.json == "-" ? stderr : stdout;
    const double median = basalt::median(seconds);
    fmt::print(table,
               "submission of hybrid LU, n = {}, NB = {}, tiles of {}, {} GPUs: {} tasks in {:.4f} s, {:.2f} us a task "
               "(median of {})\n",
               options.n, options.nb, options.tile, options.gpus, tasks, median,
               median / static_cast<double>(tasks) * 1e6, options.repeat);
    basalt::JsonRecord record;
    record["bench"] = "submission";
    record["n"] = options.n;
    record["nb"] = options.nb;
    record["tile"] = options.tile;
    record["gpus"] = options.gpus;
    record["emulated"] = true;
    record["tasks"] = tasks;
    record["seconds"] = median;
    record["runs"] = seconds;
    records.write(record);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("The cost of submitting hybrid LU's task graph, on emulated GPUs", "bench_submission");
    Options options;
    app.add_option("--n", options.n, "order of the matrix").range(Index{scale}, Index{1} << 24);
    app.add_option("--nb", options.nb, "panel width, a multiple of 64").range(Index{scale}, Index{1} << 16);
    app.add_option("--tile", options.tile, "tile width, a multiple of 64").range(Index{scale}, Index{1} << 16);
    app.add_option("--gpus", options.gpus, "emulated GPUs").range(1, 8);
    app.add_option("--repeat", options.repeat, "rounds that count").range(1, 1000);
    app.add_option("--json", options.json, "append a record to this file; - for standard output");
    return app.run_program(argc, argv, [&] { return run(options); });
}
