// What of the comparisons on GPUs runs without one: arrays dealt to emulated GPUs become tiles and are made of tiles,
// and the choice of the vendor's block.
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "bench/vendor/runs.hpp"
#include "bench/versus/dealt_conversion.hpp"

using namespace basalt;
using namespace bench;

namespace {

Config with_emulated(int gpus) {
    Config config;
    config.workers = 2;
    config.emulation.gpus = gpus;
    return config;
}

/// A column-major array dealt to GPUs, with one vector of memory for each.
struct DealtArray {
    DealtArray(Index rows, const DealtColumns& columns, double value)
        : memory(static_cast<std::size_t>(columns.gpus()),
                 std::vector<double>(static_cast<std::size_t>(rows * columns.room()), value)),
          view{rows, columns, {}} {
        for (std::vector<double>& part : memory) view.parts.push_back(part.data());
    }
    double& operator()(Index i, Index j) { return view.column(j)[i]; }

    std::vector<std::vector<double>> memory;
    DealtView<double> view;
};

}  // namespace

TEST_CASE("a dealt array becomes tiles and tiles a dealt array, each GPU with what it has") {
    for (const int gpus : {1, 2, 3}) {
        for (const auto& [m, n] : {std::pair{Index{90}, Index{70}}, {Index{64}, Index{96}}, {Index{5}, Index{1}}}) {
            Runtime runtime(with_emulated(gpus));
            const TileShape tile{32, 16};
            const DealtColumns dealt(n, tile.width, ColumnDeal(Deal::balanced, gpus));
            DealtArray source(m, dealt, 0), target(m, dealt, -1);
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) source(i, j) = static_cast<double>(1000 * i + j);
            }
            Matrix<double> a(runtime, m, n, tile);
            load_dealt(a, source.view);
            store_dealt(a, target.view);
            runtime.wait();
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) REQUIRE(target(i, j) == source(i, j));
            }
            CHECK(a.at(m - 1, n - 1) == source(m - 1, n - 1));
        }
    }
}

TEST_CASE("of a dealt triangle nothing above the diagonal is read or written") {
    for (const int gpus : {1, 3}) {
        for (const Index n : {1, 70, 96}) {
            Runtime runtime(with_emulated(gpus));
            const TileShape tile{32, 16};
            const DealtColumns dealt(n, tile.width, ColumnDeal(Deal::balanced, gpus));
            DealtArray source(n, dealt, std::numeric_limits<double>::quiet_NaN());
            DealtArray target(n, dealt, -1);
            for (Index j = 0; j < n; ++j) {
                for (Index i = j; i < n; ++i) source(i, j) = static_cast<double>(1000 * i + j);
            }
            Matrix<double> a(runtime, n, n, tile);
            load_dealt_triangle(a, source.view);
            store_dealt_triangle(a, target.view);
            runtime.wait();
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < n; ++i) REQUIRE(target(i, j) == (i < j ? -1 : source(i, j)));
            }
        }
    }
}

TEST_CASE("the vendor's fastest block goes on, of those whose factors pass") {
    VendorRuns vendor;
    vendor.vendor = GpuVendor::cusolvermg;
    vendor.blocks = {128, 256, 512, 1024};
    std::vector<Index> asked;
    vendor.choose_block([&](Index block) -> VendorRun {
        asked.push_back(block);
        if (block == 1024) throw std::runtime_error("invalid value");
        if (block == 512) return {0.1, std::numeric_limits<double>::quiet_NaN()};
        return {block == 256 ? 2.0 : 3.0, 0.01};
    });
    CHECK(vendor.block == 256);
    CHECK(asked == std::vector<Index>{128, 128, 256, 512, 1024});  // what comes first comes twice
    CHECK(vendor.seconds.empty());

    vendor.blocks = {256, 512};
    vendor.choose_block([](Index block) -> VendorRun { return {1.0 / static_cast<double>(block), 1e3}; });
    CHECK(vendor.block == 512);
    const auto refuse = [](Index) -> VendorRun { throw std::runtime_error("no"); };
    CHECK_THROWS_AS(vendor.choose_block(refuse), std::runtime_error);
}

TEST_CASE("a vendor's factors that do not pass once are not forgotten") {
    VendorRuns vendor;
    vendor.vendor = GpuVendor::cusolvermg;
    vendor.add({1, 0.02});
    vendor.add({2, 0.01});
    CHECK(vendor.passed());
    CHECK(vendor.residual_ratio == 0.02);
    for (const double ratio : {std::numeric_limits<double>::quiet_NaN(), 31.0}) {
        VendorRuns bad = vendor;
        bad.add({3, ratio});
        bad.add({4, 0.01});
        CHECK(!bad.passed());
        CHECK(bad.verdict().find("FAILED") != std::string::npos);
        CHECK(bad.seconds == std::vector<double>{1, 2, 3, 4});
    }
}
