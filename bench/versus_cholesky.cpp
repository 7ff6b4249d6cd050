// Cholesky of the lower triangle in one process: ours, OpenBLAS's potrf and its plain gemm in turn, each with all the
// threads while the threads of the others sleep.
#include "bench/versus_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <type_traits>

#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/machine_line.hpp"
#include "bench/vendor.hpp"
#include "io/json_record.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::View;

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

lapack_int narrow(Index value) { return static_cast<lapack_int>(value); }

template <class T>
void vendor_potrf(Index n, T* a) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', narrow(n), a, narrow(n));
    } else {
        LAPACKE_spotrf_work(LAPACK_COL_MAJOR, 'L', narrow(n), a, narrow(n));
    }
}

/// ||(A - L L^T) x||_oo / (n ||A||_oo eps) for one vector x of random signs; of both arrays the lower triangle is read.
template <class T>
double residual_ratio(View<const T> a, View<const T> factor) {
    const Index n = a.rows();
    std::mt19937_64 random(1);
    std::vector<double> x(static_cast<std::size_t>(n)), product(x.size()), row_sums(x.size()), ltx(x.size());
    for (double& entry : x) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    const auto at = [](std::vector<double>& v, Index i) -> double& { return v[static_cast<std::size_t>(i)]; };
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) {
            const double element = static_cast<double>(a(i, j));
            at(product, i) += element * at(x, j);
            at(row_sums, i) += std::abs(element);
            if (i > j) at(product, j) += element * at(x, i), at(row_sums, j) += std::abs(element);
            at(ltx, j) += static_cast<double>(factor(i, j)) * at(x, i);
        }
    }
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) at(product, i) -= static_cast<double>(factor(i, j)) * at(ltx, j);
    }
    double error = 0;
    for (const double entry : product)
        error = std::abs(entry) <= error ? error : std::abs(entry);  // also where it is NaN
    const double norm = *std::max_element(row_sums.begin(), row_sums.end());
    return error / (static_cast<double>(n) * norm * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

/// The arrays of one size, and what is done with them.
template <class T>
class CholeskyContest {
  public:
    CholeskyContest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
        : options_(options),
          runtime_(runtime),
          n_(n),
          tile_(options.tile == basalt::TileShape{} ? basalt::default_cholesky_tile(runtime.tuning(), n)
                                                    : options.tile),
          original_(count(n_, n_)),
          work_(count(n_, n_)),
          matrix_(runtime, n_, n_, tile_),
          gemm_n_(std::min(n_, gemm_limit)),
          gemm_a_(count(gemm_n_, gemm_depth)),
          gemm_b_(count(gemm_depth, gemm_n_)),
          gemm_c_(count(gemm_n_, gemm_n_)) {
        if (options.m > 0 && options.m != n)
            throw std::invalid_argument("--m: Cholesky is of square matrices, allowed is --n");
        cholesky_options_.mode = basalt::FactorMode::cpu;
        const Index nb = options.nb > 0
                             ? options.nb
                             : basalt::default_cholesky_panel(runtime.tuning(), cholesky_options_.mode, n_, n_);
        cholesky_options_.panel_width = std::min(nb, tile_.width);
        cholesky_options_.lookahead = options.lookahead;
        basalt::make_generator<T>("spd", n_, n_, options.seed)->fill(columns(original_), 0, 0);
        for (std::size_t i = 0; i < gemm_a_.size(); ++i) gemm_a_[i] = original_[i % original_.size()];
        for (std::size_t i = 0; i < gemm_b_.size(); ++i) gemm_b_[i] = original_[i % original_.size()];
    }

    /// Rounds of ours, potrf, gemm; the first one is not counted, its result is checked.
    void run() {
        for (int round = 0; round <= options_.repeat; ++round) {
            const double ours = time_ours(), vendor = time_vendor(), gemm = time_gemm();
            if (round == 0) continue;
            ours_.push_back(ours);
            vendor_.push_back(vendor);
            gemm_.push_back(gemm);
        }
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        fmt::print(
            table,
            "{:>7} {:>9} {:>5} | {:>9.4f} {:>7.1f} | {:>9.4f} {:>7.1f} | {:>6.3f} | {:>7.1f} {:>8.3f} | {:.3g} {}\n",
            n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), basalt::median(ours_), r["gflops"].get<double>(),
            basalt::median(vendor_), r["vendor_gflops"].get<double>(), r["ratio"].get<double>(),
            r["gemm_gflops"].get<double>(), r["gemm_fraction"].get<double>(), ratio_, passed() ? "passed" : "FAILED");
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor;
        factor.routine = "potrf";
        factor.precision = options_.precision;
        factor.m = factor.n = n_;
        factor.nb = cholesky_options_.panel_width;
        factor.tile = fmt::format("{}x{}", tile_.height, tile_.width);
        factor.mode = "cpu";
        factor.cpus = runtime_.workers();
        factor.runs = ours_;
        factor.flops = std::pow(static_cast<double>(n_), 3) / 3;
        factor.residual_ratio = ratio_;
        factor.passed = passed();
        factor.machine = machine_line();
        factor.commit = build_commit;
        basalt::JsonRecord json = basalt::to_json(factor);
        const auto rate = [](double flops, const std::vector<double>& seconds) {
            return flops / basalt::median(seconds) * 1e-9;
        };
        json["vendor"] = vendor_version();
        json["vendor_core"] = vendor_core();
        json["vendor_gflops"] = rate(factor.flops, vendor_);
        json["vendor_runs"] = vendor_;
        json["ratio"] = basalt::median(vendor_) / basalt::median(ours_);
        json["gemm_gflops"] = rate(2.0 * static_cast<double>(gemm_n_ * gemm_n_ * gemm_depth), gemm_);
        json["gemm_fraction"] = rate(factor.flops, ours_) / json["gemm_gflops"].get<double>();
        return json;
    }

    bool passed() const { return ratio_ < max_ratio; }

  private:
    static std::size_t count(Index rows, Index cols) { return static_cast<std::size_t>(rows * cols); }
    View<T> columns(std::vector<T>& array) { return View<T>::column_major(array.data(), n_, n_, n_); }

    double time_ours() {
        work_ = original_;
        let_others_rest();
        const double start = now();
        matrix_.load_triangle(basalt::Triangle::lower, columns(work_));
        const auto cholesky = basalt::cholesky_factor(runtime_, matrix_, basalt::Triangle::lower, cholesky_options_);
        matrix_.store_triangle(basalt::Triangle::lower, columns(work_));
        runtime_.wait();
        const double seconds = now() - start;
        if (ratio_ < 0) {
            ratio_ = cholesky.info() == 0 ? residual_ratio<T>(columns(original_), columns(work_))
                                          : std::numeric_limits<double>::quiet_NaN();
        }
        return seconds;
    }

    double time_vendor() {
        work_ = original_;
        let_others_rest();
        const double start = now();
        vendor_potrf<T>(n_, work_.data());
        return now() - start;
    }

    double time_gemm() {
        let_others_rest();
        const double start = now();
        Vendor<T>::gemm(gemm_n_, gemm_n_, gemm_depth, gemm_a_.data(), gemm_b_.data(), gemm_c_.data());
        return now() - start;
    }

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    const Index n_;
    const basalt::TileShape tile_;
    basalt::CholeskyOptions cholesky_options_;
    std::vector<T> original_, work_;  ///< column-major; work_ is the user's array that is factored
    basalt::Matrix<T> matrix_;

    static constexpr Index gemm_limit = 4096, gemm_depth = 1024;
    const Index gemm_n_;
    std::vector<T> gemm_a_, gemm_b_, gemm_c_;

    std::vector<double> ours_, vendor_, gemm_;
    double ratio_ = -1;  ///< before the check
};

