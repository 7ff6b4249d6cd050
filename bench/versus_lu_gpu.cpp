// LU in the modes hybrid and gpu and the GPU vendor's LU in one process, in turn. Both start and end with a
// column-major matrix where --data says; conversion and transfers are timed, allocation and pinning are not.
#include "bench/versus_lu_gpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/dealt_products.hpp"
#include "bench/gpu_contests.hpp"
#include "bench/machine_line.hpp"
#include "bench/user_matrix.hpp"
#include "bench/vendor_gpu.hpp"
#include "bench/vendor_gpus.hpp"
#include "io/energy_meter.hpp"
#include "io/energy_report.hpp"
#include "io/json_record.hpp"
#include "io/machine_energy.hpp"
#include "io/trace_file.hpp"
#include "runtime/engine.hpp"

namespace bench {

namespace {

using basalt::ColumnDeal;
using basalt::Deal;
using basalt::DealtColumns;
using basalt::DealtView;
using basalt::Index;
using basalt::Place;

/// cuSOLVERMg refuses 1024; with 128 it was slower on two H200.
std::vector<Index> vendor_blocks() { return {256, 512}; }

template <class T>
class GpuContest {
  public:
    GpuContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : options_(options),
          runtime_(runtime),
          gpu_(gpu),
          n_(n),
          vendor_(vendor_runs(options, runtime.gpus(), vendor_blocks())) {
        lu_options_.mode = options.mode == "gpu" ? basalt::LuMode::gpu : basalt::LuMode::hybrid;
        lu_options_.gpu_panels_below = options.gpu_panels_below;
        lu_options_.panel_width = options.nb;
        lu_options_.panel_threads = options.panel_threads;
        lu_options_.lookahead = options.lookahead;
        lu_options_.single_update_task = options.single_update_task;
        lu_options_.narrow_at_end = options.narrow_at_end;
        lu_options_.coarse_width = options.coarse_width;
        lu_options_.split_products = options.split_products;
        lu_options_.broadcast_from_host = options.broadcast_from_host;
        lu_options_.tf32 = options.tf32;
        tile_ = options.tile == basalt::TileShape{} ? basalt::default_lu_tile(runtime.tuning(), n, n, runtime.gpus())
                                                    : options.tile;
        if (options.in_place) tile_ = {n, options.tile.width};  // 0: known when the array is wrapped
        if (options.energy) {
            our_energy_ = meter_of(runtime.devices());
            const std::vector<basalt::DeviceInfo> gpus = runtime.devices();
            vendor_energy_ = meter_of({gpus.begin(), gpus.begin() + vendor_.gpus});  // all that it uses
        }
        if (lu_options_.panel_width == 0)
            lu_options_.panel_width =
                basalt::default_lu_panel(runtime.tuning(), lu_options_.mode, n, n, runtime.gpus());
    }

    void run() {
        const UserMatrix<T> user(options_.data, n_, dealt());
        basalt::Matrix<T> a;  // none beside the user's where that is factored in place
        if (!options_.in_place) a = basalt::Matrix<T>(runtime_, n_, n_, tile_);
        if (user.on_host()) a.pin();
        if (vendor_.vendor == GpuVendor::cusolvermg) vendor_gpus_.emplace(vendor_.gpus);
        runtime_.engine().forget_most_in_use();
        for (int round = 0; round <= options_.repeat; ++round) {
            fill(a, user);
            if (round == 0) expect(user);
            const double seconds = time_ours(a, user, round);
            if (round == 0) check(user);
            if (round > 0) ours_.push_back(seconds);
            time_gemm(round);
            if (vendor_gpus_) {
                fill(a, user);
                time_vendor_gpus(user, round);
            } else if (vendor_.vendor == GpuVendor::cusolver && fits_one_gpu(user)) {
                fill(a, user);
                const double theirs = time_vendor_gpu(user, round);
                if (round > 0) vendor_.seconds.push_back(theirs);
            }
        }
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        fmt::print(
            table,
            "{:>7} {:>10} {:>5} {:>6} | {:>9.4f} {:>7.2f} | {:>7.2f} {:>6.3f} | {:>7.2f} {:>6.3f} | {:.3g} {}{}\n", n_,
            r["tile"].get<std::string>(), r["nb"].get<Index>(), options_.data, basalt::median(ours_),
            r["gflops"].get<double>() * 1e-3, gemm_rate() * 1e-3, r["gemm_fraction"].get<double>(),
            vendor_.seconds.empty() ? 0 : flops() / basalt::median(vendor_.seconds) * 1e-12,
            vendor_.seconds.empty() ? 0 : basalt::median(vendor_.seconds) / basalt::median(ours_), ratio_,
            passed() ? "passed" : "FAILED", vendor_.verdict());
        if (our_energy_) fmt::print(table, "ours:   {}\n", energy_text(our_energy_->total(), flops_of(ours_)));
        if (our_energy_ && !vendor_.seconds.empty()) {
            fmt::print(table, "vendor: {}\n", energy_text(vendor_energy_->total(), flops_of(vendor_.seconds)));
        }
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor;
        factor.routine = "getrf";
        factor.precision = options_.precision;
        factor.m = factor.n = n_;
        factor.nb = lu_options_.panel_width;
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
        json["in_place"] = options_.in_place;
        json["gpu_peak_bytes"] = runtime_.statistics().most_gpu_bytes;  // beside the user's array
        json["gpu_panels_below"] = lu_options_.gpu_panels_below;
        if (options_.precision == 's') json["split_products"] = lu_options_.split_products;
        json["lookahead"] = lu_options_.lookahead;
        if (lu_options_.coarse_width > 0) json["coarse_width"] = lu_options_.coarse_width;
        if (lu_options_.tf32) json["tf32"] = true;
        json["panel_threads"] = lu_options_.panel_threads;
        json["gpu_memory"] = runtime_.config().gpu_memory;
        add_vendor(json, flops(), ours_, vendor_);
        if (our_energy_) json["energy"] = to_json(our_energy_->total(), flops_of(ours_));
        if (our_energy_ && !vendor_.seconds.empty()) {
            json["vendor_energy"] = to_json(vendor_energy_->total(), flops_of(vendor_.seconds));
        }
        add_gemm(json, flops(), ours_, gemm_, runtime_.gpus());
        return json;
    }

