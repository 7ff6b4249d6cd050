#include "bench/versus/gpu_contests.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/ranges.h>

#include "bench/vendor/gpus.hpp"
#include "io/energy/energy_report.hpp"
#include "io/energy/machine_energy.hpp"

namespace bench {

using basalt::Index;

double gemm_gflops(const std::vector<double>& seconds) {
    return 2e-9 * gemm_order * gemm_order * gemm_depth / basalt::median(seconds);
}

double largest(const std::vector<double>& x) {
    double most = 0;
    for (const double entry : x) {
        if (std::isnan(entry)) return entry;
        most = std::max(most, std::abs(entry));
    }
    return most;
}

std::vector<double> random_signs(basalt::Index n) {
    std::mt19937_64 random(1);
    std::vector<double> signs(static_cast<std::size_t>(n));
    for (double& entry : signs) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    return signs;
}

VendorRuns vendor_runs(const VersusOptions& options, int gpus, const std::vector<Index>& blocks) {
    VendorRuns runs;
    runs.blocks = blocks.empty() || options.vendor_blocks.empty() ? blocks : options.vendor_blocks;
    if (options.vendor == "none") return runs;
    runs.vendor = GpuVendor::cusolver;
    const bool found = !vendor_gpus_version().empty();
    if (options.vendor == "cusolvermg" && !found) {
        throw std::runtime_error(
            "--vendor cusolvermg: libcusolverMg was not found when this was built; allowed are cusolver and none");
    }
    const bool wanted = options.vendor == "cusolvermg" || (options.vendor == "auto" && gpus > 1);
    if (!wanted || !found || blocks.empty()) return runs;
    runs.vendor = GpuVendor::cusolvermg;
    runs.gpus = gpus;
    return runs;
}

std::string ours_multiplies(const VersusOptions& options) {
    using basalt::ProductPrecision;
    if (options.products == ProductPrecision::tf32) return " (ours: products in TF32)";
    const bool usual = !options.products || options.products == ProductPrecision::plain;
    return usual ? "" : fmt::format(" (ours: products {})", name_of(*options.products));
}

void add_products(const VersusOptions& options, basalt::JsonRecord& json) {
    using basalt::ProductPrecision;
    if (options.products == ProductPrecision::tf32) json["tf32"] = true;
    const bool told =
        !options.products || options.products == ProductPrecision::plain || options.products == ProductPrecision::tf32;
    if (!told) json["products"] = name_of(*options.products);
}

std::string vendor_line(const VendorRuns& vendor, int gpus) {
    if (vendor.vendor == GpuVendor::none) return "none";
    if (vendor.vendor == GpuVendor::cusolvermg) {
        return fmt::format(
            "{} on {} GPUs, the best of blocks of {} columns; they are dealt before its time begins and stay so: it "
            "converts and moves nothing",
            vendor_gpus_version(), vendor.gpus, fmt::join(vendor.blocks, ", "));
    }
    if (gpus == 1) return vendor_gpu_version() + " on one GPU";
    const char* const why = vendor.blocks.empty() ? ": cuSOLVERMg offers no QR" : "";
    return vendor_gpu_version() + " on one GPU, ours on all" + why;
}

std::string data_line(const std::string& data, int gpus) {
    if (data == "host") return "from and to column-major on the host; transfers and conversion timed";
    if (gpus == 1) return "from and to column-major on the GPU; conversion timed";
    if (data == "device") {
        return "from and to column-major on GPU 0; conversion, dealing to the GPUs and gathering timed";
    }
    return "from and to column-major, columns dealt to the GPUs in blocks as wide as tiles; conversion timed";
}

void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const VendorRuns& vendor) {
    const bool several = vendor.vendor == GpuVendor::cusolvermg;
    json["vendor"] = several ? vendor_gpus_version() : vendor_gpu_version();
    if (vendor.seconds.empty()) return;
    json["vendor_gpus"] = vendor.gpus;
    if (several) {
        json["vendor_block"] = vendor.block;
        json["vendor_residual_ratio"] = vendor.residual_ratio;
    }
    json["vendor_gflops"] = flops / basalt::median(vendor.seconds) * 1e-9;
    json["vendor_runs"] = vendor.seconds;
    json["ratio"] = basalt::median(vendor.seconds) / basalt::median(ours);
}

std::unique_ptr<basalt::EnergyMeter> energy_meter_of(const std::vector<basalt::DeviceInfo>& gpus) {
    basalt::EnergyCounters counters = basalt::machine_energy_counters(gpus);
    if (!counters.counters.empty()) return std::make_unique<basalt::EnergyMeter>(std::move(counters));
    throw std::runtime_error("--energy: no energy counter can be read: " + basalt::uncounted_text(counters.uncounted));
}

void add_gemm(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const std::vector<double>& gemm,
              int gpus) {
    json["gemm_gflops"] = gemm_gflops(gemm);
    json["gemm_fraction"] = flops / basalt::median(ours) * 1e-9 / gemm_gflops(gemm) / gpus;
}

}  // namespace bench
