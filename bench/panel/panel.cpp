// bench_panel: compares the gang panel with OpenBLAS's getrf and getf2 on the same matrix, in turn; or the designs of
// the GPU panel with cuSOLVER's getrf (gpu.cpp).

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <pthread.h>

#include <fmt/format.h>
#include <lapacke.h>

#include "base/host_memory.hpp"
#include "base/topology.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/panel/clock.hpp"
#include "bench/panel/gpu.hpp"
#include "bench/vendor/vendor.hpp"
#include "io/files/json_record.hpp"
#include "kernels/cpu/panel/member.hpp"
#include "kernels/cpu/panel/panel.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reference/thread_gang.hpp"

namespace {

using namespace bench;
using basalt::Index;
using basalt::View;

using Options = PanelOptions;

/// 1, 2, 4, ... up to 64 or the number of cores, whichever is less.
std::vector<int> usual_threads() {
    std::vector<int> threads;
    for (int t = 1; t <= std::min(64, basalt::detail::usable_cores()); t *= 2) threads.push_back(t);
    return threads;
}

double best(const std::vector<double>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

/// Binds the calling thread as the runtime binds the worker of that place; the destructor restores its cores.
class Binding {
  public:
    explicit Binding(int place) {
        pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_);
        basalt::detail::bind_this_thread(place);
    }
    ~Binding() { pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_); }
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

  private:
    cpu_set_t before_;
};

/// One random matrix in both layouts, and the routines that factor copies of it.
template <class T>
class PanelBench {
  public:
    static constexpr int copies = 4;  ///< of a panel, in memory at once: the workspace is one at most

    PanelBench(Index m, Index nb) : m_(m), nb_(nb), rows_(count()), columns_(count()), work_(count() * sizeof(T)) {
        std::mt19937_64 random(1);
        for (T& x : rows_) x = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < nb; ++j) columns_[at(j * m + i)] = rows_[at(i * nb + j)];
        }
        pivots_.resize(at(std::min(m, nb)));
        vendor_pivots_.resize(pivots_.size());
    }

    /// `clocks`: one for each member, or nullptr.
    double time_ours(int threads, std::vector<PhaseClock>* clocks = nullptr) {
        if (!workspace_ || !workspace_->fits(threads, m_, nb_)) workspace_.emplace(threads, m_, nb_);
        const auto panel = View<T>::row_major(fill(rows_), m_, nb_, nb_);
        double seconds = 0;
        basalt::reference::run_gang(threads, [&](basalt::Team& team) {
            const Binding binding(team.rank());
            team.barrier();
            const double start = now();
            if (clocks != nullptr) {
                PhaseClock& clock = (*clocks)[static_cast<std::size_t>(team.rank())];
                basalt::factor_timed<T>(team, panel, pivots_.data(), *workspace_, clock);
                clock.stop();
            } else {
                basalt::panel_factor<T>(team, panel, pivots_.data(), *workspace_);
            }
            if (team.rank() == 0) seconds = now() - start;
        });
        return seconds;
    }

    double time_getrf() {
        T* const a = fill(columns_);
        const double start = now();
        Vendor<T>::getrf(m_, nb_, a, vendor_pivots_);
        return now() - start;
    }

    double time_getf2() {
        T* const a = fill(columns_);
        const auto rows = static_cast<lapack_int>(m_), cols = static_cast<lapack_int>(nb_);
        const double start = now();
        if constexpr (std::is_same_v<T, float>) {
            LAPACKE_sgetf2_work(LAPACK_COL_MAJOR, rows, cols, a, rows, vendor_pivots_.data());
        } else {
            LAPACKE_dgetf2_work(LAPACK_COL_MAJOR, rows, cols, a, rows, vendor_pivots_.data());
        }
        return now() - start;
    }

  private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
    std::size_t count() const { return at(m_ * nb_); }

    /// A fresh copy in memory that is allocated as by the runtime; returns when other threads have gone to sleep.
    T* fill(const std::vector<T>& from) {
        T* const to = static_cast<T*>(work_.data());
        std::copy(from.begin(), from.end(), to);
        let_others_rest();
        return to;
    }

    const Index m_, nb_;
    std::vector<T> rows_, columns_;
    basalt::detail::HostBuffer work_;
    std::vector<Index> pivots_;
    std::vector<lapack_int> vendor_pivots_;
    std::optional<basalt::PanelWorkspace<T>> workspace_;
};

