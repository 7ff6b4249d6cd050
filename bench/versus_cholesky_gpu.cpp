// Cholesky of the lower triangle in the modes hybrid and gpu and the GPU vendor's in one process, in turn.
// Both start and end with a column-major matrix where --data says; conversion and transfers are timed,
// allocation and pinning are not.
#include "bench/versus_cholesky_gpu.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/dealt_products.hpp"
#include "bench/gpu_contests.hpp"
#include "bench/machine_line.hpp"
#include "bench/user_matrix.hpp"
#include "bench/vendor_cholesky_gpu.hpp"
#include "bench/vendor_gpu.hpp"
#include "bench/vendor_gpus.hpp"
#include "io/json_record.hpp"
#include "io/trace_file.hpp"

namespace bench {

namespace {

using basalt::ColumnDeal;
using basalt::Deal;
using basalt::DealtColumns;
using basalt::DealtView;
using basalt::Index;

/// cuSOLVERMg's rate rose with the width from 128 to 1024 on two H200.
std::vector<Index> vendor_blocks() { return {512, 1024, 2048}; }

template <class T>
class CholeskyContest {
  public:
    CholeskyContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : options_(options),
          runtime_(runtime),
          gpu_(gpu),
          n_(n),
          vendor_(vendor_runs(options, runtime.gpus(), vendor_blocks())) {
        if (options.m > 0 && options.m != n)
            throw std::invalid_argument("--m: Cholesky is of square matrices, allowed is --n");
        cholesky_options_.mode = options.mode == "gpu" ? basalt::FactorMode::gpu : basalt::FactorMode::hybrid;
        tile_ = options.tile == basalt::TileShape{}
                    ? basalt::default_cholesky_tile(runtime.tuning(), n_, runtime.gpus())
                    : options.tile;
        cholesky_options_.gpu_panels_below = options.gpu_panels_below;
        cholesky_options_.rows_on_cores = options.rows_on_cores;
        cholesky_options_.panel_width =
            options.nb > 0
                ? options.nb
                : basalt::default_cholesky_panel(runtime.tuning(), cholesky_options_, n_, tile_.width, runtime.gpus());
        cholesky_options_.lookahead = options.lookahead;
        cholesky_options_.narrow_at_end = options.narrow_at_end;
        cholesky_options_.split_products = options.split_products;
        cholesky_options_.left_looking = options.left_looking;
        cholesky_options_.keep_other_side = false;  // only the triangle is loaded
        if (options.upper && options.data == "devices")
            throw std::invalid_argument("--upper: of an array in one place, allowed is --data host or device");
    }

    void run() {
        const UserMatrix<T> user(options_.data, n_, dealt(tile_.width));
        basalt::Matrix<T> a(runtime_, n_, n_, tile_);
        a.set_deal(Deal::cyclic);
        if (user.on_host()) a.pin();
        if (vendor_.vendor == GpuVendor::cusolvermg) vendor_gpus_.emplace(vendor_.gpus);
        for (int round = 0; round <= options_.repeat; ++round) {
            generate(a, user, "spd", options_.seed);
            if (round == 0) expect(user);
            const double seconds = time_ours(a, user, round);
            if (round == 0) check(user);
            const double gemm = gpu_.gemm(gemm_order, gemm_depth);
            if (round > 0) {
                ours_.push_back(seconds);
                gemm_.push_back(gemm);
            }
            if (vendor_gpus_) {
                generate(a, user, "spd", options_.seed);
                time_vendor_gpus(user, round);
            } else if (vendor_.vendor == GpuVendor::cusolver && fits_one_gpu(user)) {
                generate(a, user, "spd", options_.seed);
                const double theirs = time_vendor_gpu(user);
                if (round > 0) vendor_.seconds.push_back(theirs);
            }
        }
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        fmt::print(table,
                   "{:>7} {:>10} {:>5} {:>6} | {:>9.4f} {:>7.2f} | {:>7.2f} {:>6.3f} | {:>7.2f} {:>6.3f} | "
                   "{:.3g} {}{}\n",
                   n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), options_.data, basalt::median(ours_),
                   r["gflops"].get<double>() * 1e-3, gemm_rate() * 1e-3, r["gemm_fraction"].get<double>(),
                   vendor_.seconds.empty() ? 0 : flops() / basalt::median(vendor_.seconds) * 1e-12,
                   vendor_.seconds.empty() ? 0 : basalt::median(vendor_.seconds) / basalt::median(ours_), ratio_,
                   passed() ? "passed" : "FAILED", vendor_.verdict());
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor;
        factor.routine = "potrf";
        factor.precision = options_.precision;
        factor.m = factor.n = n_;
        factor.nb = cholesky_options_.panel_width;
        factor.tile = fmt::format("{}x{}", tile_.height, tile_.width);
        factor.mode = options_.mode;
        factor.cpus = runtime_.workers();
        factor.gpus = runtime_.gpus();
        factor.data = options_.data;
        factor.runs = ours_;
        factor.flops = flops();
        factor.residual_ratio = ratio_;
        factor.passed = passed();
        factor.machine = machine_line() + ", " + runtime_.devices().front().model;
        factor.commit = build_commit;
        basalt::JsonRecord json = basalt::to_json(factor);
        json["lookahead"] = cholesky_options_.lookahead;
        json["gpu_panels_below"] = cholesky_options_.gpu_panels_below;
        if (cholesky_options_.rows_on_cores) json["rows_on_cores"] = true;
        json["gpu_memory"] = runtime_.config().gpu_memory;
        json["looking"] = options_.left_looking < 0 ? "chosen" : options_.left_looking > 0 ? "left" : "right";
        json["triangle"] = options_.upper ? "upper" : "lower";
        add_vendor(json, factor.flops, ours_, vendor_);
        add_gemm(json, factor.flops, ours_, gemm_, runtime_.gpus());
        return json;
    }

