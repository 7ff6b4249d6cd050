// QR in one process: ours, OpenBLAS's geqrf and its plain gemm in turn, each with all the threads while the threads of
// the others sleep.
#include "bench/versus_qr.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>

#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/machine_line.hpp"
#include "bench/qr_flops.hpp"
#include "bench/vendor.hpp"
#include "io/json_record.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::View;

constexpr double max_ratio = 30;  // LAPACK's own tests pass below this

lapack_int narrow(Index value) { return static_cast<lapack_int>(value); }

template <class T>
void vendor_geqrf(Index m, Index n, T* a, T* tau) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dgeqrf(LAPACK_COL_MAJOR, narrow(m), narrow(n), a, narrow(m), tau);
    } else {
        LAPACKE_sgeqrf(LAPACK_COL_MAJOR, narrow(m), narrow(n), a, narrow(m), tau);
    }
}

/// C = Q C by OpenBLAS, one column.
template <class T>
void vendor_multiply(Index m, Index k, const T* a, const T* tau, T* c) {
    if constexpr (std::is_same_v<T, double>) {
        LAPACKE_dormqr(LAPACK_COL_MAJOR, 'L', 'N', narrow(m), 1, narrow(k), a, narrow(m), tau, c, narrow(m));
    } else {
        LAPACKE_sormqr(LAPACK_COL_MAJOR, 'L', 'N', narrow(m), 1, narrow(k), a, narrow(m), tau, c, narrow(m));
    }
}

