// QR in the modes hybrid and gpu and the GPU vendor's QR in one process, in turn. Both start and end with a
// column-major matrix where
// --data says; conversion and transfers are timed, allocation and pinning are not.
#include "bench/versus_qr_gpu.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/gpu_contests.hpp"
#include "bench/machine_line.hpp"
#include "bench/qr_flops.hpp"
#include "bench/user_matrix.hpp"
#include "bench/vendor_gpu.hpp"
#include "bench/vendor_qr_gpu.hpp"
#include "io/json_record.hpp"
#include "io/trace_file.hpp"

namespace bench {

namespace {

using basalt::DealtColumns;
using basalt::Index;

/// cuSOLVERMg offers no QR.
std::vector<Index> vendor_blocks() { return {}; }

template <class T>
class QrContest {
  public:
    QrContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : options_(options),
          runtime_(runtime),
          gpu_(gpu),
          m_(options.m > 0 ? options.m : n),
          n_(n),
          vendor_(vendor_runs(options, runtime.gpus(), vendor_blocks())) {
        if (m_ < n_) throw std::invalid_argument("--m: in the modes hybrid and gpu at least --n");
        qr_options_.mode = options.mode == "gpu" ? basalt::QrMode::gpu : basalt::QrMode::hybrid;
        qr_options_.gpu_panels_below = options.gpu_panels_below;
        qr_options_.panel_width = options.nb > 0
                                      ? options.nb
                                      : basalt::default_qr_panel(runtime.tuning(), qr_options_, m_, n_, runtime.gpus());
        qr_options_.panel_threads = options.panel_threads;
        qr_options_.lookahead = options.lookahead;
        qr_options_.narrow_at_end = options.narrow_at_end;
        qr_options_.split_products = options.split_products;
        tile_ = options.tile == basalt::TileShape{} ? basalt::default_qr_tile(runtime.tuning(), m_, n_, runtime.gpus())
                                                    : options.tile;
    }

    void run() {
        const basalt::ColumnDeal deal(basalt::Deal::balanced, runtime_.gpus());
        const UserMatrix<T> user(options_.data, m_, DealtColumns(n_, tile_.width, deal));
        basalt::Matrix<T> a(runtime_, m_, n_, tile_);
        if (user.on_host()) a.pin();
        const bool vendor = vendor_.vendor != GpuVendor::none && (!user.on_host() || n_ <= 32768);
        for (int round = 0; round <= options_.repeat; ++round) {
            generate(a, user, "random", options_.seed);
            if (round == 0) expect(user);
            const double seconds = time_ours(a, user, round);
            if (round == 0) check(user);
            const double gemm = gpu_.gemm(gemm_order, gemm_depth);
            if (vendor) generate(a, user, "random", options_.seed);
            const double theirs = vendor ? time_vendor(user) : 0;
            if (round == 0) continue;
            ours_.push_back(seconds);
            gemm_.push_back(gemm);
            if (vendor) vendor_.seconds.push_back(theirs);
        }
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        fmt::print(
            table,
            "{:>8} {:>7} {:>10} {:>5} {:>6} | {:>9.4f} {:>7.2f} | {:>7.2f} {:>6.3f} | {:>7.2f} {:>6.3f} | {:.3g} {}\n",
            m_, n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), options_.data, basalt::median(ours_),
            r["gflops"].get<double>() * 1e-3, gemm_rate() * 1e-3, r["gemm_fraction"].get<double>(),
            vendor_.seconds.empty() ? 0 : qr_flops(m_, n_) / basalt::median(vendor_.seconds) * 1e-12,
            vendor_.seconds.empty() ? 0 : basalt::median(vendor_.seconds) / basalt::median(ours_), ratio_,
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
        factor.mode = options_.mode;
        factor.cpus = runtime_.workers();
        factor.gpus = runtime_.gpus();
        factor.data = options_.data;
        factor.runs = ours_;
        factor.flops = qr_flops(m_, n_);
        factor.residual_ratio = ratio_;
        factor.passed = passed();
        factor.machine = machine_line() + ", " + runtime_.devices().front().model;
        factor.commit = build_commit;
        basalt::JsonRecord json = basalt::to_json(factor);
        json["lookahead"] = qr_options_.lookahead;
        json["gpu_panels_below"] = qr_options_.gpu_panels_below;
        json["panel_threads"] = qr_options_.panel_threads;
        json["gpu_memory"] = runtime_.config().gpu_memory;
        add_vendor(json, factor.flops, ours_, vendor_);
        add_gemm(json, factor.flops, ours_, gemm_, runtime_.gpus());
        return json;
    }

