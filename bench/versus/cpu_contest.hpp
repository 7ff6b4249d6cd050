#pragma once

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/common/clock.hpp"
#include "bench/common/record_file.hpp"
#include "bench/vendor/vendor.hpp"
#include "bench/versus/contest_record.hpp"
#include "bench/versus/options.hpp"
#include "io/files/json_record.hpp"

/// The common part of the comparisons with OpenBLAS's factorizations.
namespace bench {

inline lapack_int narrow(basalt::Index value) { return static_cast<lapack_int>(value); }

/// One factorization of one size: ours, OpenBLAS's and its plain gemm in turn, each with all threads while the other
/// contestants' threads sleep. A derived class defines the factorization.
template <class T>
class CpuContest {
  public:
    using Index = basalt::Index;
    using Columns = basalt::View<T>;

    CpuContest(const CpuContest&) = delete;
    CpuContest& operator=(const CpuContest&) = delete;
    virtual ~CpuContest() = default;

    /// Runs all rounds. The first one is a warm-up, and its factors are checked.
    void run() {
        int rounds = 1;
        double fastest = std::numeric_limits<double>::infinity();
        for (int round = 0; round <= rounds; ++round) {
            const double ours = timed([&] { factor(); });
            fastest = std::min(fastest, ours);
            rounds = rounds_that_count(options_, fastest);
            if (round == 0) ours_.residual_ratio = checked_ratio();
            const double vendor = timed([&] { factor_by_vendor(); });
            const double gemm = timed(
                [&] { Vendor<T>::gemm(gemm_m_, gemm_n_, gemm_depth, gemm_a_.data(), gemm_b_.data(), gemm_c_.data()); });
            if (round == 0) continue;
            ours_.seconds.push_back(ours);
            vendor_.push_back(vendor);
            gemm_.push_back(gemm);
        }
    }

    static void print_head(std::FILE* table, const char* ratio) {
        fmt::print(table, "{:>7} {:>7} {:>9} {:>5} | {:>9} {:>7} | {:>9} {:>7} | {:>6} {:>9} | {:>7} {:>8} | {}\n", "m",
                   "n", "tile", "nb", "ours s", "Gflop/s", "vendor s", "Gflop/s", "ratio", "best/best", "gemm",
                   "fraction", ratio);
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        const auto best = [](const std::vector<double>& seconds) {
            return *std::min_element(seconds.begin(), seconds.end());
        };
        fmt::print(table,
                   "{:>7} {:>7} {:>9} {:>5} | {:>9.4f} {:>7.1f} | {:>9.4f} {:>7.1f} | {:>6.3f} {:>9.3f} | "
                   "{:>7.1f} {:>8.3f} | {:.3g} {}\n",
                   m_, n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), basalt::median(ours_.seconds),
                   r["gflops"].get<double>(), basalt::median(vendor_), r["vendor_gflops"].get<double>(),
                   r["ratio"].get<double>(), best(vendor_) / best(ours_.seconds), r["gemm_gflops"].get<double>(),
                   r["gemm_fraction"].get<double>(), ours_.residual_ratio, passed() ? "passed" : "FAILED");
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor = contest_record(options_, runtime_, m_, n_, matrix_.tile_shape(), ours_);
        describe(factor);
        basalt::JsonRecord json = basalt::to_json(factor);
        const auto rate = [](double flops, const std::vector<double>& seconds) {
            return flops / basalt::median(seconds) * 1e-9;
        };
        add_to(json);
        json["vendor"] = vendor_version();
        json["vendor_core"] = vendor_core();
        json["vendor_gflops"] = rate(factor.flops, vendor_);
        json["vendor_runs"] = vendor_;
        json["ratio"] = basalt::median(vendor_) / basalt::median(ours_.seconds);
        json["gemm_gflops"] = rate(2.0 * static_cast<double>(gemm_m_ * gemm_n_ * gemm_depth), gemm_);
        json["gemm_fraction"] = rate(factor.flops, ours_.seconds) / json["gemm_gflops"].get<double>();
        return json;
    }

    bool passed() const { return ours_.passed(); }

