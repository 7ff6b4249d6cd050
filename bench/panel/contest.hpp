#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "bench/common/clock.hpp"
#include "bench/common/device_array.hpp"
#include "bench/common/gpu_check.hpp"
#include "bench/common/stream_event.hpp"
#include "bench/kernels/steady_update.hpp"
#include "bench/panel/device_panel_log.hpp"
#include "bench/panel/options.hpp"
#include "bench/vendor/panel.hpp"
#include "kernels/cuda/panel/fused.hpp"
#include "kernels/cuda/panel/shape.hpp"
#include "kernels/on_stream/panel.hpp"
#include "runtime/device/device.hpp"

namespace bench {

/// One contestant: a design of ours, or the vendor.
template <class T>
struct PanelContestant {
    std::string design;
    int blocks;
    const DeviceArray<T>* source;  ///< row-major or column-major
    std::function<void(basalt::Stream, T*, basalt::PanelLog)> factor = {};
    std::vector<double> runs = {}, runs_beside = {};
    double update_alone = 0, update_beside = 0;  ///< Gflop/s
    bool agrees = true;                          ///< whether its pivots equal the first design's
};

/// One random matrix in both layouts, and the contestants that factor copies of it.
template <class T>
class PanelContest {
  public:
    using Index = basalt::Index;

    PanelContest(basalt::detail::Device& device, const PanelOptions& options, Index m, Index n)
        : device_(device),
          options_(options),
          m_(m),
          n_(n),
          rows_(device, random_values<T>(count(), 1)),
          columns_(device, transposed(rows_.read())),
          work_(device, count()),
          pivots_(device, static_cast<std::size_t>(std::min(m, n))),
          info_(device, 1),
          workspace_(device, basalt::cuda_kernels::panel_workspace(m, n)) {
        for (const std::string& design : options.designs) enter(design);
        if (options.vendor) enter_vendor();
    }

    std::vector<PanelContestant<T>>& contestants() { return contestants_; }

    void run(SteadyUpdate<T>* update) {
        for (int round = 0; round <= options_.repeat; ++round) {
            for (PanelContestant<T>& each : contestants_) {
                const double seconds = time(each);
                if (round == 0) compare_pivots(each);  // the warm-up round
                if (round > 0) each.runs.push_back(seconds);
            }
        }
        if (update == nullptr) return;
        for (PanelContestant<T>& each : contestants_) time_beside(each, *update);
    }

    /// Runs each design once more and records it.
    void log(basalt::Trace& trace) {
        const DevicePanelLog log(device_, n_);
        for (const PanelContestant<T>& each : contestants_) {
            if (each.design == "cusolver" || each.design == "steps") continue;
            time(
                each, [] {}, log.log());
            log.add_to(trace, fmt::format("{} {}", each.design, m_));
        }
    }

  private:
    using Device = basalt::detail::Device;
    using PanelDesign = basalt::cuda_kernels::PanelDesign;
    using PanelLog = basalt::PanelLog;
    using PanelPlan = basalt::cuda_kernels::PanelPlan;
    using Stream = basalt::Stream;
    using View = basalt::View<T>;

    std::size_t count() const { return static_cast<std::size_t>(m_ * n_); }

    std::vector<T> transposed(const std::vector<T>& values) const {
        std::vector<T> result(values.size());
        for (Index i = 0; i < m_; ++i) {
            for (Index j = 0; j < n_; ++j)
                result[static_cast<std::size_t>(j * m_ + i)] = values[static_cast<std::size_t>(i * n_ + j)];
        }
        return result;
    }

    void enter(const std::string& name) {
        const bool greedy = name == "fused-greedy", by_blocks = name == "cluster" || name == "grid";
        const PanelDesign design = name == "cluster" ? PanelDesign::cluster
                                   : name == "grid"  ? PanelDesign::grid
                                   : name == "steps" ? PanelDesign::steps
                                                     : PanelDesign::fused;
        // a taller panel would be timed as `steps` a second time
        if (design == PanelDesign::fused && m_ > basalt::cuda_detail::fused_height<T>()) return;
        for (const int wished : by_blocks ? options_.blocks : std::vector<int>{0}) {
            const bool in_cluster = design == PanelDesign::cluster && wished > 0;
            const int blocks = in_cluster ? basalt::cuda_detail::cluster_blocks(wished) : wished;
            const PanelPlan plan{design, blocks, options_.leaf_width, options_.tallest_leaf};
            if (!fits(plan)) continue;
            contestants_.push_back({name, blocks, &rows_, [this, plan, greedy](Stream stream, T* a, PanelLog log) {
                                        const auto panel = View::row_major(a, m_, n_, n_);
                                        greedy ? factor_greedily(stream, panel, plan, log)
                                               : factor(stream, panel, plan, log);
                                    }});
        }
    }

