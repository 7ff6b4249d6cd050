#include "bench/gpu_contests.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/clock.hpp"

namespace bench {

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

void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours,
                const std::vector<double>& vendor) {
    json["vendor"] = vendor_gpu_version();
    if (vendor.empty()) return;
    json["vendor_gflops"] = flops / basalt::median(vendor) * 1e-9;
    json["vendor_runs"] = vendor;
    json["ratio"] = basalt::median(vendor) / basalt::median(ours);
}

void add_gemm(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const std::vector<double>& gemm,
              int gpus) {
    json["gemm_gflops"] = gemm_gflops(gemm);
    json["gemm_fraction"] = flops / basalt::median(ours) * 1e-9 / gemm_gflops(gemm) / gpus;
}

}  // namespace bench