    static constexpr Index gemm_depth = 1024;

  protected:
    CpuContest(const VersusOptions& options, basalt::Runtime& runtime, Index m, Index n, basalt::TileShape tile,
               const char* generator)
        : options_(options),
          runtime_(runtime),
          m_(m),
          n_(n),
          original_(count(m, n)),
          work_(count(m, n)),
          matrix_(runtime, m, n, tile),
          gemm_m_(std::min(m, gemm_limit)),
          gemm_n_(std::min(n, gemm_limit)),
          gemm_a_(count(gemm_m_, gemm_depth)),
          gemm_b_(count(gemm_depth, gemm_n_)),
          gemm_c_(count(gemm_m_, gemm_n_)) {
        basalt::make_generator<T>(generator, m, n, options.seed)->fill(original(), 0, 0);
        for (std::size_t i = 0; i < gemm_a_.size(); ++i) gemm_a_[i] = original_[i % original_.size()];
        for (std::size_t i = 0; i < gemm_b_.size(); ++i) gemm_b_[i] = original_[i % original_.size()];
    }

    /// Factors work() with ours, conversion from and to column-major included.
    virtual void factor() = 0;
    virtual void factor_by_vendor() = 0;
    /// LAPACK's ratio of the factors that factor() left in work(), or a lower bound of it.
    virtual double checked_ratio() = 0;
    /// Routine, panel width, operations and INFO.
    virtual void describe(basalt::FactorRecord& record) const = 0;
    virtual void add_to(basalt::JsonRecord&) const {}

    basalt::Runtime& runtime() { return runtime_; }
    basalt::Matrix<T>& matrix() { return matrix_; }
    Index m() const { return m_; }
    Index n() const { return n_; }
    Columns original() { return Columns::column_major(original_.data(), m_, n_, m_); }
    /// The user's array, which the contestants factor in place.
    Columns work() { return Columns::column_major(work_.data(), m_, n_, m_); }

  private:
    static std::size_t count(Index rows, Index cols) { return static_cast<std::size_t>(rows * cols); }

    template <class F>
    double timed(F&& run) {
        work_ = original_;
        let_others_rest();
        const double start = now();
        run();
        return now() - start;
    }

    static constexpr Index gemm_limit = 4096;

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    const Index m_, n_;
    std::vector<T> original_, work_;
    basalt::Matrix<T> matrix_;
    const Index gemm_m_, gemm_n_;
    std::vector<T> gemm_a_, gemm_b_, gemm_c_;
    OurRuns ours_;
    std::vector<double> vendor_, gemm_;
};

template <template <class> class Contest, class T>
int cpu_contests_in(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table, RecordFile& records) {
    bool passed = true;
    for (const basalt::Index n : options.sizes) {
        Contest<T> contest(options, runtime, n);
        contest.run();
        contest.print(table);
        records.write(contest.record());
        passed = passed && contest.passed();
    }
    return passed ? 0 : 1;
}

/// Runs a Contest<T>, which is a CpuContest<T>, for each size, prints its lines and writes its records. `ratio` names
/// the ratio that is checked. Returns 1 if a check failed, otherwise 0. Throws std::bad_alloc.
template <template <class> class Contest>
int cpu_contests(const VersusOptions& options, const char* factorization, const char* ratio) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    RecordFile records(options.json);
    basalt::Runtime runtime({.workers = options.threads});
    set_vendor_threads(runtime.workers());
    const std::string note = vendor_note();
    if (!note.empty()) fmt::print(stderr, "{}\n", note);
    fmt::print(table,
               "{}, precision {}, {} threads, conversion from and to column-major timed, median of {} in turn\n"
               "vendor: {}, kernels of {}; gemm: K = {}\n",
               factorization, options.precision, runtime.workers(), rounds_text(options), vendor_version(),
               vendor_core(), CpuContest<double>::gemm_depth);
    CpuContest<double>::print_head(table, ratio);
    if (options.precision == 's') return cpu_contests_in<Contest, float>(options, runtime, table, records);
    return cpu_contests_in<Contest, double>(options, runtime, table, records);
}

}  // namespace bench
