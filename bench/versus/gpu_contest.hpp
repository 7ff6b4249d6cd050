#pragma once

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/common/clock.hpp"
#include "bench/vendor/gpu.hpp"
#include "bench/vendor/gpus.hpp"
#include "bench/vendor/runs.hpp"
#include "bench/versus/contest_record.hpp"
#include "bench/versus/gpu_contests.hpp"
#include "bench/versus/options.hpp"
#include "bench/versus/user_matrix.hpp"
#include "io/energy/energy_meter.hpp"
#include "io/energy/energy_report.hpp"
#include "io/files/json_record.hpp"
#include "io/trace/trace_file.hpp"
#include "runtime/engine/gpu_memory.hpp"
#include "runtime/engine/runtime_access.hpp"

namespace bench {

/// One factorization of one size in the modes hybrid and gpu: ours, a plain gemm and the GPU vendor's in turn. Ours and
/// the vendor's start and end with a column-major matrix in the place that --data names. Conversion and transfers are
/// timed, allocation and pinning are not. A derived class defines the factorization.
template <class T>
class GpuContest {
  public:
    using Index = basalt::Index;

    GpuContest(const GpuContest&) = delete;
    GpuContest& operator=(const GpuContest&) = delete;
    virtual ~GpuContest() = default;

    /// Runs all rounds. The first one is a warm-up, and its factors are checked.
    void run() {
        const UserMatrix<T> user(options_.data, m_, dealt());
        basalt::Matrix<T> a = new_matrix();
        if (user.on_host()) a.pin();
        if (vendor_.vendor == GpuVendor::cusolvermg) vendor_gpus_.emplace(vendor_.gpus);
        basalt::detail::gpu_memory(runtime_).forget_most_in_use();
        double fastest = std::numeric_limits<double>::infinity();
        for (int round = 0; round <= rounds_; ++round) {
            fill(a, user);
            if (round == 0) expect(user);
            const double seconds = time_ours(a, user, round);
            fastest = std::min(fastest, seconds);
            rounds_ = rounds_that_count(options_, fastest);
            if (round == 0) ours_.residual_ratio = checked_ratio(user);
            const double gemm = gpu_.gemm(gemm_order, gemm_depth);
            if (round > 0) {
                ours_.seconds.push_back(seconds);
                gemm_.push_back(gemm);
            }
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

    static std::string head(const char* ratio) {
        return fmt::format("{:>8} {:>7} {:>10} {:>5} {:>6} | {:>9} {:>7} | {:>7} {:>6} | {:>7} {:>6} | {}", "m", "n",
                           "tile", "nb", "data", "ours s", "Tflop/s", "gemm", "share", "vendor", "ratio", ratio);
    }

    void print(std::FILE* table) const {
        const basalt::JsonRecord r = record();
        const bool alone = vendor_.seconds.empty();
        fmt::print(table,
                   "{:>8} {:>7} {:>10} {:>5} {:>6} | {:>9.4f} {:>7.2f} | {:>7.2f} {:>6.3f} | {:>7.2f} {:>6.3f} | "
                   "{:.3g} {}{}\n",
                   m_, n_, r["tile"].get<std::string>(), r["nb"].get<Index>(), options_.data,
                   basalt::median(ours_.seconds), r["gflops"].get<double>() * 1e-3, gemm_gflops(gemm_) * 1e-3,
                   r["gemm_fraction"].get<double>(), alone ? 0 : r["vendor_gflops"].get<double>() * 1e-3,
                   alone ? 0 : r["ratio"].get<double>(), ours_.residual_ratio, passed() ? "passed" : "FAILED",
                   vendor_.verdict());
        if (our_energy_) fmt::print(table, "ours:   {}\n", energy_text(our_energy_->total(), flops_of(ours_.seconds)));
        if (our_energy_ && !alone) {
            fmt::print(table, "vendor: {}\n", energy_text(vendor_energy_->total(), flops_of(vendor_.seconds)));
        }
        std::fflush(table);
    }

    basalt::JsonRecord record() const {
        basalt::FactorRecord factor = contest_record(options_, runtime_, m_, n_, tile_, ours_);
        factor.gpus = runtime_.gpus();
        factor.data = options_.data;
        factor.machine += ", " + runtime_.devices().front().model;
        describe(factor);
        basalt::JsonRecord json = basalt::to_json(factor);
        // -1: the library chose
        json["lookahead"] = options_.lookahead.value_or(-1);
        json["gpu_panels_below"] = options_.gpu_panels_below.value_or(-1);
        if (!options_.narrow_at_end) json["narrow_at_end"] = false;
        json["gpu_memory"] = runtime_.config().gpu_memory;
        json["gpu_peak_bytes"] = runtime_.statistics().most_gpu_bytes;  // without the user's array
        add_to(json);
        add_vendor(json, factor.flops, ours_.seconds, vendor_);
        if (our_energy_) json["energy"] = to_json(our_energy_->total(), flops_of(ours_.seconds));
        if (our_energy_ && !vendor_.seconds.empty()) {
            json["vendor_energy"] = to_json(vendor_energy_->total(), flops_of(vendor_.seconds));
        }
        add_gemm(json, factor.flops, ours_.seconds, gemm_, runtime_.gpus());
        return json;
    }

    bool passed() const { return ours_.passed(); }
    const VendorRuns& vendor() const { return vendor_; }

  protected:
    /// `usual`: the tile if the options name none and the GPUs have the memory for it. `blocks`: as in vendor_runs().
    GpuContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index m, Index n,
               basalt::TileShape usual, basalt::Deal deal, const std::vector<Index>& blocks)
        : options_(options),
          runtime_(runtime),
          gpu_(gpu),
          m_(m),
          n_(n),
          tile_(options.tile == basalt::TileShape{} ? basalt::fitting_tile(runtime, usual, m, n, sizeof(T))
                                                    : options.tile),
          deal_(deal),
          vendor_(vendor_runs(options, runtime.gpus(), blocks)) {
        if (!options.energy) return;
        const std::vector<basalt::DeviceInfo> gpus = runtime.devices();
        our_energy_ = energy_meter_of(gpus);
        vendor_energy_ = energy_meter_of({gpus.begin(), gpus.begin() + vendor_.gpus});  // the GPUs that it uses
    }

    // --- ours ---

    /// The matrix in tiles; empty if the user's array is factored in place.
    virtual basalt::Matrix<T> new_matrix() {
        basalt::Matrix<T> a(runtime_, m_, n_, tile_);
        a.set_deal(deal_);
        return a;
    }
    /// Fills the user's matrix as each run expects it; waits.
    virtual void fill(basalt::Matrix<T>& a, const UserMatrix<T>& user) = 0;
    /// Factors the user's array once, into itself, and waits. This call is timed.
    virtual void factor(basalt::Matrix<T>& a, const UserMatrix<T>& user) = 0;
    /// Computes the data of the check before the first run.
    virtual void expect(const UserMatrix<T>& user) = 0;
    /// The ratio of the first run's factors; NaN if it failed.
    virtual double checked_ratio(const UserMatrix<T>& user) = 0;
    /// Routine, panel width and operations.
    virtual void describe(basalt::FactorRecord& record) const = 0;
    virtual void add_to(basalt::JsonRecord&) const {}

    // --- the vendor's ---

    /// Allocates for run_vendor_gpu().
    virtual void prepare_vendor_gpu() = 0;
    virtual void run_vendor_gpu(T* a) = 0;
    /// Runs the vendor's routine, if it has one, on columns dealt to its GPUs. An override times it with
    /// timed_vendor().
    virtual VendorRun run_vendor_gpus(const VendorGpus&, const basalt::DealtView<T>&) { return {}; }
    /// Seconds of factor(), whose energy is measured too.
    template <class F>
    double timed_vendor(const F& factor) {
        begin(vendor_energy_);
        const double seconds = factor();
        end(vendor_energy_);
        return seconds;
    }

    const VersusOptions& options() const { return options_; }
    basalt::Runtime& runtime() const { return runtime_; }
    VendorGpu<T>& gpu() const { return gpu_; }
    Index m() const { return m_; }
    Index n() const { return n_; }
    const basalt::TileShape& tile() const { return tile_; }
    void set_tile(const basalt::TileShape& tile) { tile_ = tile; }
    /// The matrix's columns, dealt as its tiles are.
    basalt::DealtColumns dealt() const {
        return {n_, std::max<Index>(tile_.width, 1), basalt::ColumnDeal(deal_, runtime_.gpus())};
    }

  private:
    /// Whether the vendor's one GPU holds the matrix in addition to our tiles.
    bool fits_one_gpu(const UserMatrix<T>& user) const { return !user.on_host() || n_ <= 32768; }
    double flops_of(const std::vector<double>& rounds) const {
        basalt::FactorRecord factor;
        describe(factor);
        return factor.flops * static_cast<double>(rounds.size());
    }

    double time_ours(basalt::Matrix<T>& a, const UserMatrix<T>& user, int round) {
        let_others_rest();
        // a trace that has begun goes on until it is taken: it covers the last run of the last size
        const bool trace = round == rounds_ && !options_.trace.empty() && n_ == options_.sizes.back();
        if (trace) runtime_.start_trace();
        counts_ = round > 0;
        begin(our_energy_);
        const double start = gpu_.synchronized_now();
        factor(a, user);
        const double seconds = gpu_.synchronized_now() - start;
        end(our_energy_);
        if (trace) {
            std::ofstream file(options_.trace);
            basalt::write_chrome_trace(file, runtime_.take_trace());
        }
        return seconds;
    }

    /// With the matrix on the host, its transfers are timed as ours are.
    double time_vendor_gpu(const UserMatrix<T>& user, int round) {
        counts_ = round > 0;
        return user.on_first_gpu([&](T* a) {
            prepare_vendor_gpu();
            return timed_vendor([&] {
                const double start = gpu_.synchronized_now();
                if (user.on_host()) gpu_.to_gpu(a, user.data(), user.bytes());
                run_vendor_gpu(a);
                if (user.on_host()) gpu_.to_host(user.data(), a, user.bytes());
                return gpu_.synchronized_now() - start;
            });
        });
    }

    void time_vendor_gpus(const UserMatrix<T>& user, int round) {
        counts_ = round > 0;
        const auto run = [&](Index block) {
            // the copy and the workspace exist only here: our run may need the memory
            const basalt::ColumnDeal cyclic(basalt::Deal::cyclic, runtime_.gpus());
            const DealtMatrix<T> a(m_, {n_, block, cyclic});
            copy_columns(user.columns(), a.view());
            return run_vendor_gpus(*vendor_gpus_, a.view());
        };
        if (round == 0) return vendor_.choose_block(run);
        vendor_.add(run(vendor_.block));
    }

    /// Energy is measured in the rounds that count.
    void begin(const std::unique_ptr<basalt::EnergyMeter>& energy) const {
        if (energy && counts_) energy->start();
    }
    void end(const std::unique_ptr<basalt::EnergyMeter>& energy) const {
        if (energy && counts_) energy->stop();
    }

    const VersusOptions& options_;
    basalt::Runtime& runtime_;
    VendorGpu<T>& gpu_;
    const Index m_, n_;
    basalt::TileShape tile_;
    const basalt::Deal deal_;
    VendorRuns vendor_;
    std::optional<VendorGpus> vendor_gpus_;
    std::unique_ptr<basalt::EnergyMeter> our_energy_, vendor_energy_;  // null without --energy
    int rounds_ = 1;                                                   ///< rounds that count, as far as is known
    bool counts_ = false;                                              ///< whether the current round counts
    OurRuns ours_;
    std::vector<double> gemm_;
};

}  // namespace bench
