// bench_placement: a graph of tasks that could run on cores and on GPUs of different speed, placed by a policy and by
// hand. Kernels sleep for a set time, so that the figure does not depend on how many cores the machine has.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "basalt/policy.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/placement/mixed_graph.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::Config;
using basalt::Place;
using basalt::Runtime;

struct Options {
    std::vector<std::string> policies{"heft"};
    int tiles = 10;
    int workers = 4;
    std::vector<double> slowness{1, 2};
    std::size_t tile_kib = 128;
    double link_mb_a_second = 1000;
    int warm_up = 2;
    int repeat = 5;
    std::string json;
};

/// A placement by hand.
struct Static {
    std::string name;
    Placement place;
};

/// Deals tiles to the cores and the GPUs in proportion to `shares`, the cores' first.
Placement deal(const std::vector<double>& shares, int tiles) {
    std::vector<Place> dealt;
    std::vector<double> owed(shares.size());
    double all = 0;
    for (const double share : shares) all += share;
    for (int i = 0; i < tiles * tiles; ++i) {
        for (std::size_t p = 0; p < shares.size(); ++p) owed[p] += shares[p] / all;
        const auto most = std::max_element(owed.begin(), owed.end());
        *most -= 1;
        const auto node = static_cast<int>(most - owed.begin());
        dealt.push_back(node == 0 ? Place::cpu() : Place::gpu(node - 1));
    }
    // by columns of the lower triangle, so that each step of the factorization has its share of them
    return [dealt, tiles](const KernelTimes&, int i, int j) { return dealt[static_cast<std::size_t>(j * tiles + i)]; };
}

/// The same, with the panels on cores.
Placement panels_on_cores(Placement others) {
    return [others = std::move(others)](const KernelTimes& kernel, int i, int j) {
        return kernel.core < kernel.gpu ? Place::cpu() : others(kernel, i, j);
    };
}

/// What somebody who knows the machine would try.
std::vector<Static> static_placements(const Options& options) {
    const auto shares = [&](double cores, double even) {
        std::vector<double> all{cores};
        for (const double slowness : options.slowness) all.push_back(even > 0 ? even : 1 / slowness);
        return all;
    };
    const int tiles = options.tiles;
    std::vector<Static> tried{
        {"all on cores", [](const KernelTimes&, int, int) { return Place::cpu(); }},
        {"all on gpu 0", [](const KernelTimes&, int, int) { return Place::gpu(0); }},
        {"panels on cores, gpu 0", panels_on_cores([](const KernelTimes&, int, int) { return Place::gpu(0); })},
        {"GPUs alike", deal(shares(0, 1), tiles)},
        {"GPUs by speed", deal(shares(0, 0), tiles)},
    };
    for (const double cores : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
        tried.push_back({fmt::format("panels on cores, cores {:.1f} of gpu 0", cores),
                         panels_on_cores(deal(shares(cores, 0), tiles))});
    }
    return tried;
}

/// Runs of the graph in one runtime.
class Contest {
  public:
    Contest(const Options& options, const std::string& policy)
        : runtime_(config(options, policy)), graph_(runtime_, options.tiles, options.tile_kib << 10) {}

    /// The median of some runs, from the first submission to the end of all tasks.
    double seconds(const Placement& placement, int warm_up, int repeat) {
        std::vector<double> times;
        for (int run = -warm_up; run < repeat; ++run) {
            graph_.bring_home();
            const double begin = now();
            graph_.submit(placement);
            runtime_.wait();
            if (run >= 0) times.push_back(now() - begin);
        }
        return basalt::median(times);
    }
    int tasks() const { return graph_.tasks(); }

  private:
    static Config config(const Options& options, const std::string& policy) {
        Config config;
        config.workers = options.workers;
        config.bind = false;
        config.gpus = 0;
        config.emulation.gpus = static_cast<int>(options.slowness.size());
        config.emulation.slowness = options.slowness;
        config.emulation.link_bytes_a_second = options.link_mb_a_second * 1e6;
        config.gpu_streams = 1;  // on a GPU that one kernel fills, more would gain nothing; sleeping kernels fill none
        config.policy = policy;
        return config;
    }

    Runtime runtime_;
    MixedGraph graph_;
};

void show(std::FILE* table, const std::string& name, double seconds) {
    fmt::print(table, "{:<34} {:>9.1f} ms\n", name, seconds * 1e3);
    std::fflush(table);
}

int run(const Options& options) {
    RecordFile records(options.json);
    std::FILE* const table = options.json == "-" ? stderr : stdout;
    std::pair<double, std::string> best{1e300, ""};
    int tasks = 0;
    {
        Contest by_hand(options, "gpu");
        tasks = by_hand.tasks();
        for (const Static& tried : static_placements(options)) {
            const double seconds = by_hand.seconds(tried.place, 1, options.repeat);
            show(table, tried.name, seconds);
            best = std::min(best, {seconds, tried.name});
        }
    }
    for (const std::string& policy : options.policies) {
        Contest contest(options, policy);
        const auto anywhere = [](const KernelTimes&, int, int) { return Place::any(); };
        const double seconds = contest.seconds(anywhere, options.warm_up, options.repeat);
        show(table, policy, seconds);
        fmt::print(table, "{:<34} {:>9.2f} x the rate of '{}'\n", "", best.first / seconds, best.second);
        basalt::JsonRecord record;
        record["bench"] = "placement";
        record["policy"] = policy;
        record["tiles"] = options.tiles;
        record["tasks"] = tasks;
        record["workers"] = options.workers;
        record["slowness"] = fmt::format("{}", fmt::join(options.slowness, ","));
        record["milliseconds"] = seconds * 1e3;
        record["ratio"] = best.first / seconds;
        record["vendor"] = "best placement by hand (" + best.second + ")";
        record["vendor_milliseconds"] = best.first * 1e3;
        records.write(record);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Tasks with kernels for cores and GPUs, placed by a policy and by hand", "bench_placement");
    Options options;
    app.add_option("--policy", options.policies,
                   fmt::format("policies to measure: {}", fmt::join(basalt::policy_names(), ", ")))
        .list()
        .one_of(basalt::policy_names());
    app.add_option("--tiles", options.tiles, "tiles of the factorization, along one side").range(1, 40);
    app.add_option("--workers", options.workers, "threads for kernels on cores").range(1, 64);
    app.add_option("--slowness", options.slowness, "of each emulated GPU: how many times as long its kernels take")
        .list();
    app.add_option("--tile-kib", options.tile_kib, "size of a tile in KiB").range(1, 65536);
    app.add_option("--link", options.link_mb_a_second, "MB that a GPU's link copies in a second").range(1.0, 1e6);
    app.add_option("--warm-up", options.warm_up, "runs in which a policy learns").range(0, 100);
    app.add_option("--repeat", options.repeat, "runs; the table shows their median").range(1, 1000);
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    return app.run_program(argc, argv, [&] { return run(options); });
}
