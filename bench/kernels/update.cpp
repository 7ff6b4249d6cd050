// bench_update: compares the trailing update of tile columns (CRRB) with one plain gemm of the same size, in turn.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/kernels/one_device.hpp"
#include "bench/vendor/plain_gemm.hpp"
#include "io/files/json_record.hpp"
#include "kernels/cpu/blas/blas.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/device/device.hpp"

namespace {

using namespace bench;
using basalt::Index;
using basalt::Stream;
using basalt::TileColumns;
using basalt::View;
using basalt::detail::Device;
using basalt::detail::StreamRole;

struct Options : DeviceOptions {
    std::vector<Index> depths{32, 64, 128, 256, 512, 1024};
    std::vector<Index> widths{256, 512, 1024, 2048, 4096};
    Index rows = 32768;
    Index cols = 16384;
    double seconds = 2;
    int turns = 8;
    bool by_slices = false;
};

/// One contestant: its call, and the rates of its turns in Gflop/s.
struct Contestant {
    Index width;  ///< width of the tiles; 0: the plain gemm
    double flops;
    std::function<void(Stream)> call;
    double call_seconds = 0;
    std::vector<double> rates = {};

    double rate() const { return basalt::median(rates); }
};

/// Device memory with random elements in [-0.5, 0.5).
template <class T>
class RandomArray {
  public:
    RandomArray(Device& device, Index size)
        : device_(device), data_(static_cast<T*>(device.allocate(static_cast<std::size_t>(size) * sizeof(T)))) {
        const basalt::TileGrid grid(1, size, {1, size});
        const basalt::GeneratorSpec spec{basalt::DeviceGenerator::random, 1, size, 1};
        const auto all = basalt::stored_tile_columns(grid, data_, 1);
        device.launch(StreamRole::compute,
                      [=](Stream stream) { basalt::on_stream::generate_tile_columns<T>(stream, spec, grid, {}, all); });
    }
    ~RandomArray() { device_.release(data_); }
    RandomArray(const RandomArray&) = delete;
    RandomArray& operator=(const RandomArray&) = delete;
    T* data() const { return data_; }

  private:
    Device& device_;
    T* data_;
};

template <class T>
class Bench {
  public:
    Bench(Device& device, const Options& options)
        : device_(device),
          options_(options),
          l_(device, options.rows * deepest()),
          u_(device, deepest() * options.cols),
          c_(device, options.rows * options.cols),
          slices_(device, slices_elements()) {}

    /// All contestants of one depth with the rates of their turns: the plain gemm first, then by width.
    std::vector<Contestant> contest(Index depth) {
        std::vector<Contestant> all{plain(depth)};
        for (const Index width : options_.widths) {
            all.push_back(tiled(depth, width));
        }
        const double turn = options_.seconds / options_.turns;
        for (Contestant& each : all) {
            take_turn(each, 1);  // warm-up
            each.call_seconds = take_turn(each, 3) / 3;
            each.rates.clear();
        }
        for (int i = 0; i < options_.turns; ++i) {
            for (Contestant& each : all) take_turn(each, std::max(1, static_cast<int>(turn / each.call_seconds)));
        }
        return all;
    }

  private:
    Index slices_elements() const {
        if (!options_.by_slices) return 1;
        return static_cast<Index>(basalt::split_workspace(options_.rows, deepest(), options_.cols) / sizeof(T));
    }
    Index deepest() const { return *std::max_element(options_.depths.begin(), options_.depths.end()); }

    static double flops(Index m, Index n, Index k) {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    }

    Contestant plain(Index depth) const {
        const Index m = options_.rows, n = options_.cols;
        const T *const a = l_.data(), *const b = u_.data();
        T* const c = c_.data();
        return {0, flops(m, n, depth), [=](Stream stream) {
                    if (basalt::on_stream::emulated(stream)) {
                        using Matrix = View<const T>;
                        basalt::blas::gemm<T>(-1, Matrix::column_major(a, m, depth, m),
                                              Matrix::column_major(b, depth, n, depth), 1,
                                              View<T>::column_major(c, m, n, m));
                    } else {
                        plain_gemm<T>(stream, m, n, depth, a, b, c);
                    }
                }};
    }

    Contestant tiled(Index depth, Index width) const {
        const Index m = options_.rows, columns = options_.cols / width;
        const auto l = View<const T>::row_major(l_.data(), m, depth, depth);
        const TileColumns<const T> u = basalt::dense_tile_columns(u_.data(), columns, depth, width);
        const auto c = basalt::dense_tile_columns(c_.data(), columns, m, width);
        if constexpr (std::is_same_v<T, float>) {
            if (options_.by_slices) {
                return {width, flops(m, columns * width, depth), [=, slices = slices_.data()](Stream stream) {
                            basalt::on_stream::update_by_slices(stream, l, u, c, basalt::ProductPrecision::split_bf16,
                                                                slices, {});
                        }};
            }
        }
        return {width, flops(m, columns * width, depth), [=](Stream stream) {
                    basalt::on_stream::update_trailing<T>(stream, l, u, c, basalt::ProductPrecision::plain);
                }};
    }