/// ||(A - Q R) x||_oo / (max(m, n) ||A||_oo eps) for one vector x of random signs; multiply(c) makes Q c in its place.
template <class T, class F>
double residual_ratio(View<const T> a, View<const T> factors, const F& multiply) {
    const Index m = a.rows(), n = a.cols(), k = std::min(m, n);
    std::mt19937_64 random(1);
    std::vector<double> product(static_cast<std::size_t>(m)), row_sums(product.size()), rx(product.size());
    for (Index j = 0; j < n; ++j) {
        const double x = (random() >> 63) != 0 ? 1.0 : -1.0;
        for (Index i = 0; i < m; ++i) {
            product[static_cast<std::size_t>(i)] += x * static_cast<double>(a(i, j));
            row_sums[static_cast<std::size_t>(i)] += std::abs(static_cast<double>(a(i, j)));
        }
        for (Index i = 0; i < std::min(j + 1, k); ++i)
            rx[static_cast<std::size_t>(i)] += x * static_cast<double>(factors(i, j));
    }
    std::vector<T> qrx(rx.begin(), rx.end());
    multiply(qrx.data());
    double error = 0;
    for (std::size_t i = 0; i < product.size(); ++i) {
        const double difference = std::abs(product[i] - static_cast<double>(qrx[i]));
        if (!(difference <= error)) error = difference;  // also where it is NaN
    }
    const double norm = *std::max_element(row_sums.begin(), row_sums.end());
    return error /
           (static_cast<double>(std::max(m, n)) * norm * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
}

/// The arrays of one size, and what is done with them.
template <class T>
class QrContest {
  public:
    QrContest(const VersusOptions& options, basalt::Runtime& runtime, Index n)
        : options_(options),
          runtime_(runtime),
          m_(options.m > 0 ? options.m : n),
          n_(n),
          qr_options_(chosen_options(options, runtime.tuning(), m_, n_)),
          tile_(options.tile == basalt::TileShape{}
                    ? basalt::default_qr_tile(runtime.tuning(), m_, n_, 0, qr_options_.method)
                    : options.tile),
          original_(count(m_, n_)),
          work_(count(m_, n_)),
          tau_(static_cast<std::size_t>(std::min(m_, n_))),
          matrix_(runtime, m_, n_, tile_),
          gemm_m_(std::min(m_, gemm_limit)),
          gemm_n_(std::min(n_, gemm_limit)),
          gemm_a_(count(gemm_m_, gemm_depth)),
          gemm_b_(count(gemm_depth, gemm_n_)),
          gemm_c_(count(gemm_m_, gemm_n_)) {
        if (qr_options_.panel_width == 0) {
            qr_options_.panel_width =
                by_tiles() ? tile_.width : basalt::default_qr_panel(runtime.tuning(), qr_options_.mode, m_, n_);
        }
        qr_options_.panel_width = std::min(qr_options_.panel_width, tile_.width);
        basalt::make_generator<T>("random", m_, n_, options.seed)->fill(columns(original_), 0, 0);
        for (std::size_t i = 0; i < gemm_a_.size(); ++i) gemm_a_[i] = original_[i % original_.size()];
        for (std::size_t i = 0; i < gemm_b_.size(); ++i) gemm_b_[i] = original_[i % original_.size()];
    }

    /// Rounds of ours, geqrf, gemm; the first one is not counted, its result is checked.
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
        fmt::print(table,
                   "{:>7} {:>7} {:>9} {:>5} | {:>9.4f} {:>7.1f} | {:>9.4f} {:>7.1f} | {:>6.3f} | {:>7.1f} {:>8.3f} | "
                   "{:.3g} {}\n",
                   m_, n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), basalt::median(ours_),
                   r["gflops"].get<double>(), basalt::median(vendor_), r["vendor_gflops"].get<double>(),
                   r["ratio"].get<double>(), r["gemm_gflops"].get<double>(), r["gemm_fraction"].get<double>(), ratio_,
                   passed() ? "passed" : "FAILED");
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor;
        factor.routine = "geqrf";
        factor.precision = options_.precision;
        factor.m = m_;
        factor.n = n_;
        factor.nb = qr_options_.panel_width;
        factor.tile = fmt::format("{}x{}", tile_.height, tile_.width);
        factor.mode = "cpu";
        factor.cpus = runtime_.workers();
        factor.runs = ours_;
        factor.flops = qr_flops(m_, n_);
        factor.residual_ratio = ratio_;
        factor.passed = passed();
        factor.machine = machine_line();
        factor.commit = build_commit;
        basalt::JsonRecord json = basalt::to_json(factor);
        const auto rate = [](double flops, const std::vector<double>& seconds) {
            return flops / basalt::median(seconds) * 1e-9;
        };
        json["method"] = by_tiles() ? "tile" : "blocked";
        json["vendor"] = vendor_version();
        json["vendor_core"] = vendor_core();
        json["vendor_gflops"] = rate(factor.flops, vendor_);
        json["vendor_runs"] = vendor_;
        json["ratio"] = basalt::median(vendor_) / basalt::median(ours_);
        json["gemm_gflops"] = rate(2.0 * static_cast<double>(gemm_m_ * gemm_n_ * gemm_depth), gemm_);
        json["gemm_fraction"] = rate(factor.flops, ours_) / json["gemm_gflops"].get<double>();
        return json;
    }

    bool passed() const { return ratio_ < max_ratio; }

  private:
    static basalt::QrOptions chosen_options(const VersusOptions& options, const basalt::Tuning& tuning, Index m,
                                            Index n) {
        basalt::QrOptions chosen;
        chosen.mode = basalt::QrMode::cpu;
        chosen.method = options.method == "tile"   ? basalt::QrMethod::tile
                        : options.method == "auto" ? basalt::QrMethod::automatic
                                                   : basalt::QrMethod::blocked;
        chosen.panel_width = options.nb;
        chosen.panel_threads = options.panel_threads;
        chosen.lookahead = options.lookahead;
        return basalt::with_chosen_qr_method(tuning, chosen, chosen.mode, m, n);
    }
    bool by_tiles() const { return qr_options_.method == basalt::QrMethod::tile; }
    static std::size_t count(Index rows, Index cols) { return static_cast<std::size_t>(rows * cols); }
    View<T> columns(std::vector<T>& array) { return View<T>::column_major(array.data(), m_, n_, m_); }

    double time_ours() {
        work_ = original_;
        let_others_rest();
        const double start = now();
        matrix_.load(columns(work_));
        const auto qr = basalt::qr_factor(runtime_, matrix_, qr_options_);
        matrix_.store(columns(work_));
        runtime_.wait();
        const double seconds = now() - start;
        if (ratio_ < 0) ratio_ = ratio_of(qr);
        return seconds;
    }

    /// Q by OpenBLAS's ormqr where it understands the factors.
    double ratio_of(const basalt::QrFactors<T>& qr) {
        return residual_ratio<T>(columns(original_), columns(work_), [&](T* c) {
            if (!by_tiles()) return vendor_multiply<T>(m_, std::min(m_, n_), work_.data(), qr.tau().data(), c);
            auto product = basalt::Matrix<T>::from_columns(runtime_, c, m_, 1, m_);
            basalt::qr_apply(runtime_, qr, basalt::QrSide::left, basalt::QrOp::plain, product);
            product.store(View<T>::column_major(c, m_, 1, m_));
            runtime_.wait();
        });
    }

    double time_vendor() {
        work_ = original_;
        let_others_rest();
        const double start = now();
        vendor_geqrf<T>(m_, n_, work_.data(), tau_.data());
        return now() - start;
    }

    double time_gemm() {
        let_others_rest();
        const double start = now();
        Vendor<T>::gemm(gemm_m_, gemm_n_, gemm_depth, gemm_a_.data(), gemm_b_.data(), gemm_c_.data());
        return now() - start;
    }

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    const Index m_, n_;
    basalt::QrOptions qr_options_;
    const basalt::TileShape tile_;
    std::vector<T> original_, work_;  ///< column-major; work_ is the user's array that is factored
    std::vector<T> tau_;
    basalt::Matrix<T> matrix_;

    static constexpr Index gemm_limit = 4096, gemm_depth = 1024;
    const Index gemm_m_, gemm_n_;
    std::vector<T> gemm_a_, gemm_b_, gemm_c_;

    std::vector<double> ours_, vendor_, gemm_;
    double ratio_ = -1;  ///< before the check
};

