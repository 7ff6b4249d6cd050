// bench_panel: the gang panel beside LAPACKE on the same matrix and the same number of threads, in turn.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#include <cblas.h>
#include <fmt/core.h>
#include <lapacke.h>
#include <CLI/CLI.hpp>

#include "kernels/cpu/panel.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/reference/thread_gang.hpp"

extern "C" void openblas_set_num_threads(int);

namespace {

using basalt::Index;
using basalt::View;

struct Options {
    std::vector<Index> heights{1024, 2048, 4096, 8000, 16384, 32768, 65536, 131072};
    std::vector<Index> widths{192, 256};
    std::vector<int> threads{1, 2};
    std::string precision = "d";
    int repeat = 7;
    bool unblocked = false;
    std::string json;
};

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

/// OpenBLAS's threads poll for tens of milliseconds after a call: whoever is timed next would share a core
/// with them.
void let_others_rest() {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
}

/// LAPACK's operation count of LU.
double operations(Index m, Index n) {
    const double k = static_cast<double>(std::min(m, n)), rows = static_cast<double>(m),
                 cols = static_cast<double>(n);
    return 2 * rows * cols * k - (rows + cols) * k * k + 2.0 / 3.0 * k * k * k;
}

/// Keeps the calling thread on core `rank` of those the process may use, as the runtime binds its workers,
/// and gives them all back at the end.
class Binding {
  public:
    explicit Binding(int rank) {
        pthread_getaffinity_np(pthread_self(), sizeof(allowed_), &allowed_);
        const int cores = CPU_COUNT(&allowed_);
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &allowed_) && seen++ == rank % cores) CPU_SET(cpu, &one);
        }
        pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    }
    ~Binding() { pthread_setaffinity_np(pthread_self(), sizeof(allowed_), &allowed_); }
    Binding(const Binding&) = delete;
    Binding& operator=(const Binding&) = delete;

  private:
    cpu_set_t allowed_;
};

template <class T>
double time_ours(View<T> panel, int threads, basalt::PanelWorkspace<T>& workspace,
                 std::vector<Index>& pivots) {
    double seconds = 0;
    basalt::reference::run_gang(threads, [&](basalt::Team& team) {
        const Binding binding(team.rank());
        team.barrier();
        const double start = now();
        basalt::panel_factor<T>(team, panel, pivots.data(), workspace);
        if (team.rank() == 0) seconds = now() - start;
    });
    return seconds;
}

template <class T>
double time_lapack(bool unblocked, T* a, Index m, Index n, std::vector<lapack_int>& pivots) {
    const auto rows = static_cast<lapack_int>(m), cols = static_cast<lapack_int>(n);
    const double start = now();
    if constexpr (std::is_same_v<T, float>) {
        (unblocked ? LAPACKE_sgetf2_work : LAPACKE_sgetrf_work)(LAPACK_COL_MAJOR, rows, cols, a, rows,
                                                                pivots.data());
    } else {
        (unblocked ? LAPACKE_dgetf2_work : LAPACKE_dgetrf_work)(LAPACK_COL_MAJOR, rows, cols, a, rows,
                                                                pivots.data());
    }
    return now() - start;
}

struct Times {
    std::vector<double> ours, getrf, getf2;
};

/// Alternates the routines on fresh copies of one random matrix; the first round only warms up.
template <class T>
Times measure(Index m, Index nb, int threads, const Options& options) {
    std::vector<T> columns(static_cast<std::size_t>(m * nb)), work(columns.size());
    std::mt19937_64 random(1);
    for (T& x : columns) x = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
    std::vector<Index> pivots(static_cast<std::size_t>(nb));
    std::vector<lapack_int> lapack_pivots(static_cast<std::size_t>(nb));
    basalt::PanelWorkspace<T> workspace(threads, m, nb);
    openblas_set_num_threads(threads);

    Times times;
    for (int round = 0; round <= options.repeat; ++round) {
        const auto keep = [round](std::vector<double>& list, double seconds) {
            if (round > 0) list.push_back(seconds);
        };
        for (Index j = 0; j < nb; ++j) {
            for (Index i = 0; i < m; ++i)
                work[static_cast<std::size_t>(i * nb + j)] = columns[static_cast<std::size_t>(j * m + i)];
        }
        let_others_rest();
        keep(times.ours, time_ours(View<T>::row_major(work.data(), m, nb, nb), threads, workspace, pivots));
        work = columns;
        keep(times.getrf, time_lapack(false, work.data(), m, nb, lapack_pivots));
        if (!options.unblocked) continue;
        work = columns;
        keep(times.getf2, time_lapack(true, work.data(), m, nb, lapack_pivots));
    }
    return times;
}

