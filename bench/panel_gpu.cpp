// The panel on one GPU: every design and cuSOLVER's getrf factor copies of one random matrix, in turn; alone, or while
// a stream of low priority multiplies matrices all the time, as an LU with lookahead does.
#include "bench/panel_gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <fmt/format.h>

#include "bench/build_commit.hpp"
#include "bench/clock.hpp"
#include "bench/machine_line.hpp"
#include "bench/plain_gemm.hpp"
#include "bench/vendor_gpu.hpp"
#include "io/json_record.hpp"
#include "io/trace_file.hpp"
#include "kernels/cuda/panel.hpp"
#include "kernels/cuda/panel_fused.hpp"
#include "runtime/device/device.hpp"

namespace bench {

namespace {

using basalt::Index;
using basalt::PanelLog;
using basalt::Stream;
using basalt::View;
using basalt::cuda_kernels::PanelDesign;
using basalt::cuda_kernels::PanelPlan;
using basalt::detail::Device;
using basalt::detail::StreamRole;

void check(cudaError_t status, const char* what) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}
void check(cusolverStatus_t status, const char* what) {
    if (status != CUSOLVER_STATUS_SUCCESS)
        throw std::runtime_error(std::string(what) + " failed: " + std::to_string(status));
}

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.native()); }

/// A point in a stream, with its time.
class Event {
  public:
    Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    void record(Stream stream) { check(cudaEventRecord(event_, native(stream)), "cudaEventRecord"); }

    bool reached() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status == cudaErrorNotReady) return static_cast<void>(cudaGetLastError()), false;
        check(status, "cudaEventQuery");
        return true;
    }

    double seconds_since(const Event& other) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, other.event_, event_), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) * 1e-3;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

template <class T>
class DeviceArray {
  public:
    DeviceArray(Device& device, std::size_t count)
        : device_(device),
          count_(count),
          data_(static_cast<T*>(device.allocate(std::max<std::size_t>(count, 1) * sizeof(T)))) {}
    DeviceArray(Device& device, const std::vector<T>& values) : DeviceArray(device, values.size()) {
        check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    ~DeviceArray() { device_.release(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() const { return data_; }
    std::size_t bytes() const { return count_ * sizeof(T); }
    std::vector<T> read() const {
        std::vector<T> values(count_);
        check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }

  private:
    Device& device_;
    std::size_t count_;
    T* data_;
};

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& x : values) x = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
    return values;
}

/// cuSOLVER's getrf of m x n matrices, column-major without gaps.
template <class T>
class VendorPanel {
  public:
    VendorPanel(Device& device, Index m, Index n) : m_(m), n_(n), info_(device, 1) {
        check(cusolverDnCreate(&solver_), "cusolverDnCreate");
        check(cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
        std::size_t host = 0;
        check(cusolverDnXgetrf_bufferSize(solver_, params_, m, n, type, nullptr, m, type, &bytes_, &host),
              "cusolverDnXgetrf_bufferSize");
        workspace_.emplace(device, bytes_);
        host_workspace_.resize(host);
    }
    ~VendorPanel() {
        cusolverDnDestroyParams(params_);
        cusolverDnDestroy(solver_);
    }
    VendorPanel(const VendorPanel&) = delete;
    VendorPanel& operator=(const VendorPanel&) = delete;

    /// pivots count from 1.
    void factor(Stream stream, T* a, Index* pivots) {
        check(cusolverDnSetStream(solver_, native(stream)), "cusolverDnSetStream");
        check(cusolverDnXgetrf(solver_, params_, m_, n_, type, a, m_, pivots, type, workspace_->data(), bytes_,
                               host_workspace_.data(), host_workspace_.size(), info_.data()),
              "cusolverDnXgetrf");
    }

  private:
    static constexpr cudaDataType_t type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
    const Index m_, n_;
    cusolverDnHandle_t solver_ = nullptr;
    cusolverDnParams_t params_ = nullptr;
    DeviceArray<int> info_;
    std::size_t bytes_ = 0;
    std::optional<DeviceArray<char>> workspace_;
    std::vector<char> host_workspace_;
};

/// Multiplications C -= A B on the stream of low priority, one behind the other.
template <class T>
class Update {
  public:
    explicit Update(Device& device)
        : device_(device),
          a_(device, random_values<T>(rows * depth, 1)),
          b_(device, random_values<T>(depth * cols, 2)),
          c_(device, random_values<T>(rows * cols, 3)) {}

