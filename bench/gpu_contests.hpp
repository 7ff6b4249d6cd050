#pragma once

#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/user_matrix.hpp"
#include "bench/vendor_gpu.hpp"
#include "bench/vendor_runs.hpp"
#include "bench/versus_options.hpp"
#include "io/energy_meter.hpp"
#include "io/json_record.hpp"

/// What the comparisons with the GPU vendor's factorizations share.
namespace bench {

inline constexpr basalt::Index gemm_order = 16384, gemm_depth = 1024;

/// Gflop/s of gemms of that shape that took so long.
double gemm_gflops(const std::vector<double>& seconds);

/// The largest magnitude, NaN where there is one.
double largest(const std::vector<double>& x);

/// n random signs, the same each time: a vector by which a factorization is checked.
std::vector<double> random_signs(basalt::Index n);

/// What `options` ask for beside ours on so many GPUs, without runs yet. `blocks`: cuSOLVERMg's where the command line
/// names none; empty where it does not have the routine. Throws std::runtime_error where it is asked for by name and
/// was not found when this was built.
VendorRuns vendor_runs(const VersusOptions& options, int gpus, const std::vector<basalt::Index>& blocks);

/// What is compared with what, for the head of the table.
std::string vendor_line(const VendorRuns& vendor, int gpus);
std::string data_line(const std::string& data, int gpus);

/// The vendor's rate and ours beside it, from the seconds of the rounds; nothing where the vendor was left
/// out.
void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const VendorRuns& vendor);
/// Of the processor packages and those GPUs. Throws std::runtime_error where nothing can be read.
std::unique_ptr<basalt::EnergyMeter> energy_meter_of(const std::vector<basalt::DeviceInfo>& gpus);

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

/// A Contest<T>, which is a GpuContest<T>, for each size: its lines, its records. `blocks`: as vendor_runs() takes
/// them; `ratio`: what it checks. 1 where one has not passed. Throws std::runtime_error where there is no GPU.
template <template <class> class Contest>
int gpu_contests(const VersusOptions& options, const char* factorization, const std::vector<basalt::Index>& blocks,
                 const char* ratio) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Config config;
    config.workers = options.threads;
    config.gpus = options.gpus;
    config.gpu_memory = options.gpu_memory;
    if (!options.tuning.empty()) {
        config.tuning = std::make_shared<const basalt::TuningTables>(basalt::read_tuning_file(options.tuning));
    }
    basalt::Runtime runtime(config);
    if (runtime.gpus() == 0)
        throw std::runtime_error("--mode hybrid and gpu: this machine has no GPU that CUDA can use");
    fmt::print(table, "{} {}, precision {}{}, {} CPU threads, {} GPUs, median of {} in turn\n", options.mode,
               factorization, options.precision, options.tf32 ? " (ours: products in TF32)" : "", runtime.workers(),
               runtime.gpus(), options.repeat);
    fmt::print(table, "ours: {}\n", data_line(options.data, runtime.gpus()));
    fmt::print(table, "vendor: {}\n", vendor_line(vendor_runs(options, runtime.gpus(), blocks), runtime.gpus()));
    fmt::print(table, "gemm: {} x {}, K = {}, on one GPU; Tflop/s\n{}\n", gemm_order, gemm_order, gemm_depth,
               Contest<double>::head(ratio));
    if (options.precision == 's') return gpu_contests_in<float, Contest>(options, runtime, table, records.get());
    return gpu_contests_in<double, Contest>(options, runtime, table, records.get());
}

}  // namespace bench
