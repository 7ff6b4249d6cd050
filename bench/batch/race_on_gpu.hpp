#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <basalt/tuning.hpp>

#include "bench/batch/on_gpu.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "io/files/json_record.hpp"

/// What the benches of batches on a GPU have in common: their options, and how results are printed and recorded.
namespace bench {

using basalt::Index;

struct RaceOptions {
    std::vector<Index> n;
    Index most;  ///< order
    std::string precision = "both";
    bool no_vendor = false;
    std::string json;

    void add_to(CommandLine& app) {
        app.add_option("--n", n, "orders").list().range(Index{1}, most);
        app.add_option("--precision", precision, "s, d or both").one_of({"s", "d", "both"});
        app.add_flag("--no-vendor", no_vendor,
                     "only our own kernels, compared with the first of them; records nothing");
        app.add_option("--json", json, "append records to this file; - for standard output");
    }
    bool in_single() const { return precision != "d"; }
    bool in_double() const { return precision != "s"; }
};

/// The number of batches to time in turn: their bytes exceed the L2, and fit into memory.
inline Index batches_in_turn(std::size_t bytes) {
    constexpr std::size_t many = 30, most = std::size_t{16} << 30, more_than_l2 = std::size_t{200} << 20;
    return static_cast<Index>(std::max({std::size_t{2}, 1 + more_than_l2 / bytes, std::min(many, most / bytes)}));
}

/// Bytes a second that a copy within the GPU moves, read and written.
inline double copy_rate(const TimedStream& gpu) {
    const std::size_t bytes = std::size_t{1} << 30;
    const OnGpu<char> from(bytes), to(bytes);
    std::vector<double> times;
    for (int round = 0; round < 7; ++round) {
        times.push_back(gpu.milliseconds([&] {
            require_cuda(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, gpu.stream), "copy");
        }));
    }
    return 2.0 * static_cast<double>(bytes) / middle(times) * 1e3;
}

/// The width that a list of the built-in table has for order n.
template <class T>
int table_width(std::vector<basalt::GpuBatchWidth> basalt::GpuBatchWidths::*list, Index n) {
    const auto& batch = basalt::TuningTables::built_in().for_gpu("sm_90").batch;
    const auto& widths = (sizeof(T) == 4 ? batch.single_precision : batch.double_precision).*list;
    const auto own = std::find_if(widths.begin(), widths.end(), [n](const auto& entry) { return n <= entry.up_to; });
    return own != widths.end() ? own->width : 8;
}

struct Contestant {
    std::string name;
    std::function<void(Index)> run;  ///< on batch r
    std::string routine = {};        ///< in records; empty: is not recorded
    bool from_factors = false;
    bool of_vendor = false;          ///< left out with --no-vendor
    double share = 1;                ///< of a batch that run() takes: its time is scaled up
    std::vector<double> times = {};  ///< milliseconds
    double difference = 0;           ///< of its results from those of the first contestant
};

/// What a race was about.
struct RaceShape {
    char precision;
    Index n, count, cols;
    double bytes;  ///< that must be moved
};

class RaceReport {
  public:
    RaceReport(const RaceOptions& options, double rate)
        : records_(options.json),
          table_(options.json == "-" ? stderr : stdout),
          no_vendor_(options.no_vendor),
          rate_(rate) {
        int device = 0;
        cudaDeviceProp properties{};
        require_cuda(cudaGetDevice(&device), "cudaGetDevice");
        require_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
        gpu_ = properties.name;
        fmt::print(table_, "{}, {} multiprocessors, L2 {} MB; copy {:.0f} GB/s; medians, in turn\n", gpu_,
                   properties.multiProcessorCount, properties.l2CacheSize >> 20, rate / 1e9);
    }

    /// Lets all run in turn over `batches`, whose contents restore(contestant) puts back before, and reports. A first
    /// round is not timed: difference(whether the contestant is the first one) compares its results.
    template <class Restore, class Difference>
    void run(const RaceShape& shape, const TimedStream& gpu, Index batches, std::vector<Contestant> contestants,
             const Restore& restore, const Difference& difference) {
        constexpr int rounds = 5;
        if (no_vendor_) std::erase_if(contestants, [](const Contestant& one) { return one.of_vendor; });
        for (int round = 0; round <= rounds; ++round) {
            for (Contestant& one : contestants) {
                restore(one);
                gpu.wait();
                const double time = gpu.milliseconds([&] {
                    for (Index r = 0; r < batches; ++r) one.run(r);
                });
                if (round > 0) {
                    one.times.push_back(time / static_cast<double>(batches) / one.share);
                } else {
                    one.difference = difference(&one == contestants.data());
                }
            }
        }
        report(shape, contestants);
    }

  private:
    /// A line for each contestant: milliseconds a batch, how many times as fast as the first one, and the time over
    /// that of moving the bytes once.
    void report(const RaceShape& shape, const std::vector<Contestant>& contestants) {
        const double first = middle(contestants.front().times), floor = shape.bytes / rate_ * 1e3;
        for (const Contestant& one : contestants) {
            const double time = middle(one.times);
            const auto [least, most] = std::minmax_element(one.times.begin(), one.times.end());
            fmt::print(table_,
                       "{} {:4} x {:5} {:26} {:9.4f} ms ({:.4f} to {:.4f})  {:6.2f} x  floor {:.4f} ms, {:5.2f} of it  "
                       "difference {:.1e}\n",
                       shape.precision, shape.n, shape.count, one.name, time, *least, *most, first / time, floor,
                       time / floor, one.difference);
            if (!one.routine.empty() && !no_vendor_) record(shape, contestants.front(), one, floor);
        }
        std::fflush(table_);
    }

    void record(const RaceShape& shape, const Contestant& vendor, const Contestant& own, double floor) {
        const double time = middle(own.times), other = middle(vendor.times);
        basalt::JsonRecord record;
        record["bench"] = "batch_gpu";
        record["gpus"] = 1;
        record["gpu"] = gpu_;
        record["routine"] = own.routine;
        record["precision"] = std::string(1, shape.precision);
        record["n"] = shape.n;
        record["count"] = shape.count;
        record["nrhs"] = shape.cols;
        record["vendor"] = vendor.name;
        record["milliseconds"] = time;
        record["seconds"] = time * 1e-3;
        record["vendor_seconds"] = other * 1e-3;
        record["runs"] = own.times;
        record["vendor_runs"] = vendor.times;
        record["ratio"] = other / time;
        record["floor_milliseconds"] = floor;
        record["times_bytes"] = time / floor;
        records_.write(record);
    }

    RecordFile records_;
    std::FILE* table_;
    bool no_vendor_;
    double rate_;
    std::string gpu_;
};

}  // namespace bench
