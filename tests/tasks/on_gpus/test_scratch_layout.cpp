// The scratch buffers of factorizations on GPUs: the bytes that are planned are those of the buffers that are made.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tasks/cholesky/gpu_state.hpp"
#include "tasks/lu/gpu_state.hpp"
#include "tasks/qr/gpu_reflections.hpp"
#include "tasks/qr/gpu_state.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/lapack_oracle.hpp"
#include "tests/tasks/on_gpus/gpu_machine.hpp"

using namespace basalt;
using namespace basalt_tests;
using namespace basalt::detail;

namespace {

struct Shape {
    Index m, n;
    TileShape tile;
    Index panel_width;
};

const std::vector<Shape> shapes{{0, 0, {8, 8}, 4},         {1, 1, {8, 8}, 4},        {7, 5, {8, 8}, 3},
                                {33, 200, {16, 16}, 16},   {97, 97, {16, 32}, 16},   {200, 130, {32, 24}, 7},
                                {257, 257, {96, 128}, 40}, {310, 310, {32, 32}, 32}, {500, 200, {64, 64}, 20}};

constexpr FactorMode gpu_modes[] = {FactorMode::hybrid, FactorMode::gpu};

/// A buffer in a GPU's memory, which is handed out in units of 512 bytes.
template <class T>
std::size_t bytes_of(const ScratchMatrix<T>& buffer) {
    const Region<T> all = buffer.region();
    return (static_cast<std::size_t>(all.rows * all.cols) * sizeof(T) + 511) / 512 * 512;
}
/// Where each GPU may hold all buffers.
template <class T>
std::size_t all_of(const std::vector<ScratchMatrix<T>>& buffers) {
    std::size_t sum = 0;
    for (const ScratchMatrix<T>& buffer : buffers) sum += bytes_of(buffer);
    return sum;
}
/// Where each GPU has `count` of equal buffers.
template <class T>
std::size_t some_of(const std::vector<ScratchMatrix<T>>& buffers, Index count) {
    return buffers.empty() ? 0 : static_cast<std::size_t>(count) * bytes_of(buffers.front());
}

/// Tile columns of a GPU, where all GPUs together have `group`.
Index share_of(const TileGrid& grid, Index group, int gpus) {
    return ceil_div(std::min(group, grid.tile_cols()), gpus);
}

std::string text(const Shape& s, FactorMode mode, int gpus, std::size_t memory) {
    return std::to_string(s.m) + " x " + std::to_string(s.n) + ", panels of " + std::to_string(s.panel_width) + ", " +
           name_of(mode) + ", " + std::to_string(gpus) + " GPUs of " + std::to_string(memory) + " bytes";
}

/// check(runtime, shape, mode) with all memory and with so little that matrices are factored in groups.
template <class Check>
void for_each_machine(const Check& check) {
    for (const int gpus : {1, 2, 3}) {
        for (const std::size_t memory : {std::size_t{0}, std::size_t{400'000}}) {
            Runtime runtime(GpuMachine{.gpus = gpus, .memory = memory}.config());
            for (const Shape& shape : shapes) {
                for (const FactorMode mode : gpu_modes) {
                    INFO(text(shape, mode, gpus, memory));
                    check(runtime, shape, mode);
                }
            }
        }
    }
}

template <class T>
void check_lu(Runtime& runtime, const Shape& shape, const LuOptions& options) {
    Matrix<T> a(runtime, shape.m, shape.n, shape.tile);
    const LuChoices choices(runtime.tuning(), options, shape.m, shape.n, runtime.workers(), runtime.gpus());
    LuState<T> lu(runtime, a.share_storage(), choices.mode, choices.widths, choices.depth, choices.panel_threads);
    const GpuLuPlan<T> plan(runtime, *lu.a, choices);
    const GpuLuState<T> state(lu, plan);
    const auto& b = state.buffers;
    const std::size_t made = all_of(b.panels) + all_of(b.blocks) + all_of(b.inverses) + all_of(b.moves) +
                             all_of(b.results) + all_of(b.gates) + all_of(b.logs) + some_of(b.lead_rows, 1) +
                             some_of(b.rest_rows, 1) + some_of(b.panel_workspaces, 1) + some_of(b.lead_slices, 1) +
                             some_of(b.rest_slices, 1);
    CHECK(plan.memory.workspace(share_of(lu.grid(), plan.fitting.group, runtime.gpus())) == made);
    CHECK(std::ssize(b.moves) == std::ssize(lu.panels));
    CHECK(std::ssize(b.logs) == (plan.choices.panel_log ? std::ssize(lu.panels) : 0));
}

template <class T>
void check_cholesky(Runtime& runtime, const Shape& shape, Triangle triangle, const CholeskyOptions& options) {
    Matrix<T> a(runtime, shape.n, shape.n, shape.tile);
    const CholeskyChoices choices(runtime.tuning(), options, shape.n, shape.tile.width, runtime.gpus());
    CholeskyState<T> cholesky(runtime, a.share_storage(), triangle, choices.widths);
    const GpuCholeskyState<T> state(cholesky, cholesky.a, triangle, choices);
    const Index share = share_of(cholesky.grid(), state.fitting.group, runtime.gpus());
    const auto& b = state.buffers;
    const std::size_t made = all_of(b.panels) + all_of(b.triangles) + all_of(b.lefts) + some_of(b.above, share) +
                             all_of(b.collected) + some_of(b.workspaces, 1) + some_of(b.slices, 1) + some_of(b.info, 1);
    CHECK(state.memory.workspace(share) == made);
    CHECK(b.panels.empty() == state.in_place);
    CHECK(b.info.front().region().rows == std::max<Index>(std::ssize(cholesky.panels), 1));
    if (!options.keep_other_side) CHECK(b.above.empty());
}

template <class T>
void check_qr(Runtime& runtime, const Shape& shape, const QrOptions& options) {
    Matrix<T> a(runtime, shape.m, shape.n, shape.tile);
    const QrChoices choices(runtime.tuning(), options, shape.m, shape.n, runtime.workers(), runtime.gpus());
    QrState<T> qr(runtime, a.share_storage(), choices);
    if (qr.panels.empty()) return;
    const GpuQrState<T> state(qr, choices);
    const auto& b = state.buffers;
    const std::size_t made = all_of(qr.t) + all_of(b.panels) + all_of(b.r) + all_of(b.taken_out) + all_of(b.factored) +
                             some_of(b.panel_workspaces, 1) + some_of(b.leading_workspaces, 1) +
                             some_of(b.rest_workspaces, 1);
    CHECK(state.memory.workspace(share_of(qr.grid(), state.fitting.group, runtime.gpus())) == made);
    CHECK(b.panels.empty() == state.in_place);
    const GpuReflections<T> reflections(runtime, shape.m, qr.nb, shape.tile.width);
    CHECK(GpuReflections<T>::bytes(runtime, shape.m, qr.nb, shape.tile.width) ==
          some_of(reflections.v, 1) + some_of(reflections.workspaces, 1));
}

}  // namespace

TEMPLATE_TEST_CASE("LU plans with the bytes of its buffers", "[lu]", float, double) {
    using T = TestType;
    for_each_machine([](Runtime& runtime, const Shape& shape, FactorMode mode) {
        LuOptions options{.mode = mode, .panel_width = shape.panel_width};
        check_lu<T>(runtime, shape, options);
        if (mode != FactorMode::gpu) return;
        options.coarse_width = 2 * shape.panel_width;
        check_lu<T>(runtime, shape, options);
        options.panel_log = sizeof(T) == sizeof(double);
        check_lu<T>(runtime, shape, options);
        runtime.start_trace();
        check_lu<T>(runtime, shape, options);
        runtime.take_trace();
    });
}

TEMPLATE_TEST_CASE("Cholesky plans with the bytes of its buffers", "[cholesky]", float, double) {
    using T = TestType;
    for_each_machine([](Runtime& runtime, const Shape& shape, FactorMode mode) {
        if (shape.n == 0) return;
        for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
            for (const bool others : {false, true}) {
                CholeskyOptions options{.mode = mode, .panel_width = shape.panel_width};
                options.rows_on_cores = options.keep_other_side = others;
                if (triangle == Triangle::upper && mode == FactorMode::gpu) options.left_looking = others;
                if (mode == FactorMode::hybrid) options.gpu_panels_below = others ? 0 : shape.n / 2;
                check_cholesky<T>(runtime, shape, triangle, options);
            }
        }
    });
}

TEMPLATE_TEST_CASE("QR plans with the bytes of its buffers", "[qr]", float, double) {
    using T = TestType;
    for_each_machine([](Runtime& runtime, const Shape& shape, FactorMode mode) {
        check_qr<T>(runtime, shape, {.mode = mode, .panel_width = shape.panel_width});
    });
}

TEST_CASE("a matrix that fits a GPU without panels' buffers is factored in place", "[cholesky][qr]") {
    const Index n = 320;
    const TileShape tile{64, 64};
    const TileGrid grid(n, n, tile);
    Runtime large(GpuMachine{}.config());
    const auto groups = [](Runtime& runtime) {  // panels of former groups come again
        const auto events = runtime.take_trace().events;
        return std::any_of(events.begin(), events.end(), [](const auto& event) { return event.name == "reload"; });
    };
    {
        const CholeskyOptions options{.mode = FactorMode::gpu, .panel_width = 32};
        Matrix<double> a(large, n, n, tile);
        const CholeskyChoices choices(large.tuning(), options, n, tile.width, 1);
        const CholeskyState<double> cholesky(large, a.share_storage(), Triangle::lower, choices.widths);
        const GpuCholeskyMemory<double> memory(cholesky, *cholesky.a, Triangle::lower, choices);
        const Index columns = grid.tile_cols();
        Runtime small(GpuMachine{.memory = bytes_with_columns(grid, sizeof(double), columns, memory.workspace(columns))}
                          .config());
        auto b = Matrix<double>::generate(small, make_generator<double>("spd", n, n, 3), n, n, tile);
        small.start_trace();
        CHECK(cholesky_factor(small, b, Triangle::lower, options).info() == 0);
        CHECK_FALSE(groups(small));
        CHECK(memory.workspace(columns - 1) > memory.workspace(columns));  // which is with panels' buffers
    }
    {
        const QrOptions options{.mode = FactorMode::gpu, .panel_width = 32};
        Matrix<double> a(large, n, n, tile);
        const QrChoices choices(large.tuning(), options, n, n, large.workers(), 1);
        const QrState<double> qr(large, a.share_storage(), choices);
        const GpuQrMemory<double> memory(qr, choices);
        const Index columns = grid.tile_cols();
        Runtime small(GpuMachine{.memory = bytes_with_columns(grid, sizeof(double), columns, memory.workspace(columns))}
                          .config());
        auto b = Matrix<double>::generate(small, make_generator<double>("random", n, n, 3), n, n, tile);
        small.start_trace();
        CHECK(qr_factor(small, b, options).info() == 0);
        CHECK_FALSE(groups(small));
    }
}