template <class T>
int contests(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table,
             basalt::JsonRecordWriter* records) {
    bool passed = true;
    for (const Index n : options.sizes) {
        CholeskyContest<T> contest(options, runtime, n);
        contest.run();
        contest.print(table);
        if (records != nullptr) records->write(contest.record());
        passed = passed && contest.passed();
    }
    return passed ? 0 : 1;
}

}  // namespace

int versus_cholesky(const VersusOptions& options) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Runtime runtime({.workers = options.threads});
    set_vendor_threads(runtime.workers());
    const std::string note = vendor_note();
    if (!note.empty()) fmt::print(stderr, "{}\n", note);
    fmt::print(table,
               "Cholesky, precision {}, {} threads, conversion from and to column-major timed, median of {} in turn\n"
               "vendor: {}, kernels of {}; gemm: K = {}\n",
               options.precision, runtime.workers(), options.repeat, vendor_version(), vendor_core(), 1024);
    fmt::print(table, "{:>7} {:>9} {:>5} | {:>9} {:>7} | {:>9} {:>7} | {:>6} | {:>7} {:>8} | {}\n", "n", "tile", "nb",
               "ours s", "Gflop/s", "vendor s", "Gflop/s", "ratio", "gemm", "fraction",
               "||(A - LL') x|| / (n ||A|| eps)");
    if (options.precision == 's') return contests<float>(options, runtime, table, records.get());
    return contests<double>(options, runtime, table, records.get());
}

}  // namespace bench
