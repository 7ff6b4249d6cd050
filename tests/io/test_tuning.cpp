// Tuning tables: which entry an architecture gets, what tuning files may say, and that the numbers are what decides.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/cholesky.hpp"
#include "basalt/error.hpp"
#include "basalt/lu.hpp"
#include "basalt/products.hpp"
#include "basalt/qr.hpp"
#include "basalt/tuning.hpp"
#include "kernels/cuda/cholesky/plan.hpp"
#include "kernels/split_product.hpp"
#include "tests/common/catch.hpp"

using basalt::any_size;
using basalt::FactorMode;
using basalt::LuMode;
using basalt::Tuning;
using basalt::TuningTables;
using basalt::UsageError;

namespace {

Tuning measured() {
    const TuningTables& tables = TuningTables::built_in();
    return {tables.for_cpu("avx512"), tables.for_gpu("sm_90")};
}

/// Four workers and `gpus` emulated GPUs, with the tables after `change` has edited the entries in use.
basalt::Config tuned(int gpus, const std::function<void(basalt::CpuTuning&, basalt::GpuTuning&)>& change) {
    TuningTables tables = TuningTables::built_in();
    for (basalt::CpuTuning& cpu : tables.cpus) {
        for (basalt::GpuTuning& gpu : tables.gpus) change(cpu, gpu);
    }
    basalt::Config config;
    config.workers = 4;
    config.gpus = config.emulation.gpus = gpus;
    config.tuning = std::make_shared<TuningTables>(tables);
    return config;
}

/// What `work` has run under that name: of each task how many threads.
template <class Work>
std::vector<int> tasks(const basalt::Config& config, const std::string& name, const Work& work) {
    basalt::Runtime runtime(config);
    runtime.start_trace();
    work(runtime);
    runtime.wait();
    std::map<std::uint64_t, int> threads;  // by the task's id
    for (const basalt::TraceEvent& event : runtime.take_trace().events) threads[event.id] += event.name == name ? 1 : 0;
    std::vector<int> run;
    for (const auto& [id, count] : threads) {
        if (count > 0) run.push_back(count);
    }
    return run;
}

/// n x n, with a diagonal that needs no exchange.
std::vector<double> dominant(basalt::Index n) {
    std::vector<double> a(static_cast<std::size_t>(n * n), 1);
    for (basalt::Index i = 0; i < n; ++i) a[static_cast<std::size_t>(i * (n + 1))] += static_cast<double>(n);
    return a;
}

}  // namespace

TEST_CASE("an architecture without an entry gets the nearest one below it, or the lowest there is") {
    const TuningTables& tables = TuningTables::built_in();
    for (const auto& [architecture, entry] : {std::pair{"sm_80", "sm_80"},
                                              {"sm_86", "sm_86"},
                                              {"sm_89", "sm_86"},
                                              {"sm_90", "sm_90"},
                                              {"sm_100", "sm_90"},
                                              {"sm_121", "sm_120"},
                                              {"sm_75", "sm_80"},
                                              {"an unknown GPU", "sm_80"}}) {
        INFO(architecture);
        CHECK(tables.for_gpu(architecture).architecture == entry);
    }
    TuningTables no_avx2 = tables;
    no_avx2.cpus = {tables.for_cpu("avx512"), tables.for_cpu("generic")};
    CHECK(no_avx2.for_cpu("avx512").architecture == "avx512");
    CHECK(no_avx2.for_cpu("avx2").architecture == "generic");
    CHECK(no_avx2.for_cpu("something else").architecture == "generic");
    CHECK_THROWS_AS(TuningTables().for_cpu("avx2"), UsageError);
    CHECK_THROWS_AS(TuningTables().for_gpu("sm_90"), UsageError);
}

TEST_CASE("a runtime takes the entries of its CPU and of what its emulated GPUs are taken for") {
    basalt::Config config;
    config.workers = 1;
    config.emulation.gpus = 1;
    for (const char* architecture : {"sm_80", "sm_90"}) {
        config.emulation.architecture = architecture;
        basalt::Runtime runtime(config);
        CHECK(runtime.tuning().gpu.architecture == architecture);
        CHECK(runtime.tuning().cpu.architecture == basalt::cpu_architecture());
    }
    config.emulation.gpus = 0;
    config.gpus = 0;
    basalt::Runtime cores(config);
    CHECK(cores.tuning().gpu.architecture == "sm_90");
}