    bool passed() const { return ratio_ < max_ratio; }
    const VendorRuns& vendor() const { return vendor_; }

  private:
    double flops() const { return std::pow(static_cast<double>(n_), 3) / 3; }
    double gemm_rate() const { return gemm_gflops(gemm_); }

    /// The vendor's one GPU takes the matrix beside our tiles.
    bool fits_one_gpu(const UserMatrix<T>& user) const { return !user.on_host() || n_ <= 32768; }
    DealtColumns dealt(Index block) const { return {n_, block, ColumnDeal(Deal::cyclic, runtime_.gpus())}; }

    double time_ours(basalt::Matrix<T>& a, const UserMatrix<T>& user, int round) {
        let_others_rest();
        // a trace, once begun, goes on: of the last size, and of nothing after it
        const bool trace = round == options_.repeat && !options_.trace.empty() && n_ == options_.sizes.back();
        if (trace) runtime_.start_trace();
        const double start = gpu_.synchronized_now();
        const auto cholesky = options_.upper ? factor_upper(a, user) : factor_lower(a, user);
        runtime_.wait();
        const double seconds = gpu_.synchronized_now() - start;
        if (trace) {
            std::ofstream file(options_.trace);
            basalt::write_chrome_trace(file, runtime_.take_trace());
        }
        if (round == 0) info_ = cholesky.info();
        return seconds;
    }

    basalt::CholeskyFactors<T> factor_lower(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        load_triangle(a, user);
        auto cholesky = basalt::cholesky_factor(runtime_, a, basalt::Triangle::lower, cholesky_options_);
        store_triangle(a, user);
        return cholesky;
    }
    /// The lower triangle read by rows is the upper one.
    basalt::CholeskyFactors<T> factor_upper(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        const auto by_rows = basalt::View<T>::row_major(user.data(), n_, n_, n_);
        const basalt::Place place = user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0);
        a.load_triangle(basalt::Triangle::upper, by_rows, place);
        auto cholesky = basalt::cholesky_factor(runtime_, a, basalt::Triangle::upper, cholesky_options_);
        a.store_triangle(basalt::Triangle::upper, by_rows, place);
        return cholesky;
    }

    /// From and to the host its transfers are timed as ours are.
    double time_vendor_gpu(const UserMatrix<T>& user) {
        return user.on_first_gpu([&](T* a) {
            vendor_gpu_.prepare(n_);
            const double start = gpu_.synchronized_now();
            if (user.on_host()) gpu_.to_gpu(a, user.data(), user.bytes());
            vendor_gpu_.potrf(n_, a);
            if (user.on_host()) gpu_.to_host(user.data(), a, user.bytes());
            return gpu_.synchronized_now() - start;
        });
    }

    void time_vendor_gpus(const UserMatrix<T>& user, int round) {
        const auto run = [&](Index block) { return run_vendor_gpus(user, block); };
        if (round == 0) return vendor_.choose_block(run);
        vendor_.add(run(vendor_.block));
    }

    /// The copy and the workspace are there for this alone: ours may need the memory.
    VendorRun run_vendor_gpus(const UserMatrix<T>& user, Index block) {
        const DealtMatrix<T> a(n_, dealt(block));
        copy_columns(user.columns(), a.view());
        VendorCholeskyGpus<T> cholesky(*vendor_gpus_, a.view());
        const double seconds = cholesky.factor();
        if (cholesky.info() != 0) return {seconds, std::numeric_limits<double>::quiet_NaN()};
        return {seconds, residual_ratio(a.view())};
    }

    /// y = A x for a vector of random signs, before the factorization.
    void expect(const UserMatrix<T>& user) {
        signs_ = random_signs(n_);
        expected_ = user.on_gpus(dealt(tile_.width), [&](const DealtView<T>& a) { return times_symmetric(a, signs_); });
    }

    /// NaN where INFO is not 0.
    void check(const UserMatrix<T>& user) {
        if (info_ != 0) return;
        ratio_ = user.on_gpus(dealt(tile_.width), [&](const DealtView<T>& l) { return residual_ratio(l); });
    }

    /// ||(A - L L^T) x||_oo / (n ||A||_oo eps), with ||A||_oo = 5/4 n: n on the diagonal and uniform numbers
    /// in [-1/2, 1/2) elsewhere.
    double residual_ratio(const DealtView<T>& l) const {
        std::vector<double> y = times_cholesky(l, signs_);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const double n = static_cast<double>(n_);
        return largest(y) / (1.25 * n * n * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
    }

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    VendorGpu<T>& gpu_;
    VendorCholeskyGpu<T> vendor_gpu_;
    const Index n_;
    VendorRuns vendor_;
    std::optional<VendorGpus> vendor_gpus_;
    basalt::TileShape tile_;
    basalt::CholeskyOptions cholesky_options_;
    Index info_ = -1;
    std::vector<double> signs_, expected_;
    std::vector<double> ours_, gemm_;
    double ratio_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

int versus_cholesky_gpu(const VersusOptions& options) {
    const std::string columns =
        fmt::format("{:>7} {:>10} {:>5} {:>6} | {:>9} {:>7} | {:>7} {:>6} | {:>7} {:>6} | {}", "n", "tile", "nb",
                    "data", "ours s", "Tflop/s", "gemm", "share", "vendor", "ratio", "||(A - LL') x|| / (n ||A|| eps)");
    return gpu_contests<CholeskyContest>(options, "Cholesky", vendor_blocks(), columns);
}

}  // namespace bench
