#pragma once

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/common/record_file.hpp"
#include "bench/vendor/gpu.hpp"
#include "bench/vendor/runs.hpp"
#include "bench/versus/options.hpp"
#include "bench/versus/user_matrix.hpp"
#include "io/energy/energy_meter.hpp"
#include "io/files/json_record.hpp"

/// The common part of the comparisons with the GPU vendor's factorizations.
namespace bench {

inline constexpr basalt::Index gemm_order = 16384, gemm_depth = 1024;

/// Gflop/s of gemms of that shape with these times.
double gemm_gflops(const std::vector<double>& seconds);

/// The largest magnitude; NaN if there is a NaN.
double largest(const std::vector<double>& x);

/// n random signs, equal in all calls: the vector that checks a factorization.
std::vector<double> random_signs(basalt::Index n);

/// Sets what the options of all factorizations have: LuOptions, CholeskyOptions and QrOptions.
template <class Options>
void take_common_options(const VersusOptions& from, Options& to) {
    to.mode = from.mode == "gpu" ? basalt::FactorMode::gpu : basalt::FactorMode::hybrid;
    to.gpu_panels_below = from.gpu_panels_below;
    to.lookahead = from.lookahead;
    to.narrow_at_end = from.narrow_at_end;
}

/// A remark for the head of the table about products that are not the usual ones; may be empty.
std::string ours_multiplies(const VersusOptions& options);
/// The fields of such products.
void add_products(const VersusOptions& options, basalt::JsonRecord& json);

/// The vendor's library that `options` select for a comparison on `gpus` GPUs, without runs yet. `blocks`: cuSOLVERMg's
/// blocks if the command line names none; empty if it does not have the routine. Throws std::runtime_error if it is
/// requested by name and this build does not have it.
VendorRuns vendor_runs(const VersusOptions& options, int gpus, const std::vector<basalt::Index>& blocks);

/// Texts for the head of the table: the vendor's side, and the place of the matrix.
std::string vendor_line(const VendorRuns& vendor, int gpus);
std::string data_line(const std::string& data, int gpus);

/// Adds the vendor's rate and the ratio to ours, from the seconds of the rounds; only the vendor's name if it did not
/// run.
void add_vendor(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const VendorRuns& vendor);
/// A meter of the processor packages and these GPUs. Throws std::runtime_error if no counter can be read.
std::unique_ptr<basalt::EnergyMeter> energy_meter_of(const std::vector<basalt::DeviceInfo>& gpus);

/// Adds the gemm's rate and our rate per GPU as a fraction of it.
void add_gemm(basalt::JsonRecord& json, double flops, const std::vector<double>& ours, const std::vector<double>& gemm,
              int gpus);

template <class T, template <class> class Contest>
int gpu_contests_in(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table, RecordFile& records) {
    VendorGpu<T> gpu;
    bool passed = true;
    for (const basalt::Index n : options.sizes) {
        Contest<T> contest(options, runtime, gpu, n);
        contest.run();
        contest.print(table);
        records.write(contest.record());
        passed = passed && contest.passed() && contest.vendor().passed();
    }
    return passed ? 0 : 1;
}

/// Runs a Contest<T>, which is a GpuContest<T>, for each size, prints its lines and writes its records. `blocks`: as in
/// vendor_runs(); `ratio` names the ratio that is checked. Returns 1 if a check failed, otherwise 0. Throws
/// std::runtime_error without a GPU.
template <template <class> class Contest>
int gpu_contests(const VersusOptions& options, const char* factorization, const std::vector<basalt::Index>& blocks,
                 const char* ratio) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    RecordFile records(options.json);
    basalt::Config config;
    config.workers = options.threads;
    if (options.gpus) config.gpus = *options.gpus;
    config.gpu_memory = options.gpu_memory;
    if (!options.tuning.empty()) {
        config.tuning = std::make_shared<const basalt::TuningTables>(basalt::read_tuning_file(options.tuning));
    }
    basalt::Runtime runtime(config);
    if (runtime.gpus() == 0)
        throw std::runtime_error("--mode hybrid and gpu: this machine has no GPU that CUDA can use");
    fmt::print(table, "{} {}, precision {}{}, {} CPU threads, {} GPUs, median of {} in turn\n", options.mode,
               factorization, options.precision, ours_multiplies(options), runtime.workers(), runtime.gpus(),
               rounds_text(options));
    fmt::print(table, "ours: {}\n", data_line(options.data, runtime.gpus()));
    fmt::print(table, "vendor: {}\n", vendor_line(vendor_runs(options, runtime.gpus(), blocks), runtime.gpus()));
    fmt::print(table, "gemm: {} x {}, K = {}, on one GPU; Tflop/s\n{}\n", gemm_order, gemm_order, gemm_depth,
               Contest<double>::head(ratio));
    if (options.precision == 's') return gpu_contests_in<float, Contest>(options, runtime, table, records);
    return gpu_contests_in<double, Contest>(options, runtime, table, records);
}

}  // namespace bench
