// bench_gpu_replay: a recorded graph of small kernels on one GPU, submitted task by task, as one CUDA graph, and
// compared with a CUDA graph made by hand.
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "basalt/array.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/streams/plain_graph.hpp"
#include "bench/streams/spin.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::Array;
using basalt::Config;
using basalt::RecordedOnGpu;
using basalt::Recording;
using basalt::Runtime;
using basalt::View;

struct Options {
    int kernels = 1000;
    int runs = 20;
    int repeat = 11;
    bool emulated = false;
    std::string json;
};

/// One of the ways to run the graph: its name, and what runs it so often and waits.
struct System {
    std::string name;
    std::function<void(int runs)> run;
};

/// A runtime with one GPU, and a chain of empty kernels that was recorded there.
class Recorded {
  public:
    Recorded(const Options& options, RecordedOnGpu on_gpu)
        : runtime_(config(options)),
          data_(runtime_, 256),
          recording_(
              runtime_, [&] { submit(options.kernels); }, on_gpu) {
        if (runtime_.gpus() == 0) throw std::runtime_error("no GPU; --emulated shows that it works");
    }

    void run(int runs) {
        for (int i = 0; i < runs; ++i) recording_.run();
        runtime_.wait();
    }
    std::string gpu() const { return runtime_.devices()[0].model; }

  private:
    static Config config(const Options& options) {
        Config config = Config::from_environment();
        config.gpus = 1;
        config.emulation.gpus = options.emulated ? 1 : 0;
        return config;
    }
    void submit(int kernels) {
        for (int i = 0; i < kernels; ++i) {
            runtime_.submit(
                {.name = "empty", .place = basalt::Place::gpu(0)}, readwrite(data_), [](View<float>) {},
                basalt::cuda([](basalt::Stream stream, View<float>) { spin(stream, 0); }));
        }
    }

    Runtime runtime_;
    Array<float> data_;
    Recording recording_;
};

int run(const Options& options) {
    Recorded submitted(options, RecordedOnGpu::submitted), captured(options, RecordedOnGpu::captured);
    std::vector<System> systems{{"submitted", [&](int runs) { submitted.run(runs); }},
                                {"captured", [&](int runs) { captured.run(runs); }}};
    std::unique_ptr<PlainGraph> plain;
    if (!options.emulated) {
        plain = std::make_unique<PlainGraph>(options.kernels);
        systems.push_back({"cuda", [&](int runs) { plain->run(runs); }});
    }
    std::vector<std::vector<double>> seconds(systems.size());
    for (const System& system : systems) system.run(3);  // the first runs move data and make streams and graphs
    for (int round = 0; round < options.repeat; ++round) {
        for (std::size_t i = 0; i < systems.size(); ++i) {
            const double begin = now();
            systems[i].run(options.runs);
            seconds[i].push_back(now() - begin);
        }
    }
    std::FILE* table = options.json == "-" ? stderr : stdout;
    RecordFile records(options.json);
    fmt::print(table, "{:>10} {:>9} {:>13}\n", "system", "kernels", "us a kernel");
    for (std::size_t i = 0; i < systems.size(); ++i) {
        const double us = basalt::median(seconds[i]) / options.runs / options.kernels * 1e6;
        fmt::print(table, "{:>10} {:>9} {:>13.3f}\n", systems[i].name, options.kernels, us);
        basalt::JsonRecord record;
        record["bench"] = "gpu_replay";
        record["system"] = systems[i].name;
        record["emulated"] = options.emulated;
        record["kernels"] = options.kernels;
        record["us_per_kernel"] = us;
        record["gpu"] = captured.gpu();
        records.write(record);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("A recorded graph of small kernels on one GPU", "bench_gpu_replay");
    Options options;
    app.add_option("--kernels", options.kernels, "kernels of the graph, a chain").range(1, 100'000);
    app.add_option("--runs", options.runs, "runs of the graph that are timed together").range(1, 10'000);
    app.add_option("--repeat", options.repeat, "rounds; the table shows their median").range(1, 10'000);
    app.add_flag("--emulated", options.emulated, "an emulated GPU, without the graph made by hand");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    return app.run_program(argc, argv, [&] { return run(options); });
}
