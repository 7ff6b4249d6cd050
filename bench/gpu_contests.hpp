#pragma once

#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

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

/// The vendor's rate and ours beside it, from the seconds of the rounds; nothing where the vendor was left out.
void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours,
                const std::vector<double>& vendor);
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
        passed = passed && contest.passed();
    }
    return passed ? 0 : 1;
}

/// A Contest<T> for each size: its lines below `columns`, its records. 1 where one has not passed. Throws
/// std::runtime_error where there is no GPU.
template <template <class> class Contest>
int gpu_contests(const VersusOptions& options, const char* factorization, const std::string& columns) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Config config;
    config.workers = options.threads;
    config.gpus = options.gpus;
    config.gpu_memory = options.gpu_memory;
    basalt::Runtime runtime(config);
    if (runtime.gpus() == 0) throw std::runtime_error("--mode hybrid and gpu: this machine has no GPU that CUDA can use");
    fmt::print(table,
               "{} {}, precision {}{}, {} CPU threads, {} GPUs, conversion from and to column-major timed, median of {} "
               "in turn\n"
               "vendor: {} on one GPU; gemm: {} x {}, K = {}; Tflop/s\n{}\n",
               options.mode, factorization, options.precision, options.tf32 ? " (ours: products in TF32)" : "",
               runtime.workers(), runtime.gpus(), options.repeat, vendor_gpu_version(), gemm_order, gemm_order,
               gemm_depth, columns);
    if (options.precision == 's') return gpu_contests_in<float, Contest>(options, runtime, table, records.get());
    return gpu_contests_in<double, Contest>(options, runtime, table, records.get());
}

}  // namespace bench