TEST_CASE("LU takes tiles, panels and modes from the tables") {
    Tuning tuning = measured();
    CHECK(basalt::default_lu_tile(tuning, 100, 100) == basalt::TileShape{128, 32});
    CHECK(basalt::default_lu_tile(tuning, 5000, 3000) == basalt::TileShape{512, 128});
    CHECK(basalt::default_lu_tile(tuning, 100000, 100000) == basalt::TileShape{512, 256});
    CHECK(basalt::default_lu_tile(tuning, 32768, 32768, 1) == basalt::TileShape{4096, 4096});
    CHECK(basalt::default_lu_tile(tuning, 32768, 32768, 4) == basalt::TileShape{1024, 1024});
    CHECK(basalt::default_lu_tile(tuning, 100000, 100000, 2) == basalt::TileShape{1024, 1024});
    CHECK(basalt::default_lu_tile(tuning, 8192, 8192, 2) == basalt::TileShape{512, 512});
    CHECK(basalt::default_lu_tile(tuning, 2047, 100000, 1) == basalt::TileShape{512, 128});
    CHECK(basalt::default_lu_tile(tuning, 10000, 10000, 1) == basalt::TileShape{5024, 5024});  // two that are filled
    CHECK(basalt::default_lu_tile(tuning, 47000, 47000, 1) == basalt::TileShape{4288, 4288});
    CHECK(basalt::default_lu_tile(tuning, 20000, 20000, 1, true) == basalt::TileShape{20000, 20000});
    CHECK(basalt::default_lu_tile(tuning, 47000, 47000, 1, true) == basalt::TileShape{15680, 15680});
    CHECK(basalt::default_lu_tile(tuning, 2048, 60000, 1, true) == basalt::TileShape{2048, 15008});
    CHECK(basalt::default_lu_tile(tuning, 65537, 65537, 1, true) == basalt::TileShape{4128, 4128});
    CHECK(basalt::default_lu_tile(tuning, 9000, 20000, 1) == basalt::TileShape{4512, 4000});
    CHECK(basalt::default_lu_tile(tuning, 8192, 8192, 2, true) == basalt::TileShape{512, 512});
    CHECK(basalt::default_lu_panel(tuning, LuMode::gpu, 8192, 8192, 1) == 256);
    CHECK(basalt::default_lu_panel(tuning, LuMode::hybrid, 8193, 8193, 1) == 256);
    CHECK(basalt::default_lu_panel(tuning, LuMode::hybrid, 40960, 40960, 1) == 256);
    CHECK(basalt::default_lu_panel(tuning, LuMode::hybrid, 40961, 40961, 1) == 512);
    CHECK(basalt::default_lu_panel(tuning, LuMode::hybrid, 81920, 81920, 2) == 256);

    tuning.cpu.lu.sizes = {{any_size, {96, 48}, 24}};
    tuning.gpu.lu.smallest_order = 10;
    tuning.gpu.lu.sizes = {{20, 4, 8, 32}, {100, 6, 12, 64}};
    CHECK(basalt::default_lu_tile(tuning, 100, 100) == basalt::TileShape{96, 48});
    CHECK(basalt::default_lu_panel(tuning, LuMode::cpu, 100, 100, 0) == 24);
    CHECK(basalt::default_lu_panel(tuning, LuMode::gpu, 20, 50, 1) == 8);
    CHECK(basalt::default_lu_panel(tuning, LuMode::gpu, 5000, 5000, 1) == 12);  // by the last entry
    CHECK(basalt::chosen_lu_mode(tuning, {}, 9, 9, 1) == LuMode::cpu);
    CHECK(basalt::chosen_lu_mode(tuning, {}, 10, 10, 1) == LuMode::gpu);
}

TEST_CASE("products go by slices from the depth and the number of multiplications on that the tables name") {
    Tuning tuning = measured();
    for (const auto& [from, rows] : {std::pair{tuning.gpu.lu.splitting, 2048}, {tuning.gpu.qr.splitting, 8192}}) {
        CHECK(basalt::worth_splitting(from, rows, 1024, 1024));
        CHECK_FALSE(basalt::worth_splitting(from, rows, 1024, 1023));
        CHECK(basalt::worth_splitting(from, 4 * rows, 256, 1024));
        CHECK_FALSE(basalt::worth_splitting(from, 65536, 255, 65536));
    }
    const basalt::GpuSplitting from{.least_depth = 10, .least_multiplications = 1000};
    CHECK(basalt::worth_splitting(from, 10, 10, 10));
    CHECK_FALSE(basalt::worth_splitting(from, 1000, 9, 10));
    CHECK_FALSE(basalt::worth_splitting(from, 9, 11, 10));
    CHECK(basalt::worth_splitting(from, basalt::Index{1} << 40, 1 << 20, 1));
}