    bool passed() const { return ratio_ < max_ratio; }
    const VendorRuns& vendor() const { return vendor_; }

  private:
    double gemm_rate() const { return gemm_gflops(gemm_); }

    double time_ours(basalt::Matrix<T>& a, const UserMatrix<T>& user, int round) {
        let_others_rest();
        // a trace, once begun, goes on: of the last size, and of nothing after it
        const bool trace = round == options_.repeat && !options_.trace.empty() && n_ == options_.sizes.back();
        if (trace) runtime_.start_trace();
        const double start = gpu_.synchronized_now();
        load(a, user);
        const auto qr = basalt::qr_factor(runtime_, a, qr_options_);
        store(a, user);
        runtime_.wait();
        const double seconds = gpu_.synchronized_now() - start;
        if (trace) {
            std::ofstream file(options_.trace);
            basalt::write_chrome_trace(file, runtime_.take_trace());
        }
        if (round == 0) tau_ = qr.tau();
        return seconds;
    }

    /// From and to the host its transfers are timed as ours are.
    double time_vendor(const UserMatrix<T>& user) {
        return user.on_first_gpu([&](T* a) {
            vendor_gpu_.prepare(m_, n_);
            const double start = gpu_.synchronized_now();
            if (user.on_host()) gpu_.to_gpu(a, user.data(), user.bytes());
            vendor_gpu_.geqrf(m_, n_, a);
            if (user.on_host()) gpu_.to_host(user.data(), a, user.bytes());
            return gpu_.synchronized_now() - start;
        });
    }

    /// y = A x for a vector of random signs, before the factorization.
    void expect(const UserMatrix<T>& user) {
        signs_ = random_signs(n_);
        expected_ = user.on_first_gpu([&](const T* a) { return vendor_gpu_.times(m_, n_, a, signs_); });
    }

    /// ||(A - Q R) x||_oo / (m ||A||_oo eps), Q by the vendor's ormqr, with ||A||_oo = n / 4: what rows of uniform
    /// numbers in
    /// [-1/2, 1/2) sum up to.
    void check(const UserMatrix<T>& user) {
        std::vector<double> y =
            user.on_first_gpu([&](const T* a) { return vendor_gpu_.times_factors(m_, n_, a, tau_, signs_); });
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const double scale = static_cast<double>(m_) * static_cast<double>(n_) / 4;
        ratio_ = largest(y) / (scale * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
    }

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    VendorGpu<T>& gpu_;
    VendorQrGpu<T> vendor_gpu_;
    const Index m_, n_;
    VendorRuns vendor_;
    basalt::TileShape tile_;
    basalt::QrOptions qr_options_;
    std::vector<T> tau_;
    std::vector<double> signs_, expected_;
    std::vector<double> ours_, gemm_;
    double ratio_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

int versus_qr_gpu(const VersusOptions& options) {
    const std::string columns = fmt::format(
        "{:>8} {:>7} {:>10} {:>5} {:>6} | {:>9} {:>7} | {:>7} {:>6} | {:>7} {:>6} | {}", "m", "n", "tile", "nb", "data",
        "ours s", "Tflop/s", "gemm", "share", "vendor", "ratio", "||(A - QR) x|| / (m ||A|| eps)");
    return gpu_contests<QrContest>(options, "QR", vendor_blocks(), columns);
}

}  // namespace bench