    bool passed() const { return ratio_ < max_ratio; }
    const VendorRuns& vendor() const { return vendor_; }

  private:
    double flops() const { return 2.0 / 3.0 * std::pow(static_cast<double>(n_), 3); }
    double gemm_rate() const { return gemm_gflops(gemm_); }
    /// The vendor's one GPU takes the matrix beside our tiles.
    bool fits_one_gpu(const UserMatrix<T>& user) const { return !user.on_host() || n_ <= 32768; }
    DealtColumns dealt() const {
        return {n_, std::max<Index>(tile_.width, 1), ColumnDeal(Deal::balanced, runtime_.gpus())};  // as a matrix's
    }
    DealtColumns dealt_for_vendor(Index block) const { return {n_, block, ColumnDeal(Deal::cyclic, runtime_.gpus())}; }

    void fill(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        if (!options_.in_place) return generate(a, user, "random", options_.seed);
        wrapped(user).fill(basalt::make_generator<T>("random", n_, n_, options_.seed), Place::gpu(0));
        runtime_.wait();
    }

    basalt::Matrix<T> wrapped(const UserMatrix<T>& user) {
        return basalt::Matrix<T>::wrap(runtime_, user.data(), n_, n_, n_, {0, tile_.width}, Place::gpu(0));
    }

    /// What is submitted for one factorization, from the user's array and back into it.
    basalt::LuFactors<T> factor(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        if (options_.in_place) {
            a = wrapped(user);
            tile_ = a.tile_shape();
            return basalt::lu_factor(runtime_, a, lu_options_);
        }
        load(a, user);
        const auto lu = basalt::lu_factor(runtime_, a, lu_options_);
        store(a, user);
        return lu;
    }

    double time_ours(basalt::Matrix<T>& a, const UserMatrix<T>& user, int round) {
        let_others_rest();
        // a trace, once begun, goes on: of the last size, and of nothing after it
        const bool trace = round == options_.repeat && !options_.trace.empty() && n_ == options_.sizes.back();
        if (trace) runtime_.start_trace();
        begin_energy(our_energy_, round);
        const double start = gpu_.synchronized_now();
        const basalt::LuFactors<T> lu = factor(a, user);
        runtime_.wait();
        const double seconds = gpu_.synchronized_now() - start;
        end_energy(our_energy_, round);
        if (trace) {
            std::ofstream file(options_.trace);
            basalt::write_chrome_trace(file, runtime_.take_trace());
        }
        pivots_ = lu.pivots();
        if (options_.in_place) a = basalt::Matrix<T>();
        return seconds;
    }

    /// From and to the host its transfers are timed as ours are.
    double time_vendor_gpu(const UserMatrix<T>& user, int round) {
        return user.on_first_gpu([&](T* a) {
            gpu_.prepare(n_);
            begin_energy(vendor_energy_, round);
            const double start = gpu_.synchronized_now();
            if (user.on_host()) gpu_.to_gpu(a, user.data(), user.bytes());
            gpu_.getrf(n_, a);
            if (user.on_host()) gpu_.to_host(user.data(), a, user.bytes());
            const double seconds = gpu_.synchronized_now() - start;
            end_energy(vendor_energy_, round);
            return seconds;
        });
    }