TEST_CASE("Cholesky and QR take tiles, panels and modes from the tables") {
    Tuning tuning = measured();
    CHECK(basalt::default_cholesky_tile(tuning, 2000) == basalt::TileShape{512, 128});
    CHECK(basalt::default_cholesky_tile(tuning, 2048, 1) == basalt::TileShape{512, 2048});
    CHECK(basalt::default_cholesky_tile(tuning, 3000, 1) == basalt::TileShape{512, 3008});
    CHECK(basalt::default_cholesky_tile(tuning, 8192, 1) == basalt::TileShape{512, 8192});
    CHECK(basalt::default_cholesky_tile(tuning, 10000, 1) == basalt::TileShape{512, 5056});  // two that are alike
    CHECK(basalt::default_cholesky_tile(tuning, 40000, 1) == basalt::TileShape{512, 8000});
    CHECK(basalt::default_cholesky_tile(tuning, 131072, 2) == basalt::TileShape{512, 4096});
    const auto panel = [&](FactorMode mode, basalt::Index n, basalt::Index tile_width,
                           std::optional<basalt::Index> gpu_panels_below, int gpus) {
        basalt::CholeskyOptions options;
        options.mode = mode;
        options.gpu_panels_below = gpu_panels_below;
        return basalt::default_cholesky_panel(tuning, options, n, tile_width, gpus);
    };
    CHECK(panel(FactorMode::gpu, 8192, 8192, {}, 1) == 8192);
    CHECK(panel(FactorMode::gpu, 8192, 2048, 0, 1) == 512);
    CHECK(panel(FactorMode::cpu, 8192, 8192, {}, 0) == 256);
    // in mode hybrid as in mode gpu where the cores are left no panel
    CHECK(panel(FactorMode::hybrid, 8192, 8192, {}, 1) == 8192);
    CHECK(panel(FactorMode::hybrid, 8192, 2048, 8192, 1) == 512);
    CHECK(panel(FactorMode::hybrid, 8192, 8192, 8191, 1) == 256);
    CHECK(panel(FactorMode::hybrid, 16384, 4096, {}, 1) == 1024);
    CHECK(panel(FactorMode::hybrid, 32768, 4096, {}, 1) == 512);
    CHECK(panel(FactorMode::hybrid, 32768, 4096, {}, 8) == 1024);
    CHECK(panel(FactorMode::hybrid, 20000, 4096, {}, 1) == 1024);
    CHECK(panel(FactorMode::hybrid, 20000, 256, {}, 1) == 512);  // panels as wide as tiles: cores keep ahead for longer
    CHECK(basalt::chosen_cholesky_mode(tuning, {}, 2047, 1) == FactorMode::cpu);
    CHECK(basalt::chosen_cholesky_mode(tuning, {}, 2048, 1) == FactorMode::gpu);
    CHECK(basalt::default_qr_tile(tuning, 3000, 3000) == basalt::TileShape{512, 128});
    CHECK(basalt::default_qr_tile(tuning, 100000, 300, 1) == basalt::TileShape{512, 300});
    CHECK(basalt::default_qr_tile(tuning, 10000, 10000, 1) == basalt::TileShape{4096, 5024});
    CHECK(basalt::default_qr_tile(tuning, 1000000, 8, 1) == basalt::TileShape{512, 8});
    CHECK(basalt::default_qr_tile(tuning, 10000, 10000, 2) == basalt::TileShape{512, 512});
    const auto qr_panel = [&](FactorMode mode, basalt::Index n, std::optional<basalt::Index> gpu_panels_below = {}) {
        basalt::QrOptions options;
        options.mode = mode;
        options.gpu_panels_below = gpu_panels_below;
        return basalt::default_qr_panel(tuning, options, n, n, mode == FactorMode::cpu ? 0 : 1);
    };
    CHECK(qr_panel(FactorMode::cpu, 3000) == 128);
    CHECK(qr_panel(FactorMode::gpu, 5000, 0) == 256);
    // in mode hybrid as in mode gpu where the cores are left no panel
    CHECK(qr_panel(FactorMode::hybrid, 5000) == 256);
    CHECK(qr_panel(FactorMode::hybrid, 5000, 5000) == 256);
    CHECK(qr_panel(FactorMode::hybrid, 5000, 4999) == 128);
    CHECK(basalt::default_qr_tile(tuning, 100000, 32, 0, basalt::QrMethod::tile) == basalt::TileShape{512, 32});
    const basalt::QrOptions by_shape{.method = basalt::QrMethod::automatic};
    CHECK(basalt::chosen_qr_method(tuning, by_shape, FactorMode::cpu, 3000, 1000) == basalt::QrMethod::tile);
    CHECK(basalt::chosen_qr_method(tuning, by_shape, FactorMode::cpu, 2999, 1000) == basalt::QrMethod::blocked);
    CHECK(basalt::chosen_qr_method(tuning, by_shape, FactorMode::gpu, 3000, 10) == basalt::QrMethod::blocked);
    CHECK(basalt::chosen_qr_method(tuning, {}, FactorMode::cpu, 3000, 10) == basalt::QrMethod::blocked);
    CHECK(basalt::chosen_qr_mode(tuning, {}, 1000, 1000, 1) == FactorMode::cpu);
    CHECK(basalt::chosen_qr_mode(tuning, {}, 100000, 1000, 1) == FactorMode::gpu);

    tuning.gpu.cholesky.smallest_order = 30;
    tuning.gpu.qr.least_work = 0;
    CHECK(basalt::chosen_cholesky_mode(tuning, {}, 30, 1) == FactorMode::gpu);
    CHECK(basalt::chosen_qr_mode(tuning, {}, 1, 1, 1) == FactorMode::gpu);
}