    /// Forgets what was; times count from now.
    void begin() {
        finished_.clear();
        device_.launch(StreamRole::compute, [this](Stream stream) { origin_.record(stream); });
        keep_busy();
    }

    /// Call it often: some are always enqueued.
    void keep_busy() {
        take_finished();
        while (running_.size() < queued) {
            running_.push_back(std::make_unique<Event>());
            device_.launch(StreamRole::compute, [this](Stream stream) {
                plain_gemm<T>(stream, rows, cols, depth, a_.data(), b_.data(), c_.data());
                running_.back()->record(stream);
            });
        }
    }

    void end() {
        while (!running_.empty()) take_finished();
    }

    const Event& origin() const { return origin_; }

    /// Gflop/s of those that finished between two times; NaN where there are not two.
    double rate(double from, double to) const {
        int count = -1;
        double first = 0, last = 0;
        for (const double time : finished_) {
            if (time < from || time > to) continue;
            if (++count == 0) first = time;
            last = time;
        }
        return count < 1 ? std::numeric_limits<double>::quiet_NaN() : count * flops * 1e-9 / (last - first);
    }

    static constexpr Index depth = 512;

  private:
    static constexpr Index rows = 8192, cols = 4096;  // 0.7 ms in double precision on an H200
    static constexpr double flops = 2.0 * rows * cols * depth;
    static constexpr std::size_t queued = 8;

    void take_finished() {
        for (; !running_.empty() && running_.front()->reached(); running_.pop_front()) {
            finished_.push_back(running_.front()->seconds_since(origin_));
        }
    }

    Device& device_;
    const DeviceArray<T> a_, b_, c_;
    Event origin_;
    std::deque<std::unique_ptr<Event>> running_;
    std::vector<double> finished_;
};

/// The log of one panel, in the GPU's memory.
class DeviceLog {
  public:
    DeviceLog(Device& device, Index cols)
        : entries_(device, static_cast<std::size_t>(blocks) * static_cast<std::size_t>(capacity(cols) + 1)),
          log_{entries_.data(), blocks, capacity(cols)} {}

    const PanelLog& log() const { return log_; }

    /// Adds it to the trace, a row a block: those of `name`. Times count from its begin, so that designs can be
    /// compared.
    void add_to(basalt::Trace& trace, const std::string& name) const {
        std::vector<basalt::PanelLogEntry> entries = entries_.read();
        const PanelLog log{entries.data(), log_.blocks, log_.capacity};
        const std::vector<basalt::PanelLogSpan> spans = spans_of(log);
        std::int64_t begin = std::numeric_limits<std::int64_t>::max();
        for (const basalt::PanelLogSpan& span : spans) begin = std::min(begin, span.begin_ns);
        int last = -1;
        for (const basalt::PanelLogSpan& span : spans) {
            if (span.block != last) {
                trace.rows.push_back({fmt::format("{} block {}", name, span.block), basalt::TraceRowKind::block, 0});
                last = span.block;
            }
            basalt::TraceEvent& event = trace.events.emplace_back();
            event.name = name_of(span.state);
            event.row = static_cast<int>(trace.rows.size()) - 1;
            event.begin_ns = span.begin_ns - begin;
            event.end_ns = span.end_ns - begin;
        }
        const std::int64_t lost = lost_entries(log);
        if (lost > 0) fmt::print(stderr, "{}: the log has no room for {} states\n", name, lost);
    }

  private:
    static constexpr int blocks = 132;
    static int capacity(Index cols) { return PanelLog::enough_for(cols); }

    const DeviceArray<basalt::PanelLogEntry> entries_;
    const PanelLog log_;
};

/// One side of the comparison.
template <class T>
struct Contestant {
    std::string design;
    int blocks;
    const DeviceArray<T>* source;  ///< row-major or column-major
    std::function<void(Stream, T*, PanelLog)> factor = {};
    std::vector<double> runs = {}, runs_beside = {};
    double update_alone = 0, update_beside = 0;  ///< Gflop/s
    bool agrees = true;                          ///< its pivots are the first design's
};

/// One random matrix in both layouts, and who factors copies of it.
template <class T>
class PanelContest {
  public:
    PanelContest(Device& device, const PanelOptions& options, Index m, Index n)
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

    std::vector<Contestant<T>>& contestants() { return contestants_; }