    void time_vendor_gpus(const UserMatrix<T>& user, int round) {
        const auto run = [&](Index block) { return run_vendor_gpus(user, block, round); };
        if (round == 0) return vendor_.choose_block(run);
        vendor_.add(run(vendor_.block));
    }

    /// The copy and the workspace are there for this alone: ours may need the memory.
    VendorRun run_vendor_gpus(const UserMatrix<T>& user, Index block, int round) {
        const DealtMatrix<T> a(n_, dealt_for_vendor(block));
        copy_columns(user.columns(), a.view());
        VendorLuGpus<T> lu(*vendor_gpus_, a.view());
        begin_energy(vendor_energy_, round);
        const double seconds = lu.factor();
        end_energy(vendor_energy_, round);
        if (lu.info() != 0) return {seconds, std::numeric_limits<double>::quiet_NaN()};
        return {seconds, residual_ratio(a.view(), lu.pivots(), epsilon)};
    }

    static std::unique_ptr<basalt::EnergyMeter> meter_of(const std::vector<basalt::DeviceInfo>& gpus) {
        basalt::EnergyCounters counters = basalt::machine_energy_counters(gpus);
        if (!counters.counters.empty()) return std::make_unique<basalt::EnergyMeter>(std::move(counters));
        throw std::runtime_error("--energy: no energy counter can be read: " +
                                 basalt::uncounted_text(counters.uncounted));
    }
    /// Of the rounds that count.
    static void begin_energy(const std::unique_ptr<basalt::EnergyMeter>& meter, int round) {
        if (meter && round > 0) meter->start();
    }
    static void end_energy(const std::unique_ptr<basalt::EnergyMeter>& meter, int round) {
        if (meter && round > 0) meter->stop();
    }
    double flops_of(const std::vector<double>& rounds) const { return flops() * static_cast<double>(rounds.size()); }

    void time_gemm(int round) {
        const double seconds = gpu_.gemm(gemm_order, gemm_depth);
        if (round > 0) gemm_.push_back(seconds);
    }

    /// y = A x for a vector of random signs, before the factorization.
    void expect(const UserMatrix<T>& user) {
        signs_ = random_signs(n_);
        expected_ = user.on_gpus(dealt(), [&](const DealtView<T>& a) { return times(a, signs_); });
    }

    void check(const UserMatrix<T>& user) {
        constexpr double tf32_epsilon = 0x1p-10;
        ratio_ = user.on_gpus(dealt(), [&](const DealtView<T>& factors) {
            return residual_ratio(factors, pivots_, lu_options_.tf32 ? tf32_epsilon : epsilon);
        });
    }

    /// ||(A - P L U) x||_oo / (n ||A||_oo eps), with ||A||_oo = n / 4: what rows of uniform numbers in [-1/2, 1/2) sum
    /// up to. NaN where the pivots are no rows of the matrix.
    double residual_ratio(const DealtView<T>& factors, const std::vector<Index>& pivots, double eps) const {
        std::vector<double> y = times_lu(factors, signs_);
        for (std::size_t i = y.size(); i-- > 0;) {
            if (pivots[i] < 1 || pivots[i] > n_) return std::numeric_limits<double>::quiet_NaN();
            std::swap(y[i], y[static_cast<std::size_t>(pivots[i] - 1)]);
        }
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const auto n = static_cast<double>(n_);
        return largest(y) / (n * n / 4 * eps);
    }

    static constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    VendorGpu<T>& gpu_;
    const Index n_;
    VendorRuns vendor_;
    std::optional<VendorGpus> vendor_gpus_;
    basalt::TileShape tile_;
    basalt::LuOptions lu_options_;
    std::vector<Index> pivots_;
    std::vector<double> signs_, expected_;
    std::vector<double> ours_, gemm_;
    std::unique_ptr<basalt::EnergyMeter> our_energy_, vendor_energy_;  // only where energy is asked for
    double ratio_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

int versus_lu_gpu(const VersusOptions& options) {
    const std::string columns =
        fmt::format("{:>7} {:>10} {:>5} {:>6} | {:>9} {:>7} | {:>7} {:>6} | {:>7} {:>6} | {}", "n", "tile", "nb",
                    "data", "ours s", "Tflop/s", "gemm", "share", "vendor", "ratio", "||(A - PLU) x|| / (n ||A|| eps)");
    return gpu_contests<GpuContest>(options, "LU", vendor_blocks(), columns);
}

}  // namespace bench