struct Times {
    std::vector<double> ours, getrf, getf2;
};

/// Alternates the routines on fresh copies of one random matrix; the first round is a warm-up.
template <class T>
Times measure(PanelBench<T>& panel, int threads, const Options& options) {
    Times times;
    for (int round = 0; round <= options.repeat; ++round) {
        const auto keep = [round](std::vector<double>& list, double seconds) {
            if (round > 0) list.push_back(seconds);
        };
        keep(times.ours, panel.time_ours(threads));
        if (options.vendor) keep(times.getrf, panel.time_getrf());
        // it is slow and always uses one thread: three rounds, with the first number of threads only
        if (options.vendor && options.unblocked && threads == options.threads.front() && round <= 3) {
            keep(times.getf2, panel.time_getf2());
        }
    }
    return times;
}

/// The phases of the median of `repeat` runs, averaged over its members.
template <class T>
PhaseClock::Seconds measure_phases(PanelBench<T>& panel, int threads, int repeat) {
    std::vector<std::pair<double, PhaseClock::Seconds>> runs;
    for (int round = 0; round <= repeat; ++round) {
        std::vector<PhaseClock> clocks(static_cast<std::size_t>(threads));
        const double seconds = panel.time_ours(threads, &clocks);
        PhaseClock::Seconds mean{};
        for (PhaseClock& clock : clocks) {
            for (std::size_t p = 0; p < mean.size(); ++p) mean[p] += clock.stop()[p] / threads;
        }
        if (round > 0) runs.emplace_back(seconds, mean);
    }
    std::sort(runs.begin(), runs.end());
    return runs[runs.size() / 2].second;
}

std::string milliseconds(const std::vector<double>& seconds) {
    return seconds.empty() ? "-" : fmt::format("{:.3f}", basalt::median(seconds) * 1e3);
}

class Report {
  public:
    Report(const Options& options, const char* kernels)
        : options_(options), table_(options.json == "-" ? stderr : stdout), records_(options.json) {
        fmt::print(table_, "panel, precision {}, kernels {}, median of {} in turn\nvendor: {}, kernels of {}\n",
                   options.precision, kernels, options.repeat, vendor_version(), vendor_core());
        fmt::print(table_, "{:>7} {:>5} {:>7} {:>9} {:>9} {:>7} {:>9} {:>9} {:>6}\n", "m", "nb", "threads", "ours ms",
                   "best ms", "Gflop/s", "getrf ms", "getf2 ms", "ratio");
    }

    void add(Index m, Index nb, int threads, const Times& times) {
        const double ours = basalt::median(times.ours), gflops = operations(m, nb) / ours * 1e-9;
        const double ratio = times.getrf.empty() ? 0 : basalt::median(times.getrf) / ours;
        fmt::print(table_, "{:>7} {:>5} {:>7} {:>9.3f} {:>9.3f} {:>7.1f} {:>9} {:>9} {:>6.2f}\n", m, nb, threads,
                   ours * 1e3, best(times.ours) * 1e3, gflops, milliseconds(times.getrf), milliseconds(times.getf2),
                   ratio);
        std::fflush(table_);
        basalt::JsonRecord record;
        record["bench"] = "panel";
        record["precision"] = options_.precision;
        record["m"] = m;
        record["nb"] = nb;
        record["threads"] = threads;
        record["seconds"] = ours;
        record["gflops"] = gflops;
        record["runs"] = times.ours;
        if (!times.getrf.empty()) {
            record["vendor"] = vendor_version();
            record["vendor_core"] = vendor_core();
            record["getrf_seconds"] = basalt::median(times.getrf);
            record["ratio"] = ratio;
        }
        if (!times.getf2.empty()) record["getf2_seconds"] = basalt::median(times.getf2);
        records_.write(record);
    }

