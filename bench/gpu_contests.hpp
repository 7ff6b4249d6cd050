#pragma once

#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/user_matrix.hpp"
#include "bench/vendor_gpu.hpp"
#include "bench/versus_options.hpp"
#include "io/json_record.hpp"

/// What the comparisons with the GPU vendor's factorizations share.
namespace bench {

inline constexpr double max_ratio = 30;  // LAPACK's own tests pass below this
inline constexpr basalt::Index gemm_order = 16384, gemm_depth = 1024;

/// Gflop/s of gemms of that shape that took so long.
double gemm_gflops(const std::vector<double>& seconds);

/// The largest magnitude, NaN where there is one.
double largest(const std::vector<double>& x);

/// n random signs, the same each time: a vector by which a factorization is checked.
std::vector<double> random_signs(basalt::Index n);

/// Which of the GPU vendor's libraries is beside ours.
enum class GpuVendor { none, cusolver, cusolvermg };

/// What --vendor asks for, beside ours on so many GPUs. `on_several`: whether cuSOLVERMg has the routine.
/// Throws std::runtime_error where it is asked for by name and was not found when this was built.
GpuVendor chosen_vendor(const std::string& asked, int gpus, bool on_several);

/// What the vendor did, or that it was left out.
struct VendorRuns {
    GpuVendor vendor = GpuVendor::none;
    int gpus = 1;
    basalt::Index block = 0;      ///< columns of a block dealt to a GPU; cuSOLVERMg's alone
    std::vector<double> seconds;  ///< of the rounds that count
    /// As ours has it; checked of cuSOLVERMg alone.
    double residual_ratio = std::numeric_limits<double>::quiet_NaN();

    bool passed() const { return vendor != GpuVendor::cusolvermg || seconds.empty() || residual_ratio < max_ratio; }
    /// The end of a line of the table, of what was checked.
    std::string verdict() const;
};

/// The vendor that `options` ask for, without runs yet.
VendorRuns vendor_runs(const VersusOptions& options, int gpus, bool on_several);

/// What is compared with what, for the head of the table.
std::string vendor_line(const VendorRuns& vendor, int gpus, bool on_several);
std::string data_line(const std::string& data, int gpus);

/// The vendor's rate and ours beside it, from the seconds of the rounds; nothing where the vendor was left
/// out.
void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const VendorRuns& vendor);
/// The gemm's rate and ours as a share of it on so many GPUs.
void add_gemm(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const std::vector<double>& gemm,
              int gpus);

template <class T, template <class> class Contest>
int gpu_contests_in(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table,
                    basalt::JsonRecordWriter* records) {
    VendorGpu<T> gpu;
    bool passed = true;
    for (const basalt::Index n : options.sizes) {
        Contest<T> contest(options, runtime, gpu, n);
        contest.run();
        contest.print(table);
        if (records != nullptr) records->write(contest.record());
        passed = passed && contest.passed() && contest.vendor().passed();
    }
    return passed ? 0 : 1;
}

/// A Contest<T> for each size: its lines below `columns`, its records. `on_several`: whether cuSOLVERMg has
/// the routine. 1 where one has not passed. Throws std::runtime_error where there is no GPU.
template <template <class> class Contest>
int gpu_contests(const VersusOptions& options, const char* factorization, bool on_several, const std::string& columns) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Config config;
    config.workers = options.threads;
    config.gpus = options.gpus;
    config.gpu_memory = options.gpu_memory;
    basalt::Runtime runtime(config);
    if (runtime.gpus() == 0)
        throw std::runtime_error("--mode hybrid and gpu: this machine has no GPU that CUDA can use");
    fmt::print(table, "{} {}, precision {}{}, {} CPU threads, {} GPUs, median of {} in turn\n", options.mode,
               factorization, options.precision, options.tf32 ? " (ours: products in TF32)" : "", runtime.workers(),
               runtime.gpus(), options.repeat);
    fmt::print(table, "ours: {}\n", data_line(options.data, runtime.gpus()));
    fmt::print(table, "vendor: {}\n",
               vendor_line(vendor_runs(options, runtime.gpus(), on_several), runtime.gpus(), on_several));
    fmt::print(table, "gemm: {} x {}, K = {}, on one GPU; Tflop/s\n{}\n", gemm_order, gemm_order, gemm_depth, columns);
    if (options.precision == 's') return gpu_contests_in<float, Contest>(options, runtime, table, records.get());
    return gpu_contests_in<double, Contest>(options, runtime, table, records.get());
}

}  // namespace bench
