// Mode auto goes by what runs took before.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "basalt/cholesky.hpp"
#include "basalt/generator.hpp"
#include "basalt/lu.hpp"
#include "basalt/qr.hpp"
#include "basalt/tuning.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/temporary_folder.hpp"

using basalt::FactorMode;
using basalt_tests::TemporaryFolder;

namespace {

/// Whether panels ran on cores, as in mode hybrid, and not all on GPUs.
bool factors_on_cores(const basalt::Trace& trace) {
    for (const basalt::TraceEvent& event : trace.events) {
        const basalt::TraceRow& row = trace.rows[static_cast<std::size_t>(event.row)];
        if (event.name == "panel" && row.kind == basalt::TraceRowKind::cpu) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("mode auto of LU takes what was fastest, and the tables' mode where that is not known") {
    const TemporaryFolder folder;
    basalt::Config config;
    config.workers = 2;
    config.emulation.gpus = 2;
    config.models = folder.path("models.json");
    auto tables = std::make_shared<basalt::TuningTables>(basalt::TuningTables::built_in());
    for (auto& gpu : tables->gpus) gpu.lu.smallest_order = 50;
    for (auto& cpu : tables->cpus) cpu.lu.panel_column_seconds = cpu.lu.panel_element_seconds = 0;  // cores keep ahead
    config.tuning = tables;
    const basalt::LuProblem problem{100, 100};
    const auto choice = [&] { return basalt::choose_lu_mode(basalt::Runtime(config), {}, problem); };
    const auto learn = [&](FactorMode mode, double seconds, const basalt::LuProblem& what) {
        const basalt::Runtime runtime(config);
        runtime.learn_run(basalt::lu_run_case(runtime, {}, mode, what), mode, {seconds});
    };
    CHECK(choice().mode == FactorMode::gpu);
    CHECK(choice().reason.find("tuning tables") != std::string::npos);
    learn(FactorMode::cpu, 0.001, problem);
    CHECK(choice().mode == FactorMode::gpu);  // of which nothing is known
    learn(FactorMode::gpu, 0.01, problem);
    CHECK(choice().mode == FactorMode::cpu);
    CHECK(choice().reason == choice().reason);
    CHECK(choice().reason.find("gpu 0.01 s, cpu 0.001 s") != std::string::npos);
    learn(FactorMode::hybrid, 0.0005, problem);
    CHECK(choice().mode == FactorMode::hybrid);

    // lu_factor() goes by it too
    config.trace = true;
    basalt::Runtime runtime(config);
    basalt::Matrix<double> a(runtime, 100, 100);
    basalt::lu_factor(runtime, a);
    runtime.wait();
    CHECK(factors_on_cores(runtime.take_trace()));

    // where the data begin and end, the options and the size matter
    CHECK(basalt::choose_lu_mode(runtime, {}, {100, 100, 'd', true}).mode == FactorMode::gpu);
    CHECK(basalt::choose_lu_mode(runtime, {.panel_width = 7}, problem).mode == FactorMode::gpu);
    CHECK(basalt::choose_lu_mode(runtime, {}, {300, 300}).mode == FactorMode::gpu);
    CHECK(basalt::choose_lu_mode(runtime, {.mode = FactorMode::cpu}, problem).mode == FactorMode::cpu);
    CHECK(basalt::choose_lu_mode(runtime, {.lookahead = 2}, problem).mode == FactorMode::hybrid);

    // a little is within what two runs differ by
    learn(FactorMode::gpu, 0.1, {200, 200});
    learn(FactorMode::cpu, 0.098, {200, 200});
    CHECK(basalt::choose_lu_mode(basalt::Runtime(config), {}, {200, 200}).mode == FactorMode::gpu);

    config.models.clear();
    CHECK(choice().mode == FactorMode::gpu);
}

TEST_CASE("mode auto of Cholesky and QR takes what was fastest, each by its own runs") {
    const TemporaryFolder folder;
    basalt::Config config;
    config.workers = 2;
    config.emulation.gpus = 2;
    config.models = folder.path("models.json");
    auto tables = std::make_shared<basalt::TuningTables>(basalt::TuningTables::built_in());
    for (auto& gpu : tables->gpus) {
        gpu.cholesky.smallest_order = 50;
        gpu.qr.least_work = 1;
    }
    config.tuning = tables;
    const basalt::FactorProblem problem{100, 100}, tiled{100, 100, 'd', false, {32, 32}};
    const auto cholesky_mode = [&] { return basalt::choose_cholesky_mode(basalt::Runtime(config), {}, problem).mode; };
    const auto qr_mode = [&] { return basalt::choose_qr_mode(basalt::Runtime(config), {}, problem).mode; };
    const auto learn = [&](bool cholesky, FactorMode mode, double seconds) {
        const basalt::Runtime runtime(config);
        for (const auto& what : {problem, tiled}) {
            runtime.learn_run(cholesky ? basalt::cholesky_run_case(runtime, {}, mode, what)
                                       : basalt::qr_run_case(runtime, {}, mode, what),
                              mode, {seconds});
        }
    };
    learn(true, FactorMode::cpu, 0.001);
    CHECK(cholesky_mode() == FactorMode::gpu);  // of which nothing is known
    learn(true, FactorMode::gpu, 0.01);
    CHECK(cholesky_mode() == FactorMode::cpu);
    CHECK(qr_mode() == FactorMode::gpu);
    learn(false, FactorMode::gpu, 0.01);
    learn(false, FactorMode::hybrid, 0.001);
    CHECK(qr_mode() == FactorMode::hybrid);
    CHECK(cholesky_mode() == FactorMode::cpu);

    // the factorizations go by it too, of matrices and of the user's own arrays
    config.trace = true;
    basalt::Runtime runtime(config);
    const auto on_gpus = [&] {
        runtime.wait();
        const basalt::Trace trace = runtime.take_trace();
        return std::any_of(trace.events.begin(), trace.events.end(), [](const auto& event) { return event.bytes > 0; });
    };
    auto a = basalt::Matrix<double>::generate(runtime, basalt::make_generator<double>("spd", 100, 100, 1), 100, 100,
                                              tiled.tile);
    basalt::cholesky_factor(runtime, a);
    CHECK_FALSE(on_gpus());
    basalt::qr_factor(runtime, a);
    CHECK(on_gpus());
    std::vector<double> array(100 * 100);
    for (std::size_t i = 0; i < 100; ++i) array[101 * i] = 1;
    CHECK(basalt::cholesky_factor(runtime, basalt::Triangle::upper, 100, array.data(), 100) == 0);
    CHECK_FALSE(on_gpus());

    // what options and tile change is another matter
    CHECK(basalt::choose_cholesky_mode(runtime, {.panel_width = 7}, problem).mode == FactorMode::gpu);
    CHECK(basalt::choose_cholesky_mode(runtime, {}, {100, 100, 'd', false, {16, 16}}).mode == FactorMode::gpu);
    CHECK(basalt::choose_cholesky_mode(runtime, {}, {100, 100, 's'}).mode == FactorMode::gpu);
    CHECK(basalt::choose_cholesky_mode(runtime, {.mode = FactorMode::hybrid}, problem).mode == FactorMode::hybrid);
    CHECK(basalt::choose_qr_mode(runtime, {.panel_width = 7}, problem).mode == FactorMode::gpu);
    CHECK(basalt::choose_qr_mode(runtime, {}, {100, 400}).mode == FactorMode::gpu);
    CHECK(basalt::choose_qr_mode(runtime, {.gpu_panels_below = 0}, problem).mode == FactorMode::gpu);
    CHECK(basalt::choose_qr_mode(runtime, {.mode = FactorMode::cpu}, problem).mode == FactorMode::cpu);
}
