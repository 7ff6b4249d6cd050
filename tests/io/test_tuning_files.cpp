// What tuning files may say, and what is refused.
#include <functional>
#include <memory>
#include <string>

#include <unistd.h>

#include "basalt/cholesky.hpp"
#include "basalt/error.hpp"
#include "basalt/lu.hpp"
#include "basalt/qr.hpp"
#include "basalt/tuning.hpp"
#include "kernels/split_product.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/temporary_folder.hpp"

using basalt::any_size;
using basalt::Tuning;
using basalt::TuningTables;
using basalt::UsageError;
using basalt_tests::TemporaryFolder;

namespace {

Tuning measured() {
    const TuningTables& tables = TuningTables::built_in();
    return {tables.for_cpu("avx512"), tables.for_gpu("sm_90")};
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const UsageError& error) {
        return error.what();
    }
    return "nothing was refused";
}

/// What is wrong with a tuning file of that text.
std::string refusal_of(const std::string& text) {
    const TemporaryFolder folder;
    folder.write("tuning.json", text);
    return refusal([&] { basalt::read_tuning_file(folder.path("tuning.json")); });
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("numbers of Config that are out of range are refused with their name") {
    const auto refused = [](const std::function<void(TuningTables&)>& spoil) {
        TuningTables tables = TuningTables::built_in();
        spoil(tables);
        basalt::Config config;
        config.workers = 1;
        config.gpus = 0;
        config.tuning = std::make_shared<TuningTables>(tables);
        return refusal([&] { basalt::Runtime runtime(config); });
    };
    CHECK(refused([](TuningTables& t) { t.gpus[2].lu.sizes[1].gpu_panel = 0; }) ==
          "Config::tuning: gpu.sm_90.lu.sizes[1].gpu_panel = 0; allowed is 1 to 1024");
    CHECK(
        has(refused([](TuningTables& t) { t.cpus[0].lu.sizes.clear(); }), "cpu.avx512.lu.sizes = []; allowed is one"));
    CHECK(has(refused([](TuningTables& t) { t.cpus[0].lu.sizes[1].up_to = 3; }),
              "sizes[1].up_to = 3; allowed is not below"));
    CHECK(has(refused([](TuningTables& t) { t.gpus[0].links.peer_chunk_bytes = 0.0 / 0.0; }),
              "sm_80.links.peer_chunk_bytes"));
    CHECK(has(refused([](TuningTables& t) { t.gpus.clear(); }), "TuningTables::gpus is empty"));
    CHECK(refused([](TuningTables& t) { t.gpus[2].cholesky.leaf.tile = 24; }) ==
          "Config::tuning: gpu.sm_90.cholesky.leaf.tile = 24; allowed is 16, 32");
}

TEST_CASE("what is written to a tuning file is read from it") {
    const TemporaryFolder folder;
    TuningTables tables = TuningTables::built_in();
    tables.cpus[1].lu.team.most = 7;
    tables.gpus[2].lu.update_rate = 43.25e12;
    tables.gpus[2].panels = {{5000, basalt::GpuPanelDesign::fused, 3, 8, 900, 70}};
    tables.gpus[2].cholesky.leaf = {64, 16};
    tables.gpus[2].lu.in_place.narrowest_tile = 48;
    tables.gpus[2].lu.splitting.least_depth = 96;
    tables.gpus[2].qr.splitting.least_multiplications = 12.5;
    basalt::write_tuning_file(folder.path("new/folder/tuning.json"), tables);
    const TuningTables read = basalt::read_tuning_file(folder.path("new/folder/tuning.json"));
    CHECK(read.for_cpu("avx2").lu.team.most == 7);
    CHECK(read.for_gpu("sm_90").lu.update_rate == 43.25e12);
    CHECK(read.for_gpu("sm_90").panels.size() == 1);
    CHECK(read.for_gpu("sm_90").panels[0].design == basalt::GpuPanelDesign::fused);
    CHECK(read.for_gpu("sm_90").panels[0].leaf_width == 8);
    CHECK(read.for_gpu("sm_90").panels[0].tallest_leaf == 900);
    CHECK(read.for_gpu("sm_90").panels[0].rows_a_block == 70);
    CHECK(read.for_gpu("sm_90").cholesky.leaf == basalt::GpuCholeskyLeaf{64, 16});
    CHECK(read.for_gpu("sm_90").lu.in_place.narrowest_tile == 48);
    CHECK(read.for_gpu("sm_90").lu.splitting.least_depth == 96);
    CHECK(read.for_gpu("sm_90").qr.splitting.least_multiplications == 12.5);
    CHECK(read.for_gpu("sm_80").panels.size() == TuningTables::built_in().for_gpu("sm_80").panels.size());
    // all of it: written again it is the same text
    basalt::write_tuning_file(folder.path("again.json"), read);
    CHECK(folder.read("again.json") == folder.read("new/folder/tuning.json"));
    CHECK_FALSE(folder.read("again.json").empty());
}

TEST_CASE("a tuning file changes what it names and makes entries for new architectures out of the nearest") {
    const TemporaryFolder folder;
    folder.write("tuning.json", R"({"gpu": {"sm_100": {"lu": {"smallest_order": 999, "wide_hybrid_above": "any"}}},
                                    "cpu": {"avx512": {"copying_threads": 9}}})");
    const TuningTables read = basalt::read_tuning_file(folder.path("tuning.json"));
    CHECK(read.for_gpu("sm_100").lu.smallest_order == 999);
    CHECK(read.for_gpu("sm_100").lu.wide_hybrid_above == any_size);
    CHECK(read.for_gpu("sm_100").lu.update_rate == measured().gpu.lu.update_rate);
    CHECK(read.for_gpu("sm_110").architecture == "sm_100");
    CHECK(read.for_gpu("sm_90").lu.smallest_order == measured().gpu.lu.smallest_order);
    CHECK(read.for_cpu("avx512").copying_threads == 9);
    CHECK(read.for_cpu("avx512").lu.sizes.size() == measured().cpu.lu.sizes.size());
}