template <class T>
int contests(const VersusOptions& options, basalt::Runtime& runtime, std::FILE* table,
             basalt::JsonRecordWriter* records) {
    bool passed = true;
    for (const Index n : options.sizes) {
        QrContest<T> contest(options, runtime, n);
        contest.run();
        contest.print(table);
        if (records != nullptr) records->write(contest.record());
        passed = passed && contest.passed();
    }
    return passed ? 0 : 1;
}

}  // namespace

int versus_qr(const VersusOptions& options) {
    std::FILE* table = options.json == "-" ? stderr : stdout;
    std::unique_ptr<basalt::JsonRecordWriter> records;
    if (!options.json.empty()) records = std::make_unique<basalt::JsonRecordWriter>(options.json, std::cout);
    basalt::Runtime runtime({.workers = options.threads});
    set_vendor_threads(runtime.workers());
    const std::string note = vendor_note();
    if (!note.empty()) fmt::print(stderr, "{}\n", note);
    fmt::print(table,
               "QR, precision {}, {} threads, conversion from and to column-major timed, median of {} in turn\n"
               "vendor: {}, kernels of {}; gemm: K = {}\n",
               options.precision, runtime.workers(), options.repeat, vendor_version(), vendor_core(), 1024);
    fmt::print(table, "{:>7} {:>7} {:>9} {:>5} | {:>9} {:>7} | {:>9} {:>7} | {:>6} | {:>7} {:>8} | {}\n", "m", "n",
               "tile", "nb", "ours s", "Gflop/s", "vendor s", "Gflop/s", "ratio", "gemm", "fraction",
               "||(A - QR) x|| / (m ||A|| eps)");
    if (options.precision == 's') return contests<float>(options, runtime, table, records.get());
    return contests<double>(options, runtime, table, records.get());
}

}  // namespace bench