TEST_CASE("the tables decide into how many tasks cores cut interchanges and products") {
    using basalt::Index;
    const Index n = 192, nb = 64;
    const std::vector<double> a = dominant(n);
    const auto interchanges = [&](Index columns) {
        const auto config = tuned(0, [&](auto& cpu, auto&) { cpu.lu.interchanged_columns = columns; });
        return tasks(config, "interchange",
                     [&](basalt::Runtime& runtime) {
                         auto matrix = basalt::Matrix<double>::from_columns(runtime, a.data(), n, n, n, {nb, nb});
                         basalt::lu_factor(runtime, matrix, {.mode = LuMode::cpu, .panel_width = nb});
                     })
            .size();
    };
    CHECK(interchanges(nb) == 2);  // left of the second and of the third panel
    CHECK(interchanges(nb / 4) == 8);
    const auto products = [&](Index rows) {
        const auto config = tuned(0, [&](auto& cpu, auto&) { cpu.product_rows = rows; });
        return tasks(config, "product",
                     [&](basalt::Runtime& runtime) {
                         const auto matrix = basalt::Matrix<double>::from_columns(runtime, a.data(), n, n, n, {nb, nb});
                         const basalt::Array<double> x(runtime, n), y(runtime, n);
                         basalt::subtract_product(runtime, matrix, basalt::MatrixPart::all, x, y);
                     })
            .size();
    };
    CHECK(products(n) == 3);  // one a tile column
    CHECK(products(n / 2) == 6);
}