TEST_CASE("what a tuning file must not say is refused with file, key and what is allowed") {
    CHECK(has(refusal([] { basalt::read_tuning_file("/nowhere/tuning.json"); }), "/nowhere/tuning.json: No such file"));
    CHECK(has(refusal_of(""), "tuning.json: line 1: no JSON"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {)"), "tuning.json: line 1: no JSON"));
    CHECK(has(refusal_of("[]"), "tuning.json = []; allowed is an object"));
    CHECK(has(refusal_of(R"({"gpus": {}})"), "tuning.json: gpus: no such name; allowed are cpu, gpu"));
    CHECK(has(refusal_of(R"({"cpu": {"sse": {}}})"),
              "cpu.sse: no such instruction set; allowed are avx512, avx2, generic"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_9x": {}}})"), "gpu.sm_9x: no such architecture"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": 3}})"), "gpu.sm_90 = 3; allowed is an object"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"lu": {"smalest_order": 3}}}})"),
              "gpu.sm_90.lu.smalest_order: no such name; allowed are sizes, deal, resident, blocks, in_place, "
              "narrowing, splitting, panel_room, least_fp16_order, solved_at_once, leading_rows, early_solves_from, "
              "smallest_order"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"lu": {"smallest_order": "many"}}}})"),
              "gpu.sm_90.lu.smallest_order = \"many\"; allowed is 0 to "));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"lu": {"smallest_order": 2.5}}}})"),
              "smallest_order = 2.5; allowed is 0 to "));
    CHECK(
        has(refusal_of(R"({"gpu": {"sm_90": {"lu": {"smallest_order": 18446744073709551615}}}})"), "allowed is 0 to "));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"lu": {"update_rate": 0}}}})"), "update_rate = 0; allowed is "));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"cholesky": {"leaf": {"columns": 96}}}}})"),
              "gpu.sm_90.cholesky.leaf.columns = 96; allowed is 64, 128"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"cholesky": {"leaf": {"tile": "32"}}}}})"),
              "leaf.tile = \"32\"; allowed is 16, 32"));
    CHECK(has(refusal_of(
                  R"({"gpu": {"sm_90": {"panels": [{"up_to": 5, "design": "magic", "blocks": 1, "leaf_width": 0}]}}})"),
              "panels[0].design = \"magic\"; allowed is cluster, grid, fused, steps"));
    CHECK(has(refusal_of(R"({"gpu": {"sm_90": {"panels": [{"design": "grid", "blocks": 1, "leaf_width": 0}]}}})"),
              "panels[0].up_to is missing"));
    CHECK(has(refusal_of(R"({"cpu": {"avx512": {"lu": {"sizes": []}}}})"), "cpu.avx512.lu.sizes = []; allowed is one"));
    CHECK(has(refusal_of(R"({"cpu": {"avx512": {"lu": {"sizes": {}}}}})"),
              "cpu.avx512.lu.sizes = {}; allowed is a list"));
    CHECK(has(refusal_of(R"({"cpu": {"avx512": {"lu": {"sizes": [{"up_to": "all", "height": 1, "width": 1}]}}}})"),
              "sizes[0].up_to = \"all\"; allowed is \"any\" or a whole number"));
}