    void run(Update<T>* update) {
        for (int round = 0; round <= options_.repeat; ++round) {
            for (Contestant<T>& each : contestants_) {
                const double seconds = time(each);
                if (round == 0) compare_pivots(each);  // and warm up
                if (round > 0) each.runs.push_back(seconds);
            }
        }
        if (update == nullptr) return;
        for (Contestant<T>& each : contestants_) time_beside(each, *update);
    }

    /// One more run of each design, which is recorded.
    void log(basalt::Trace& trace) {
        const DeviceLog log(device_, n_);
        for (const Contestant<T>& each : contestants_) {
            if (each.design == "cusolver" || each.design == "steps") continue;
            time(
                each, [] {}, log.log());
            log.add_to(trace, fmt::format("{} {}", each.design, m_));
        }
    }

  private:
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
        // taller ones would be timed as `steps` again
        if (design == PanelDesign::fused && m_ > basalt::cuda_detail::fused_height<T>()) return;
        for (const int blocks : by_blocks ? options_.blocks : std::vector<int>{0}) {
            const PanelPlan plan{design, blocks, options_.leaf_width, options_.tallest_leaf};
            if (!basalt::cuda_kernels::panel_fits<T>(device_.index(), m_, plan)) continue;
            contestants_.push_back({name, blocks, &rows_, [this, plan, greedy](Stream stream, T* a, PanelLog log) {
                                        const auto panel = View<T>::row_major(a, m_, n_, n_);
                                        greedy ? factor_greedily(stream, panel, plan, log)
                                               : factor(stream, panel, plan, log);
                                    }});
        }
    }

    void factor(Stream stream, View<T> panel, PanelPlan plan, PanelLog log) {
        basalt::cuda_kernels::panel_factor<T>(stream, panel, pivots_.data(), info_.data(), workspace_.data(), plan,
                                              log);
    }

    void factor_greedily(Stream stream, View<T> panel, PanelPlan plan, PanelLog log) {
        check(cudaMemsetAsync(info_.data(), 0, sizeof(Index), native(stream)), "cudaMemsetAsync");
        if (log) check(cudaMemsetAsync(log.memory, 0, log.bytes(), native(stream)), "cudaMemsetAsync");
        basalt::cuda_detail::factor_fused<T>(stream, panel, pivots_.data(), info_.data(), workspace_.data(),
                                             plan.leaf_width, plan.tallest_leaf,
                                             basalt::cuda_detail::FusedUpdate::greedy, log);
    }

    void enter_vendor() {
        vendor_.emplace(device_, m_, n_);
        contestants_.push_back({"cusolver", 0, &columns_,
                                [this](Stream stream, T* a, PanelLog) { vendor_->factor(stream, a, pivots_.data()); }});
    }

    /// Seconds of the GPU from the first kernel to the end; `meanwhile` is called until then.
    template <class Meanwhile>
    double time(const Contestant<T>& contestant, Meanwhile&& meanwhile, PanelLog log = {}) {
        device_.launch(StreamRole::urgent_compute, [&](Stream stream) {
            check(cudaMemcpyAsync(work_.data(), contestant.source->data(), work_.bytes(), cudaMemcpyDeviceToDevice,
                                  native(stream)),
                  "cudaMemcpyAsync");
            start_.record(stream);
            contestant.factor(stream, work_.data(), log);
            end_.record(stream);
        });
        while (!end_.reached()) meanwhile();
        return end_.seconds_since(start_);
    }
    double time(const Contestant<T>& contestant) {
        return time(contestant, [] {});
    }

