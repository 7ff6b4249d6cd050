// bench_streams: how long independent tasks of one GPU take together, compared with one of them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "basalt/array.hpp"
#include "basalt/runtime.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/streams/spin.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::Array;
using basalt::Config;
using basalt::Runtime;
using basalt::View;

struct Options {
    int tasks = 8;
    double task_us = 100;
    std::vector<int> streams{1, Config{}.gpu_streams};
    int repeat = 201;
    bool emulated = false;
    std::string json;
};

/// A runtime with one GPU, and an array there for each task.
class Contest {
  public:
    Contest(const Options& options, int streams)
        : nanoseconds_(static_cast<std::int64_t>(options.task_us * 1e3)), runtime_(config(options, streams)) {
        if (runtime_.gpus() == 0) throw std::runtime_error("no GPU; --emulated shows that it works");
        for (int i = 0; i < options.tasks; ++i) data_.emplace_back(runtime_, 256);
        for (int i = 0; i < 10; ++i) seconds(options.tasks);  // moves the arrays, and makes the streams
    }

    /// From the first submission to the end of all tasks.
    double seconds(int tasks) {
        const double begin = now();
        for (int i = 0; i < tasks; ++i) {
            runtime_.submit(
                {.name = "spin", .tile = {i}, .place = basalt::Place::gpu(0)},
                readwrite(data_[static_cast<std::size_t>(i)]),
                [ns = nanoseconds_](View<float>) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); },
                basalt::cuda([ns = nanoseconds_](basalt::Stream stream, View<float>) { spin(stream, ns); }));
        }
        runtime_.wait();
        return now() - begin;
    }

    std::string gpu() const { return runtime_.devices()[0].model; }

  private:
    static Config config(const Options& options, int streams) {
        Config config = Config::from_environment();
        config.gpus = 1;
        config.emulation.gpus = options.emulated ? 1 : 0;
        config.gpu_streams = streams;
        return config;
    }

    const std::int64_t nanoseconds_;
    Runtime runtime_;
    std::vector<Array<float>> data_;
};

class Report {
  public:
    explicit Report(const std::string& json) : table_(json == "-" ? stderr : stdout), records_(json) {
        fmt::print(table_, "{:>7} {:>6} {:>9} {:>9} {:>9}\n", "streams", "tasks", "one, us", "all, us", "times one");
    }

    void line(const Options& options, int streams, const std::string& gpu, double one, double all) {
        fmt::print(table_, "{:>7} {:>6} {:>9.1f} {:>9.1f} {:>9.2f}\n", streams, options.tasks, one * 1e6, all * 1e6,
                   all / one);
        std::fflush(table_);
        basalt::JsonRecord record;
        record["bench"] = "streams";
        record["emulated"] = options.emulated;
        record["streams"] = streams;
        record["tasks"] = options.tasks;
        record["task_us"] = options.task_us;
        record["one_us"] = one * 1e6;
        record["all_us"] = all * 1e6;
        record["times_one"] = all / one;
        record["gpu"] = gpu;
        records_.write(record);
    }

  private:
    std::FILE* table_;
    RecordFile records_;
};

int run(const Options& options) {
    Report report(options.json);
    for (const int streams : options.streams) {
        Contest contest(options, streams);
        std::vector<double> one, all;
        for (int round = 0; round < options.repeat; ++round) {
            one.push_back(contest.seconds(1));
            all.push_back(contest.seconds(options.tasks));
        }
        report.line(options, streams, contest.gpu(), basalt::median(one), basalt::median(all));
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Independent tasks of one GPU, together and one alone", "bench_streams");
    Options options;
    app.add_option("--tasks", options.tasks, "independent tasks of one graph").range(1, 1000);
    app.add_option("--task-us", options.task_us, "microseconds that each task's kernel takes").range(0.0, 1e6);
    app.add_option("--streams", options.streams, "Config::gpu_streams, one line of the table each")
        .list()
        .range(1, Config::most_gpu_streams);
    app.add_option("--repeat", options.repeat, "rounds; the table shows their median").range(1, 100'000);
    app.add_flag("--emulated", options.emulated, "an emulated GPU, whose kernels sleep");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    return app.run_program(argc, argv, [&] { return run(options); });
}
