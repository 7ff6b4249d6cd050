// Factorizations of matrices that are larger than the GPUs' memory: which tile columns are there together, and what
// moves. On emulated GPUs.
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "tests/tasks/cholesky/gpu_cholesky_cases.hpp"
#include "tests/tasks/lu/hybrid_lu_cases.hpp"
#include "tests/tasks/qr/qr_on_gpus_cases.hpp"
#include "tiles/dealt_columns.hpp"
#include "tiles/panels.hpp"

using namespace basalt;
using namespace basalt_tests;

namespace {

Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

std::size_t bytes_of(Index elements) { return static_cast<std::size_t>(elements) * sizeof(double); }

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), bytes_of(std::ssize(a))) == 0;
}

/// A factorization that is tried with little memory.
struct Trial {
    LuShape shape;
    int gpus;
    bool triangle;  ///< it alone is factored: updates need no rows of panels above their own
    std::function<std::size_t(Index)> memory_for;  ///< memory for this number of tile columns of a GPU, and no more
    std::function<void(Runtime&)> run;             ///< and checks the result
    /// Whether memory_for() holds all tile columns of one GPU without buffers for panels.
    std::function<bool(Index)> fits_in_place = [](Index) { return false; };

    TileGrid grid() const { return {shape.m, shape.n, shape.tile}; }
    Index share() const { return ceil_div(grid().tile_cols(), gpus); }
};

/// What was moved of a matrix.
struct Traffic {
    std::vector<Index> came, left;  ///< whole tile columns, by GPU
    std::int64_t reloaded = 0;      ///< bytes of panels of former groups
    Index groups = 1;
    int on_cores = 0;  ///< tasks that brought panels of former groups
};

Traffic traffic_of(const Trace& trace, const Trial& trial) {
    Traffic traffic;
    traffic.came.resize(static_cast<std::size_t>(trial.gpus));
    traffic.left = traffic.came;
    for (const TraceEvent& event : trace.events) {
        const TraceRow& row = trace.rows[static_cast<std::size_t>(event.row)];
        const bool whole = event.bytes == static_cast<std::int64_t>(bytes_of(trial.grid().tile_column_size()));
        if (event.name == "to gpu" && whole) ++traffic.came[static_cast<std::size_t>(row.device.value())];
        if (event.name == "to host" && whole) ++traffic.left[static_cast<std::size_t>(row.device.value())];
        if (event.name != "reload") continue;
        traffic.reloaded += event.bytes;
        traffic.groups += event.step == 0;
        traffic.on_cores += row.kind != TraceRowKind::copy;
    }
    return traffic;
}

/// What groups of that size fetch of panels of former ones: the rows that updates need.
std::int64_t bytes_to_reload(const Trial& trial, Index group) {
    const TileGrid grid = trial.grid();
    Index elements = 0;
    for (Index first = group; first < grid.tile_cols(); first += group) {
        for (const detail::Panel& panel : detail::cut_panels(grid, {trial.shape.panel_width})) {
            if (panel.tile_column >= first) continue;
            const Index top = trial.triangle ? grid.first_col(first) : panel.first;
            elements += (grid.rows() - top) * panel.width;
        }
    }
    return static_cast<std::int64_t>(bytes_of(elements));
}

/// The number of tile columns that a GPU factors together when it has room for `room`: one is left for those that come
/// meanwhile, or a fifth, and one for what lies between data of other sizes; then groups are made equal.
Index columns_of_group(Index room, Index share) {
    constexpr Index most[] = {1, 1, 2, 2, 3, 4, 5, 6, 7};
    return ceil_div(share, ceil_div(share, most[room - 1]));
}

/// With room for all tile columns but one, two ...: each of them comes to its GPU once and goes home once, and
/// of panels of former groups GPUs fetch what they need.
void check_column_groups(const Trial& trial) {
    const ColumnDeal deal(Deal::balanced, trial.gpus);
    std::vector<Index> once;
    for (int gpu = 0; gpu < trial.gpus; ++gpu)
        once.push_back(std::ssize(deal.of_gpu(gpu, 0, trial.grid().tile_cols())));
    for (Index room = trial.share() - 1; room > 0; --room) {
        const Watchdog watchdog;
        INFO(trial.shape.m << " x " << trial.shape.n << ", panels of " << trial.shape.panel_width << ", " << trial.gpus
                           << " GPUs with room for " << room << " tile columns");
        Runtime runtime(GpuMachine{.gpus = trial.gpus, .memory = trial.memory_for(room)}.config());
        runtime.start_trace();
        trial.run(runtime);
        const Traffic traffic = traffic_of(runtime.take_trace(), trial);
        const Index group =
            trial.fits_in_place(room) ? trial.grid().tile_cols() : columns_of_group(room, trial.share()) * trial.gpus;
        CHECK(traffic.groups == ceil_div(trial.grid().tile_cols(), group));
        CHECK(traffic.came == once);
        CHECK(traffic.left == once);
        CHECK(traffic.on_cores == 0);
        CHECK(traffic.reloaded == bytes_to_reload(trial, group));
    }
}