    /// The rate of the update alone, and then while the panel is factored again and again.
    void time_beside(Contestant<T>& contestant, Update<T>& update) {
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

    void compare_pivots(Contestant<T>& contestant) {
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
    std::vector<Contestant<T>> contestants_;
    std::vector<Index> first_pivots_;
    Event start_, end_;
};

class Report {
  public:
    Report(const PanelOptions& options, const Device& device)
        : options_(options), gpu_(device.model()), table_(options.json == "-" ? stderr : stdout) {
        if (!options.json.empty()) records_.emplace(options.json, std::cout);
        fmt::print(table_, "panel on {}, precision {}, median of {} in turn; {}\n", gpu_, options.precision,
                   options.repeat, vendor_gpu_version());
        fmt::print(table_, "{:>7} {:>5} {:>13} {:>7} {:>9} {:>9} {:>8} {:>7}", "m", "nb", "design", "blocks", "ms",
                   "best ms", "Gflop/s", "ratio");
        if (options.beside_update)
            fmt::print(table_, " {:>10} {:>10} {:>10}", "beside ms", "gemm alone", "gemm beside");
        fmt::print(table_, "\n");
    }

    template <class T>
    void add(Index m, Index nb, const std::vector<Contestant<T>>& contestants) {
        const double vendor =
            options_.vendor ? basalt::median(contestants.back().runs) : std::numeric_limits<double>::quiet_NaN();
        for (const Contestant<T>& each : contestants) {
            const double seconds = basalt::median(each.runs),
                         best = *std::min_element(each.runs.begin(), each.runs.end());
            fmt::print(table_, "{:>7} {:>5} {:>13} {:>7} {:>9.3f} {:>9.3f} {:>8.1f} {:>7.2f}", m, nb, each.design,
                       each.blocks, seconds * 1e3, best * 1e3, operations(m, nb) / seconds * 1e-9, vendor / seconds);
            if (options_.beside_update) {
                fmt::print(table_, " {:>10.3f} {:>10.0f} {:>10.0f}", basalt::median(each.runs_beside) * 1e3,
                           each.update_alone, each.update_beside);
            }
            fmt::print(table_, "{}\n", each.agrees ? "" : "  other pivots");
            if (records_) write(m, nb, each, seconds, best, vendor);
        }
        std::fflush(table_);
    }

  private:
    template <class T>
    void write(Index m, Index nb, const Contestant<T>& contestant, double seconds, double best, double vendor) {
        basalt::JsonRecord record;
        record["bench"] = "panel";
        record["mode"] = "gpu";
        record["precision"] = options_.precision;
        record["m"] = m;
        record["nb"] = nb;
        record["design"] = contestant.design;
        record["blocks"] = contestant.blocks;
        record["leaf_width"] = options_.leaf_width;
        if (options_.tallest_leaf > 0) record["tallest_leaf"] = options_.tallest_leaf;
        record["seconds"] = seconds;
        record["best_seconds"] = best;
        record["gflops"] = operations(m, nb) / seconds * 1e-9;
        record["runs"] = contestant.runs;
        if (options_.vendor) {
            record["vendor"] = vendor_gpu_version();
            record["getrf_seconds"] = vendor;
            record["ratio"] = vendor / seconds;
        }
        record["same_pivots"] = contestant.agrees;
        if (options_.beside_update) {
            record["seconds_beside"] = basalt::median(contestant.runs_beside);
            record["runs_beside"] = contestant.runs_beside;
            record["update_alone_gflops"] = contestant.update_alone;
            record["update_beside_gflops"] = contestant.update_beside;
        }
        record["gpu"] = gpu_;
        record["machine"] = machine_line();
        record["commit"] = build_commit;
        records_->write(record);
    }

    const PanelOptions& options_;
    const std::string gpu_;
    std::FILE* table_;
    std::optional<basalt::JsonRecordWriter> records_;
};

template <class T>
void run(Device& device, const PanelOptions& options) {
    Report report(options, device);
    basalt::Trace trace;
    std::optional<Update<T>> update;
    if (options.beside_update) update.emplace(device);
    for (const Index nb : options.widths.empty() ? std::vector<Index>{256} : options.widths) {
        for (const Index m : options.heights) {
            PanelContest<T> contest(device, options, m, nb);
            contest.run(update ? &*update : nullptr);
            report.add(m, nb, contest.contestants());
            if (!options.log.empty()) contest.log(trace);
        }
    }
    if (options.log.empty()) return;
    std::ofstream file(options.log);
    write_chrome_trace(file, trace);
    if (!file.flush()) throw std::runtime_error("--log: " + options.log + " could not be written");
}

}  // namespace

void bench_panel_gpu(const PanelOptions& options) {
    const auto devices = basalt::detail::make_cuda_devices(1);
    if (devices.empty()) throw std::runtime_error("--mode gpu: no GPU");
    if (!options.log.empty() && options.precision == "s") {
        throw std::invalid_argument("--log with --precision s; panels log in double precision, d, alone");
    }
    devices.front()->attach_thread();
    options.precision == "s" ? run<float>(*devices.front(), options) : run<double>(*devices.front(), options);
}

}  // namespace bench
