// LU in one process: ours, OpenBLAS's getrf and its plain gemm in turn, each with all the threads while the
// threads of the others sleep.
#include "bench/versus_lu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <basalt/lu.hpp>

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

/// LAPACK's count in its leading terms; 2/3 n^3 for m = n.
double operations(Index m, Index n) {
    const auto k = static_cast<double>(std::min(m, n));
    const auto l = static_cast<double>(std::max(m, n));
    return k * k * (l - k / 3);
}

double rate(double flops, const std::vector<double>& seconds) { return flops / basalt::median(seconds) * 1e-9; }
double best(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

double infinity_norm(const std::vector<double>& x) {
    double norm = 0;
    for (const double entry : x) norm = std::fmax(norm, std::abs(entry));
    return norm;
}

/// y += A x for rows [first(j), last(j)) of column j.
template <class T, class First, class Last>
void add_product(View<const T> a, const std::vector<double>& x, std::vector<double>& y, First first, Last last) {
    for (Index j = 0; j < a.cols(); ++j) {
        const double factor = x[static_cast<std::size_t>(j)];
        for (Index i = first(j); i < last(j); ++i) {
            y[static_cast<std::size_t>(i)] += static_cast<double>(a(i, j)) * factor;
        }
    }
}

/// ||(A - P L U) x||_oo / (n ||A||_oo eps) for one vector x of random signs: a lower bound of LAPACK's ratio
/// in the infinity norm, at the cost of three products with a vector. NaN where the factors hold one.
template <class T>
double residual_ratio(View<const T> a, View<const T> factors, const std::vector<Index>& pivots) {
    const auto none = [](Index) { return Index{0}; };
    const auto all = [&](Index) { return a.rows(); };
    const Index k = std::min(a.rows(), a.cols());
    std::mt19937_64 random(1);
    std::vector<double> x(static_cast<std::size_t>(a.cols())), ux(static_cast<std::size_t>(k));
    for (double& entry : x) entry = (random() >> 63) != 0 ? 1.0 : -1.0;
    add_product(factors, x, ux, none, [&](Index j) { return std::min(j + 1, k); });
    std::vector<double> plux = ux;  // the unit diagonal of L
    plux.resize(static_cast<std::size_t>(a.rows()));
    add_product(
        factors.block(0, 0, a.rows(), k), ux, plux, [](Index j) { return j + 1; }, all);
    for (Index i = std::ssize(pivots) - 1; i >= 0; --i) {
        std::swap(plux[static_cast<std::size_t>(i)],
                  plux[static_cast<std::size_t>(pivots[static_cast<std::size_t>(i)] - 1)]);
    }

    std::vector<double> residual(static_cast<std::size_t>(a.rows())), row_sums(residual.size());
    add_product(a, x, residual, none, all);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= plux[i];
    for (Index j = 0; j < a.cols(); ++j) {
        for (Index i = 0; i < a.rows(); ++i) {
            row_sums[static_cast<std::size_t>(i)] += std::abs(static_cast<double>(a(i, j)));
        }
    }
    const double sum = [&] {  // fmax() ignores NaN, a sum does not
        double total = 0;
        for (const double entry : residual) total += entry;
        return total;
    }();
    if (std::isnan(sum)) return sum;
    const double epsilon = std::numeric_limits<T>::epsilon() / 2;
    return infinity_norm(residual) / (static_cast<double>(a.cols()) * infinity_norm(row_sums) * epsilon);
}

/// The arrays of one size, and what is done with them.
template <class T>
class Contest {
  public:
    Contest(const VersusOptions& options, basalt::Runtime& runtime, Index n);

    /// Rounds of ours, getrf, gemm; the first one is not counted, its result is checked.
    void run();
    void print(std::FILE* table) const;
    basalt::JsonRecord record() const;
    bool passed() const { return ratio_ < max_ratio; }

  private:
    static std::size_t count(Index rows, Index cols) { return static_cast<std::size_t>(rows * cols); }
    View<T> columns(std::vector<T>& array) { return View<T>::column_major(array.data(), m_, n_, m_); }

    double time_ours();
    double time_vendor();
    double time_gemm();
    void check(const basalt::LuFactors<T>& lu);

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    const Index m_, n_;
    const basalt::TileShape tile_;
    basalt::LuOptions lu_options_;
    std::vector<T> original_, work_;  ///< column-major; work_ is the user's array that is factored
    std::vector<lapack_int> pivots_;
    basalt::Matrix<T> matrix_;

    static constexpr Index gemm_limit = 4096, gemm_depth = 1024;
    const Index gemm_m_, gemm_n_;
    std::vector<T> gemm_a_, gemm_b_, gemm_c_;

    std::vector<double> ours_, vendor_, gemm_;
    double ratio_ = -1;  ///< before the check
    Index info_ = 0;
};

template <class T>
Contest<T>::Contest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
    : options_(options),
      runtime_(runtime),
      m_(options.m > 0 ? options.m : n),
      n_(n),
      tile_(options.tile == basalt::TileShape{} ? basalt::default_lu_tile(runtime.tuning(), m_, n_) : options.tile),
      original_(count(m_, n_)),
      work_(count(m_, n_)),
      pivots_(static_cast<std::size_t>(std::min(m_, n_))),
      matrix_(runtime, m_, n_, tile_),
      gemm_m_(std::min(m_, gemm_limit)),
      gemm_n_(std::min(n_, gemm_limit)),
      gemm_a_(count(gemm_m_, gemm_depth)),
      gemm_b_(count(gemm_depth, gemm_n_)),
      gemm_c_(count(gemm_m_, gemm_n_)) {
    const Index nb = options.nb > 0 ? options.nb : basalt::default_lu_tile(runtime.tuning(), m_, n_).width;
    lu_options_.panel_width = std::min(nb, tile_.width);
    lu_options_.panel_threads = options.panel_threads;
    lu_options_.lookahead = options.lookahead;
    basalt::make_generator<T>("random", m_, n_, options.seed)->fill(columns(original_), 0, 0);
    for (std::size_t i = 0; i < gemm_a_.size(); ++i) gemm_a_[i] = original_[i % original_.size()];
    for (std::size_t i = 0; i < gemm_b_.size(); ++i) gemm_b_[i] = original_[i % original_.size()];
}

template <class T>
void Contest<T>::run() {
    for (int round = 0; round <= options_.repeat; ++round) {
        const auto keep = [round](std::vector<double>& list, double seconds) {
            if (round > 0) list.push_back(seconds);
        };
        keep(ours_, time_ours());
        keep(vendor_, time_vendor());
        keep(gemm_, time_gemm());
    }
}

template <class T>
double Contest<T>::time_ours() {
    work_ = original_;
    let_others_rest();
    const double start = now();
    matrix_.load(columns(work_));
    const auto lu = basalt::lu_factor(runtime_, matrix_, lu_options_);
    matrix_.store(columns(work_));
    runtime_.wait();
    const double seconds = now() - start;
    if (ratio_ < 0) check(lu);
    return seconds;
}

template <class T>
void Contest<T>::check(const basalt::LuFactors<T>& lu) {
    info_ = lu.info();
    ratio_ = residual_ratio<T>(columns(original_), columns(work_), lu.pivots());
}

template <class T>
double Contest<T>::time_vendor() {
    work_ = original_;
    let_others_rest();
    const double start = now();
    Vendor<T>::getrf(m_, n_, work_.data(), pivots_);
    return now() - start;
}

template <class T>
double Contest<T>::time_gemm() {
    let_others_rest();
    const double start = now();
    Vendor<T>::gemm(gemm_m_, gemm_n_, gemm_depth, gemm_a_.data(), gemm_b_.data(), gemm_c_.data());
    return now() - start;
}

template <class T>
basalt::JsonRecord Contest<T>::record() const {
    basalt::FactorRecord factor;
    factor.routine = "getrf";
    factor.precision = options_.precision;
    factor.m = m_;
    factor.n = n_;
    factor.nb = lu_options_.panel_width;
    factor.tile = fmt::format("{}x{}", tile_.height, tile_.width);
    factor.mode = "cpu";
    factor.cpus = runtime_.workers();
    factor.runs = ours_;
    factor.flops = operations(m_, n_);
    factor.residual_ratio = ratio_;
    factor.passed = passed();
    factor.info = info_;
    factor.machine = machine_line();
    factor.commit = build_commit;
    basalt::JsonRecord json = basalt::to_json(factor);
    const double gemm = rate(2.0 * static_cast<double>(gemm_m_ * gemm_n_ * gemm_depth), gemm_);
    json["vendor"] = vendor_version();
    json["vendor_core"] = vendor_core();
    json["vendor_gflops"] = rate(factor.flops, vendor_);
    json["vendor_runs"] = vendor_;
    json["ratio"] = basalt::median(vendor_) / basalt::median(ours_);
    json["gemm_gflops"] = gemm;
    json["gemm_fraction"] = rate(factor.flops, ours_) / gemm;
    return json;
}

constexpr const char* header = "{:>7} {:>7} {:>9} {:>5} | {:>9} {:>7} | {:>9} {:>7} | {:>6} {:>9} | {:>7} {:>8} | {}\n";

template <class T>
void Contest<T>::print(std::FILE* table) const {
    const basalt::JsonRecord r = record();
    fmt::print(table,
               "{:>7} {:>7} {:>9} {:>5} | {:>9.4f} {:>7.1f} | {:>9.4f} {:>7.1f} | {:>6.3f} {:>9.3f} | "
               "{:>7.1f} {:>8.3f} | "
               "info {}, ratio {:.3g} {}\n",
               m_, n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), r["seconds"].get<double>(),
               r["gflops"].get<double>(), basalt::median(vendor_), r["vendor_gflops"].get<double>(),
               r["ratio"].get<double>(), best(vendor_) / best(ours_), r["gemm_gflops"].get<double>(),
               r["gemm_fraction"].get<double>(), info_, ratio_, passed() ? "passed" : "FAILED");
    std::fflush(table);
}