    bool fits(const PanelPlan& plan) {
        bool yes = false;
        device_.launch(basalt::detail::StreamRole::compute,
                       [&](Stream stream) { yes = basalt::on_stream::panel_fits<T>(stream, m_, plan); });
        return yes;
    }

    void factor(Stream stream, View panel, PanelPlan plan, PanelLog log) {
        basalt::on_stream::panel_factor<T>(stream, panel, pivots_.data(), info_.data(), workspace_.data(), plan, {},
                                           log, {});
    }

    void factor_greedily(Stream stream, View panel, PanelPlan plan, PanelLog log) {
        check_cuda(cudaMemsetAsync(info_.data(), 0, sizeof(Index), native_stream(stream)), "cudaMemsetAsync");
        if (log) check_cuda(cudaMemsetAsync(log.memory, 0, log.bytes(), native_stream(stream)), "cudaMemsetAsync");
        basalt::cuda_detail::factor_fused<T>(stream, panel, pivots_.data(), info_.data(), workspace_.data(),
                                             plan.leaf_width, plan.tallest_leaf,
                                             basalt::cuda_detail::FusedUpdate::greedy, log);
    }

    void enter_vendor() {
        vendor_.emplace(device_, m_, n_);
        contestants_.push_back({"cusolver", 0, &columns_,
                                [this](Stream stream, T* a, PanelLog) { vendor_->factor(stream, a, pivots_.data()); }});
    }

    /// Seconds on the GPU from the first kernel to the end; calls `meanwhile` repeatedly until the end.
    template <class Meanwhile>
    double time(const PanelContestant<T>& contestant, Meanwhile&& meanwhile, PanelLog log = {}) {
        device_.launch(basalt::detail::StreamRole::urgent_compute, [&](Stream stream) {
            check_cuda(cudaMemcpyAsync(work_.data(), contestant.source->data(), work_.bytes(), cudaMemcpyDeviceToDevice,
                                       native_stream(stream)),
                       "cudaMemcpyAsync");
            start_.record(stream);
            contestant.factor(stream, work_.data(), log);
            end_.record(stream);
        });
        while (!end_.reached()) meanwhile();
        return end_.seconds_since(start_);
    }
    double time(const PanelContestant<T>& contestant) {
        return time(contestant, [] {});
    }

    /// Measures the rate of the update alone, then while the panel is factored repeatedly.
    void time_beside(PanelContestant<T>& contestant, SteadyUpdate<T>& update) {
        constexpr double alone = 0.02, shortest = 0.05, longest = 2;
        update.begin();
        for (const double start = now(); now() - start < 2 * alone;) update.keep_busy();
        contestant.update_alone = update.rate(alone, 2 * alone);

        const double start = now();
        double from = 0, to = 0;
        const auto enough = [&] {
            const double seconds = now() - start;
            return seconds > longest ||
                   (seconds > shortest && static_cast<int>(contestant.runs_beside.size()) >= options_.repeat);
        };
        while (!enough()) {
            contestant.runs_beside.push_back(time(contestant, [&] { update.keep_busy(); }));
            if (contestant.runs_beside.size() == 1) from = start_.seconds_since(update.origin());
            to = end_.seconds_since(update.origin());
        }
        update.end();
        contestant.update_beside = update.rate(from, to);
    }

    void compare_pivots(PanelContestant<T>& contestant) {
        std::vector<Index> pivots = pivots_.read();
        if (contestant.design == "cusolver") {
            for (Index& pivot : pivots) --pivot;
        }
        if (first_pivots_.empty()) first_pivots_ = pivots;
        contestant.agrees = pivots == first_pivots_;
    }

    Device& device_;
    const PanelOptions& options_;
    const Index m_, n_;
    const DeviceArray<T> rows_, columns_, work_;
    const DeviceArray<Index> pivots_, info_;
    const DeviceArray<char> workspace_;
    std::optional<VendorPanel<T>> vendor_;
    std::vector<PanelContestant<T>> contestants_;
    std::vector<Index> first_pivots_;
    StreamEvent start_, end_;
};

}  // namespace bench