/// Memory for this number of elements and for small data.
std::size_t memory_for(Index elements) { return bytes_of(elements + elements / 60) + 30'000; }

/// No panel is as large as a tile column, so that the trace tells them apart.
const std::vector<LuShape> shapes{
    {310, 310, {32, 32}, 16}, {310, 310, {32, 32}, 32}, {200, 310, {32, 32}, 16}, {500, 200, {32, 32}, 16}};

}  // namespace

TEST_CASE("LU in column groups moves tile columns once, and gives the bits that it gives with all memory",
          "[sanitize]") {
    for (const LuShape& shape : shapes) {
        const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
        for (const int gpus : {1, 2, 4}) {
            Runtime large(GpuMachine{.gpus = gpus}.config());
            const LuOptions options = gpus == 2 ? hybrid(shape.panel_width) : gpu_alone(shape.panel_width);
            const Factored<double> expected = factor(large, a, shape, options);
            Trial trial{shape, gpus, false, {}, [&](Runtime& runtime) {
                            const Factored<double> found = factor(runtime, a, shape, options);
                            CHECK(same_bits(found.lu.values, expected.lu.values));
                            CHECK(found.pivots == expected.pivots);
                        }};
            const std::size_t all = lu_gpu_bytes(large, options, shape.m, shape.n, shape.tile, sizeof(double));
            const Index top_rows = shape.panel_width * shape.tile.width;
            const Index panels = gpus == 1 ? 3 * shape.m * shape.panel_width : 0;  // buffers that `all` does without
            trial.memory_for = [&](Index columns) {
                return all + bytes_of(panels + panels / 60) -
                       bytes_of((trial.share() - columns) * (trial.grid().tile_column_size() + top_rows));
            };
            if (gpus == 1) trial.fits_in_place = [&](Index columns) { return trial.memory_for(columns) >= all; };
            check_column_groups(trial);
        }
    }
}

TEST_CASE("QR in column groups moves tile columns once, and gives the bits that it gives with all memory") {
    for (const LuShape& shape : shapes) {
        const Dense<double> a = random_dense<double>(shape.m, shape.n, 12);
        const QrOptions options = qr_options(QrMode::gpu, shape.panel_width);
        for (const int gpus : {1, 2, 4}) {
            Runtime large(GpuMachine{.gpus = gpus}.config());
            const QrResult<double> expected = factor_qr(large, a, shape.tile, options);
            Trial trial{shape, gpus, false, {}, [&](Runtime& runtime) {
                            const QrResult<double> found = factor_qr(runtime, a, shape.tile, options);
                            CHECK(same_bits(found.a.values, expected.a.values));
                            CHECK(same_bits(found.tau, expected.tau));
                        }};
            trial.memory_for = [&](Index columns) {  // three panels with R, and T of each
                const Index nb = shape.panel_width, panels = ceil_div(std::min(shape.m, shape.n), nb);
                return memory_for(3 * (shape.m + nb) * nb + panels * nb * nb +
                                  columns * trial.grid().tile_column_size());
            };
            if (gpus == 1) {
                trial.fits_in_place = [&](Index columns) {  // T of each panel is needed in place, too
                    const Index nb = shape.panel_width, panels = ceil_div(std::min(shape.m, shape.n), nb);
                    const Index all = trial.share() * trial.grid().tile_column_size() + panels * nb * nb;
                    return trial.memory_for(columns) >= memory_for(all);
                };
            }
            check_column_groups(trial);
        }
    }
}

TEST_CASE("Cholesky in column groups moves tile columns once", "[cholesky]") {
    for (const LuShape& shape : shapes) {
        if (shape.m != shape.n) continue;
        const Dense<double> a = spd_dense<double>(Triangle::lower, shape.n, 12);
        const CholeskyOptions options = on_gpus(FactorMode::gpu, shape.panel_width);
        for (const int gpus : {1, 2, 4}) {
            Trial trial{shape, gpus, true, {}, [&](Runtime& runtime) {
                            check_cholesky(Triangle::lower, a,
                                           factor(runtime, Triangle::lower, a, shape.tile, options));
                        }};
            trial.memory_for = [&](Index columns) {  // three panels, and what is saved above each column's diagonal
                const Index nb = shape.panel_width;
                return memory_for(3 * shape.n * nb +
                                  columns * (trial.grid().tile_column_size() + shape.tile.width * nb));
            };
            if (gpus == 1) {
                trial.fits_in_place = [&](Index columns) {
                    const Index column = trial.grid().tile_column_size() + shape.tile.width * shape.panel_width;
                    return columns * column + 3 * shape.n * shape.panel_width >= trial.share() * column;
                };
            }
            check_column_groups(trial);
        }
    }
}