template <class T>
int contests(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table,
             basalt::JsonRecordWriter* records) {
    bool passed = true;
    for (const Index n : options.sizes) {
        Contest<T> contest(options, runtime, n);
        contest.run();
        contest.print(table);
        if (records != nullptr) records->write(contest.record());
        passed = passed && contest.passed();
    }
    return passed ? 0 : 1;
}

}  // namespace

int versus_lu(const VersusOptions& options) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Runtime runtime({.workers = options.threads});
    set_vendor_threads(runtime.workers());

    const std::string note = vendor_note();
    if (!note.empty()) fmt::print(stderr, "{}\n", note);
    fmt::print(table,
               "LU, precision {}, {} threads, conversion from and to column-major timed, median of {} in turn\n"
               "vendor: {}, kernels of {}; gemm: K = {}\n",
               options.precision, runtime.workers(), options.repeat, vendor_version(), vendor_core(), 1024);
    fmt::print(table, fmt::runtime(header), "m", "n", "tile", "nb", "ours s", "Gflop/s", "vendor s", "Gflop/s", "ratio",
               "best/best", "gemm", "fraction", "||(A - PLU) x|| / (n ||A|| eps)");
    if (options.precision == 's') return contests<float>(options, runtime, table, records.get());
    return contests<double>(options, runtime, table, records.get());
}

}  // namespace bench