TEST_CASE("the tables decide how large stripes of a matrix on the host and tiles are where memory is short") {
    using basalt::Index;
    const Index n = 192, nb = 64;
    const auto stripes = [&](std::size_t of_memory) {
        basalt::Config config = tuned(1, [&](auto&, auto& gpu) { gpu.links.stripes_of_memory = of_memory; });
        config.gpu_memory = std::size_t{2} << 20;
        return tasks(config, "pack",
                     [&](basalt::Runtime& runtime) {
                         const std::vector<double> a = dominant(n);
                         basalt::Matrix<double> matrix(runtime, n, n, {nb, nb});
                         matrix.load(basalt::View<const double>::column_major(a.data(), n, n, n), basalt::Place::any());
                     })
            .size();
    };
    CHECK(stripes(128) > 2 * stripes(32));

    const auto tile = [&](const basalt::GpuFitting& fitting, Index usual_width = 1024) {
        basalt::Config config = tuned(1, [&](auto&, auto& gpu) { gpu.fitting = fitting; });
        config.gpu_memory = std::size_t{8} << 20;  // 512 columns of 2048 doubles
        basalt::Runtime runtime(config);
        return basalt::fitting_tile(runtime, {512, usual_width}, 2048, 2048, sizeof(double)).width;
    };
    const basalt::GpuFitting usual = measured().gpu.fitting;
    CHECK(tile(usual) == 64);
    CHECK(tile({usual.fewest, 4, usual.narrowest_tile}) == 128);
    CHECK(tile({1, 1, usual.narrowest_tile}) == 512);
    CHECK(tile({usual.fewest, usual.enough, 256}) == 256);
    CHECK(tile({16, usual.enough, 32}) == 32);
    CHECK(tile({1, 1, usual.narrowest_tile}, 1000) == 512);  // half of it, in whole cache lines
    CHECK(tile({1, 1, 8}, 1001) == 512);
    CHECK(tile({64, 64, 1}) == 8);
}

TEST_CASE("the tables decide how narrow panels of the hybrid mode get, and when half of the cores factor one of QR") {
    using basalt::Index;
    const Index n = 256, nb = 32;
    const std::vector<double> a = dominant(n);
    const auto panels = [&](Index narrowest) {
        const auto config = tuned(1, [&](auto&, auto& gpu) { gpu.lu.narrowest_hybrid_panel = narrowest; });
        return tasks(config, "panel",
                     [&](basalt::Runtime& runtime) {
                         auto matrix = basalt::Matrix<double>::from_columns(runtime, a.data(), n, n, n, {nb, nb});
                         basalt::LuOptions options{.mode = LuMode::hybrid, .panel_width = nb};
                         options.gpu_panels_below = 0;
                         basalt::lu_factor(runtime, matrix, options);
                     })
            .size();
    };
    CHECK(panels(nb / 2 + 1) == 8);
    CHECK(panels(nb / 2) == 16);
    const auto gang = [&](Index shared_panels) {
        const auto config = tuned(0, [&](auto& cpu, auto&) {
            cpu.qr.shared_panels = shared_panels;
            cpu.qr.team = {.rows_a_thread = 1, .most = 4};
        });
        const std::vector<int> threads = tasks(config, "panel", [&](basalt::Runtime& runtime) {
            auto matrix = basalt::Matrix<double>::from_columns(runtime, a.data(), n, n, n, {nb, nb});
            basalt::qr_factor(runtime, matrix, {.mode = FactorMode::cpu, .panel_width = nb});
        });
        return *std::max_element(threads.begin(), threads.end());
    };
    CHECK(gang(7) == 2);
    CHECK(gang(8) == 4);
}

TEST_CASE("the tables decide what the kernels of a Cholesky panel are") {
    using namespace basalt::cuda_kernels;
    using Design = CholeskyPanelDesign;
    Tuning tuning = measured();
    const basalt::GpuTuning::Cholesky& cholesky = tuning.gpu.cholesky;
    CHECK(cholesky_panel_plan(cholesky).design == Design::recursive);
    CHECK(cholesky_panel_plan(cholesky).leaf == basalt::GpuCholeskyLeaf{128, 32});
    CHECK(cholesky_square_plan(cholesky, 7167).design == Design::fused);
    CHECK(cholesky_square_plan(cholesky, 7168).design == Design::fused_wide);
    CHECK(cholesky_panel_plan(cholesky).products == basalt::ProductPrecision::plain);
    CHECK(cholesky_panel_plan(cholesky, basalt::ProductPrecision::split_fp16).products ==
          basalt::ProductPrecision::plain);
    for (const auto updates :
         {basalt::ProductPrecision::tf32, basalt::ProductPrecision::fp16, basalt::ProductPrecision::bf16}) {
        CHECK(cholesky_panel_plan(cholesky, updates).products == basalt::ProductPrecision::tf32);
    }
    tuning.gpu.cholesky.leaf = {64, 16};
    tuning.gpu.cholesky.fused_wide_from = 100;
    CHECK(cholesky_panel_plan(cholesky).leaf == basalt::GpuCholeskyLeaf{64, 16});
    CHECK(cholesky_square_plan(cholesky, 100).design == Design::fused_wide);
}