    void add(const PhaseClock::Seconds& phases) {
        double sum = 0;
        for (const double seconds : phases) sum += seconds;
        fmt::print(table_, "        sum {:.3f} =", sum * 1e3);
        for (std::size_t p = 0; p < phases.size(); ++p) {
            fmt::print(table_, " {} {:.3f}", phase_names[p], phases[p] * 1e3);
        }
        fmt::print(table_, "\n");
        std::fflush(table_);
    }

  private:
    const Options& options_;
    std::FILE* table_;
    RecordFile records_;
};

template <class T>
void run(const Options& options) {
    Report report(options, basalt::simd::kernels<T>().name);
    for (const Index nb : options.widths) {
        for (const Index m : options.heights) {
            PanelBench<T> panel(m, nb);
            for (const int threads : options.threads) {
                set_vendor_threads(threads);
                report.add(m, nb, threads, measure(panel, threads, options));
                if (options.phases) report.add(measure_phases(panel, threads, options.repeat));
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app(
        "Compares the gang panel with OpenBLAS's getrf and getf2, or GPU panels with cuSOLVER's getrf, in turn",
        "bench_panel");
    Options options;
    std::string core;
    app.add_option("--mode", options.mode, "cpu or gpu").one_of({"cpu", "gpu"});
    app.add_option("--heights", options.heights, "rows of the panel").list().range(Index{1}, tallest_panel);
    app.add_option("--nb", options.widths, "columns of the panel (default: 192,256; on a GPU 256)")
        .list()
        .range(Index{1}, tallest_panel);
    app.add_option("--threads", options.threads, "threads of both sides (default: 1, 2, 4, ... 64 or all cores)")
        .list()
        .range(1, 1024);
    app.add_option("--precision", options.precision, "s or d").one_of({"s", "d"});
    app.add_option("--repeat", options.repeat, "rounds that count").range(1, 1000);
    app.add_flag("!--no-getf2", options.unblocked, "skip getf2, which takes the longest");
    app.add_flag("!--no-vendor", options.vendor, "ours only");
    app.add_flag("--phases", options.phases, "also print the time of ours by phase in ms, averaged over the members");
    app.add_option("--vendor-coretype", core, "processor type whose kernels OpenBLAS uses; auto: its own choice");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    app.add_option("--designs", options.designs, "designs of the GPU panel")
        .list()
        .one_of({"cluster", "grid", "fused", "fused-greedy", "steps"});
    app.add_option("--blocks", options.blocks,
                   "thread blocks of cluster (the next of 4, 8, 16) and grid; 0: the default for the height")
        .list()
        .range(0, 1024);
    app.add_option("--leaf", options.leaf_width, "columns that a GPU panel factors on chip; 0: the design's default")
        .range(0, 1024);
    app.add_option(
           "--tallest-leaf", options.tallest_leaf,
           "rows of the tallest leaf of the design fused, above which it goes by steps; 0: as many as registers hold")
        .non_negative();
    app.add_flag("--during-update", options.beside_update,
                 "measure also while gemms (K = 512) run on a low-priority stream, and the rate of these");
    app.add_option("--log", options.log,
                   "GPU, double: run each design once more and write a trace of the thread blocks' work to this file");
    return app.run_program(argc, argv, [&] {
        if (options.mode == "gpu") return bench_panel_gpu(options), 0;
        if (options.threads.empty()) options.threads = usual_threads();
        if (options.widths.empty()) options.widths = {192, 256};
        require_panels_fit(options, options.widths, PanelBench<double>::copies, "this machine",
                           basalt::detail::usable_memory());
        if (!core.empty()) require_vendor_core(core, argv);
        options.precision == "s" ? run<float>(options) : run<double>(options);
        return 0;
    });
}