    /// Returns the seconds of `calls` calls, whose rate is kept.
    double take_turn(Contestant& contestant, int calls) {
        const double seconds = time_calls(device_, contestant.call, calls);
        contestant.rates.push_back(contestant.flops * calls / seconds * 1e-9);
        return seconds;
    }

    Device& device_;
    const Options& options_;
    RandomArray<T> l_, u_, c_;
    RandomArray<T> slices_;  ///< workspace
};

class Report {
  public:
    Report(const Options& options, const Device& device)
        : options_(options),
          gpu_(device.model()),
          table_(options.json == "-" ? stderr : stdout),
          records_(options.json) {
        fmt::print(table_,
                   "trailing update C -= L U, {} rows by {} columns, precision {}, on {}\n"
                   "tile columns compared with one plain gemm ({}): Gflop/s, median of {} turns of {:.3g} s\n",
                   options.rows, options.cols, options.precision, gpu_, plain_gemm_version(), options.turns,
                   options.seconds / options.turns);
        fmt::print(table_, "{:>6} {:>7} {:>10} {:>10} {:>7}\n", "K", "width", "tiled", "plain", "ratio");
    }

    void depth(Index depth, const std::vector<Contestant>& all) {
        const Contestant& plain = all.front();
        for (auto each = all.begin() + 1; each != all.end(); ++each) {
            fmt::print(table_, "{:>6} {:>7} {:>10.0f} {:>10.0f} {:>7.3f}\n", depth, each->width, each->rate(),
                       plain.rate(), each->rate() / plain.rate());
            records_.write(record(depth, *each, plain));
        }
        std::fflush(table_);
    }

  private:
    basalt::JsonRecord record(Index depth, const Contestant& tiled, const Contestant& plain) const {
        basalt::JsonRecord record;
        record["bench"] = "update";
        record["precision"] = std::string(1, options_.precision);
        record["m"] = options_.rows;
        record["n"] = options_.cols / tiled.width * tiled.width;
        record["k"] = depth;
        record["width"] = tiled.width;
        record["gflops"] = tiled.rate();
        record["gemm_gflops"] = plain.rate();
        record["ratio"] = tiled.rate() / plain.rate();
        record["runs"] = tiled.rates;
        record["gemm_runs"] = plain.rates;
        record["seconds"] = options_.seconds;
        record["vendor"] = plain_gemm_version();
        record["by_slices"] = options_.by_slices;
        record["emulated"] = options_.emulated;
        record["gpu"] = gpu_;
        return record;
    }

    const Options& options_;
    std::string gpu_;
    std::FILE* table_;
    RecordFile records_;
};

template <class T>
void run(Device& device, const Options& options) {
    Bench<T> bench(device, options);
    Report report(options, device);
    for (const Index depth : options.depths) report.depth(depth, bench.contest(depth));
}

int run(const Options& options) {
    for (const Index width : options.widths) {
        if (width <= options.cols) continue;
        throw std::invalid_argument(
            fmt::format("--width {}: no tile column is as wide; allowed is up to {}, --cols", width, options.cols));
    }
    run_on_one_device(options, [&]<class T>(Device& device) { run<T>(device, options); });
    return 0;
}

void add_options(const Command& app, Options& options) {
    constexpr Index largest = Index{1} << 27;
    app.add_option("--k", options.depths, "inner dimensions: 256,512").list().range(Index{1}, largest);
    app.add_option("--width", options.widths, "tile widths: 512,1024").list().range(Index{1}, largest);
    app.add_option("--rows", options.rows, "of C").range(Index{1}, largest);
    app.add_option("--cols", options.cols, "of C; whole tile columns of them are used").range(Index{1}, largest);
    app.add_option("--seconds", options.seconds, "that each side computes for at each K and width")
        .range(0.001, 1000.0);
    app.add_option("--turns", options.turns, "in which these seconds are taken").range(1, 1000);
    app.add_flag("--by-slices", options.by_slices, "precision s: the tiled products by slices of 8 bits");
    add_device_options(app, options);
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Compares the trailing update of tile columns with a plain gemm, in turn", "bench_update");
    Options options;
    add_options(app, options);
    return app.run_program(argc, argv, [&] { return run(options); });
}
