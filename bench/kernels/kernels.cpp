// bench_kernels: time and rate of each GPU kernel except the trailing update, which bench_update measures.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/kernels/one_device.hpp"
#include "io/files/json_record.hpp"
#include "kernels/cpu/rows/row_swap.hpp"
#include "kernels/inverted_block.hpp"
#include "kernels/on_stream.hpp"
#include "runtime/device/device.hpp"

namespace {

using namespace bench;
using namespace basalt;
using basalt::detail::Device;
using basalt::detail::StreamRole;
using basalt::detail::Ticket;
using basalt::detail::Timing;

struct Options : DeviceOptions {
    Index rows = 32768;
    Index cols = 16384;
    Index width = 1024;
    std::vector<Index> panels{128, 256, 512, 1024};
    int turns = 7;
    double seconds = 0.02;
};

/// One kernel at one shape, with the bytes that it has to read and write and its operations; 0 for a rate without
/// meaning.
struct Case {
    std::string name;
    std::string shape;
    double bytes;
    double flops;
    std::function<void(Stream)> call;
};

void await(Device& device, StreamRole role) {
    const Ticket ticket = device.record(role, Timing::untimed);
    while (!device.reached(role, ticket)) std::this_thread::yield();
}

template <class T>
class Array {
  public:
    Array(Device& device, Index size)
        : device_(device),
          data_(static_cast<T*>(device.allocate(static_cast<std::size_t>(std::max<Index>(size, 1)) * sizeof(T)))) {}
    Array(Device& device, const std::vector<T>& values) : Array(device, std::ssize(values)) {
        device.copy(StreamRole::from_host, {data_, values.data(), values.size() * sizeof(T)});
        await(device, StreamRole::from_host);
    }
    ~Array() { device_.release(data_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    T* data() const { return data_; }

  private:
    Device& device_;
    T* data_;
};

std::vector<Index> random_pivots(Index rows, Index count) {
    std::mt19937_64 random(1);
    std::vector<Index> pivots;
    for (Index k = 0; k < count; ++k) {
        pivots.push_back(k + static_cast<Index>(random() % static_cast<std::uint64_t>(rows - k)));
    }
    return pivots;
}

/// A unit lower triangle with multipliers below 1/32, so that its inverse has small entries.
template <class T>
std::vector<T> random_triangle(Index n) {
    std::mt19937 random(2);
    std::vector<T> values(static_cast<std::size_t>(n * n));
    for (T& x : values) x = static_cast<T>((static_cast<double>(random()) * 0x1p-32 - 0.5) / 16);
    return values;
}

/// The cases and the arrays that they use: a matrix in tile columns, and a second array of the same size.
template <class T>
class Cases {
  public:
    Cases(Device& device, const Options& options)
        : device_(device),
          options_(options),
          grid_(options.rows, options.cols, {options.rows, options.width}),
          matrix_(device, stored()),
          other_(device, stored()),
          numbers_(device, std::max(grid_.padded_rows(), grid_.padded_cols())),
          scratch_(device, std::max(column_sums_workspace(tiles()), square_sums_workspace(tiles()))) {}

    std::vector<Case> all() {
        add_generators();
        add_copies();
        add_conversions();
        add_norms();
        for (const Index panel : options_.panels) add_panel(panel);
        return std::move(cases_);
    }

  private:
    Index stored() const { return grid_.tile_cols() * grid_.tile_column_size(); }
    TileColumns<T> tiles() const { return stored_tile_columns(grid_, matrix_.data(), grid_.tile_cols()); }
    TileColumns<T> other_tiles() const { return stored_tile_columns(grid_, other_.data(), grid_.tile_cols()); }
    View<T> columns() const {
        return View<T>::column_major(other_.data(), grid_.rows(), grid_.cols(), grid_.padded_rows());
    }

    template <class Call>
    void add(std::string name, std::string shape, Index elements, double flops, Call call) {
        const double bytes = static_cast<double>(elements) * sizeof(T);
        cases_.push_back({std::move(name), std::move(shape), bytes, flops, std::move(call)});
    }
    template <class Call>
    void add_whole(std::string name, Index passes, Call call) {
        add(std::move(name), fmt::format("{} x {}", grid_.rows(), grid_.cols()), passes * stored(), 0, call);
    }

    void add_generators() {
        for (const DeviceGenerator kind : {DeviceGenerator::random, DeviceGenerator::hpl}) {
            const GeneratorSpec spec{kind, grid_.rows(), grid_.cols(), 1};
            add_whole(fmt::format("generate {}", name_of(kind)), 1, [=, this](Stream stream) {
                on_stream::generate_tile_columns<T>(stream, spec, grid_, {}, tiles());
            });
        }
    }

    void add_copies() {
        add_whole("copy without gaps", 2,
                  [this](Stream stream) { on_stream::copy_tile_columns<T>(stream, tiles(), other_tiles()); });
        const Index half = grid_.shape().width / 2;
        add("copy half of each row", fmt::format("{} x {}", grid_.rows(), grid_.cols() / 2),
            2 * grid_.tile_cols() * grid_.rows() * half, 0, [=, this](Stream stream) {
                on_stream::copy_tile_columns<T>(stream, tiles().col_range(0, half), other_tiles().col_range(0, half));
            });
    }

    void add_conversions() {
        add_whole("columns to tiles", 2,
                  [this](Stream stream) { on_stream::pack_tile_columns<T>(stream, grid_, {}, columns(), tiles()); });
        add_whole("tiles to columns", 2,
                  [this](Stream stream) { on_stream::unpack_tile_columns<T>(stream, grid_, {}, tiles(), columns()); });
        add_whole("columns to tiles in place", 2,
                  [this](Stream stream) { on_stream::pack_in_place<T>(stream, grid_, matrix_.data(), other_.data()); });
        const Index n = std::min(grid_.rows(), grid_.cols());
        add("triangle, columns to rows", fmt::format("{} x {}", n, n), n * (n + 1), 0, [=, this](Stream stream) {
            on_stream::copy_triangle<T>(stream, basalt::Triangle::lower, 0,
                                        View<T>::column_major(other_.data(), n, n, n),
                                        View<T>::row_major(matrix_.data(), n, n, n));
        });
        add_whole("tiles CRRB to CCRB", 2, [this](Stream stream) {
            on_stream::reorder_tiles<T>(stream, grid_.shape(), ElementOrder::row_major, tiles(), other_tiles());
        });
    }

    void add_norms() {
        add_whole("max norm", 1,
                  [this](Stream stream) { on_stream::max_norm<T>(stream, grid_, {}, tiles(), numbers_.data()); });
        add_whole("column sums", 1, [this](Stream stream) {
            on_stream::absolute_column_sums<T>(stream, grid_, {}, tiles(), numbers_.data(), scratch_.data());
        });
        add_whole("row sums", 1, [this](Stream stream) {
            on_stream::absolute_row_sums<T>(stream, grid_, {}, tiles(), numbers_.data());
        });
        auto* const sums = keep(std::vector<blue::Sums>(1));
        add_whole("sums of squares", 1, [=, this](Stream stream) {
            on_stream::square_sums<T>(stream, grid_, {}, tiles(), sums, scratch_.data());
        });
    }

    /// The kernels of one step of LU except the panel and the update.
    void add_panel(Index nb) {
        const Index* const pivots = keep(random_pivots(grid_.rows(), nb));
        const RowMoves moves(keep(std::vector<Index>(static_cast<std::size_t>(2 * nb))), nb);
        const auto l = View<T>::row_major(keep(random_triangle<T>(nb)), nb, nb, nb);
        const auto inverse = View<T>::row_major(keep(random_triangle<T>(nb)), nb, nb, nb);
        const auto w = dense_tile_columns(other_.data(), grid_.tile_cols(), nb, grid_.shape().width);
        const auto u = tiles().row_range(0, nb);
        const double order = static_cast<double>(nb), solve = order * order * static_cast<double>(grid_.cols());
        const std::string panel = fmt::format("nb {}", nb), rows = fmt::format("{} x {}", nb, grid_.cols());
        add("interchanges to moves", panel, 0, 0,
            [=](Stream stream) { on_stream::find_row_moves(stream, pivots, moves); });
        add("exchange rows", rows, 4 * nb * grid_.cols(), 0,
            [=, this](Stream stream) { on_stream::exchange_rows<T>(stream, moves, tiles(), w); });
        add("invert triangle", panel, 0, order * order * order / 3,
            [=, this](Stream stream) { on_stream::invert_unit_lower<T>(stream, l, inverse, numbers_.data()); });
        add("solve by inverse", rows, 0, solve,
            [=](Stream stream) { on_stream::solve_by_inverse<T>(stream, inverse, w, u); });
        for (const Index cols : {Index{256}, Index{4096}, grid_.cols()}) add_solves(l, std::min(cols, grid_.cols()));
    }

    /// The solves for `cols` columns of U: by inverses of diagonal blocks, and by substitution.
    void add_solves(View<const T> l, Index cols) {
        const Index nb = l.rows(), width = std::min(grid_.shape().width, cols), columns = (cols + width - 1) / width;
        const auto w = dense_tile_columns(other_.data(), columns, nb, width);
        const auto u = tiles().some(0, columns).row_range(0, nb).col_range(0, width);
        const auto inverses =
            View<const T>::row_major(keep(random_triangle<T>(nb)), nb, inverted_block, inverted_block);
        const std::string rows = fmt::format("{} x {}", nb, columns * width);
        const double solve = static_cast<double>(nb * nb) * static_cast<double>(columns * width);
        add("solve by block inverses", rows, 2 * nb * columns * width, solve,
            [=](Stream stream) { on_stream::solve_by_inverses<T>(stream, l, inverses, w, u); });
        add("solve by substitution", rows, 2 * nb * columns * width, solve,
            [=](Stream stream) { on_stream::solve_by_substitution<T>(stream, l, w, u); });
    }

    /// Copies the values to the device's memory, where they stay while this object lives.
    template <class U>
    U* keep(const std::vector<U>& values) {
        const auto array = std::make_shared<Array<U>>(device_, values);
        kept_.push_back(array);
        return array->data();
    }

    Device& device_;
    const Options& options_;
    TileGrid grid_;
    Array<T> matrix_, other_;
    Array<double> numbers_, scratch_;
    std::vector<std::shared_ptr<void>> kept_;
    std::vector<Case> cases_;
};

std::vector<double> measure(Device& device, const Case& each, const Options& options) {
    time_calls(device, each.call, 1);  // warm-up
    const double once = std::max(time_calls(device, each.call, 3) / 3, 1e-7);
    const int calls = std::clamp(static_cast<int>(options.seconds / once), 1, 1000);
    std::vector<double> seconds;
    for (int turn = 0; turn < options.turns; ++turn) seconds.push_back(time_calls(device, each.call, calls) / calls);
    return seconds;
}

JsonRecord record_of(const Case& each, const std::vector<double>& seconds, const Options& options,
                     const Device& device) {
    JsonRecord record;
    record["bench"] = "kernels";
    record["kernel"] = each.name;
    record["shape"] = each.shape;
    record["width"] = options.width;
    record["precision"] = std::string(1, options.precision);
    record["microseconds"] = median(seconds) * 1e6;
    record["gbytes_per_second"] = each.bytes / median(seconds) * 1e-9;
    record["gflops"] = each.flops / median(seconds) * 1e-9;
    record["runs"] = seconds;
    record["emulated"] = options.emulated;
    record["gpu"] = device.model();
    return record;
}

template <class T>
void run(Device& device, const Options& options) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    RecordFile records(options.json);
    fmt::print(table, "kernels on {}, precision {}, tile width {}, median of {} turns\n", device.model(),
               options.precision, options.width, options.turns);
    fmt::print(table, "{:<26} {:>15} {:>12} {:>9} {:>10}\n", "kernel", "shape", "us", "GB/s", "Gflop/s");
    Cases<T> cases(device, options);
    for (const Case& each : cases.all()) {
        const JsonRecord record = record_of(each, measure(device, each, options), options, device);
        const auto rate = [&](const char* key) {
            const double value = record[key].template get<double>();
            return value > 0 ? fmt::format("{:.0f}", value) : std::string("-");
        };
        fmt::print(table, "{:<26} {:>15} {:>12.1f} {:>9} {:>10}\n", each.name, each.shape,
                   record["microseconds"].template get<double>(), rate("gbytes_per_second"), rate("gflops"));
        std::fflush(table);
        records.write(record);
    }
}

int run(const Options& options) {
    const Index widest = *std::max_element(options.panels.begin(), options.panels.end());
    if (widest > options.rows) {
        throw std::invalid_argument(fmt::format("--nb {}: allowed is up to {}, --rows", widest, options.rows));
    }
    run_on_one_device(options, [&]<class T>(Device& device) { run<T>(device, options); });
    return 0;
}

void add_options(const Command& app, Options& options) {
    constexpr Index largest = Index{1} << 27;
    app.add_option("--rows", options.rows, "of the matrix").range(Index{1}, largest);
    app.add_option("--cols", options.cols, "of the matrix").range(Index{1}, largest);
    app.add_option("--width", options.width, "of the tiles").range(Index{1}, largest);
    app.add_option("--nb", options.panels, "panel widths: 256,512").list().range(1, 4096);
    app.add_option("--turns", options.turns, "the table shows their median").range(1, 1000);
    app.add_option("--seconds", options.seconds, "of a turn").range(0.0001, 100.0);
    add_device_options(app, options);
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("Time and rate of the GPU kernels except the update", "bench_kernels");
    Options options;
    add_options(app, options);
    return app.run_program(argc, argv, [&] { return run(options); });
}