template <class T>
void run(const Options& options) {
    const bool to_stdout = options.json == "-";
    std::FILE* table = to_stdout ? stderr : stdout;
    std::FILE* json = options.json.empty() ? nullptr
                      : to_stdout          ? stdout
                                           : std::fopen(options.json.c_str(), "a");
    if (!options.json.empty() && json == nullptr) throw std::runtime_error("cannot write " + options.json);
    fmt::print(table, "panel, precision {}, kernels {}, LAPACKE on {} ({}), median of {}\n",
               options.precision, basalt::simd::kernels<T>().name, openblas_get_config(),
               openblas_get_corename(), options.repeat);
    fmt::print(table, "{:>8} {:>5} {:>7} {:>10} {:>8} {:>9} {:>9} {:>6} {:>11}\n", "m", "nb", "threads",
               "ours ms", "GF/s", "getrf ms", "getf2 ms", "ratio", "best/best");
    for (const Index nb : options.widths) {
        for (const int threads : options.threads) {
            for (const Index m : options.heights) {
                const Times times = measure<T>(m, nb, threads, options);
                const double ours = median(times.ours), getrf = median(times.getrf),
                             getf2 = median(times.getf2);
                const double gflops = operations(m, nb) / ours * 1e-9;
                fmt::print(
                    table,
                    "{:>8} {:>5} {:>7} {:>10.3f} {:>8.1f} {:>9.3f} {:>9.3f} {:>6.2f} {:>5.2f}/{:.2f}\n", m,
                    nb, threads, ours * 1e3, gflops, getrf * 1e3, getf2 * 1e3, getrf / ours,
                    *std::min_element(times.getrf.begin(), times.getrf.end()) * 1e3,
                    *std::min_element(times.ours.begin(), times.ours.end()) * 1e3);
                std::fflush(table);
                if (json == nullptr) continue;
                fmt::print(json,
                           "{{\"bench\":\"panel\",\"precision\":\"{}\",\"m\":{},\"nb\":{},\"threads\":{},"
                           "\"seconds\":{:.6g},"
                           "\"gflops\":{:.4g},\"lapack_seconds\":{:.6g},\"getf2_seconds\":{:.6g},\"ratio\":{:"
                           ".4g}}}\n",
                           options.precision, m, nb, threads, ours, gflops, getrf, getf2, getrf / ours);
                std::fflush(json);
            }
        }
    }
    if (json != nullptr && json != stdout) std::fclose(json);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("The gang panel beside LAPACKE_?getrf: same matrix, same threads, in turn", "bench_panel");
    Options options;
    app.add_option("--heights", options.heights, "rows of the panel")->delimiter(',');
    app.add_option("--nb", options.widths, "columns of the panel")->delimiter(',');
    app.add_option("--threads", options.threads, "threads of both sides")->delimiter(',');
    app.add_option("--precision", options.precision, "s or d")->check(CLI::IsMember({"s", "d"}));
    app.add_option("--repeat", options.repeat, "timed rounds")->check(CLI::Range(1, 1000));
    app.add_flag("--getf2", options.unblocked, "time the unblocked LAPACKE_?getf2 as well (slow)");
    app.add_option("--json", options.json, "append a record a line to this file, - for standard output");
    CLI11_PARSE(app, argc, argv);
    options.precision == "s" ? run<float>(options) : run<double>(options);
}
