// bench_batch: batched Cholesky, LU and QR against a loop over LAPACKE, which the same workers share, and fused calls
// against two of ours.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>
#include <basalt/basalt.hpp>

#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/vendor/vendor.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::BatchView;
using basalt::Index;

struct Options {
    std::vector<Index> n{8, 16, 32};
    std::vector<Index> count{10'000};
    Index nrhs = 1;
    std::string routine = "potrf";
    std::string precision = "d";
    std::string triangle = "lower";
    std::string against = "lapacke";
    int workers = 0;
    int repeat = 7;
    std::string json;

    /// A loop over LAPACKE is the other contestant; otherwise two calls of ours are.
    bool against_lapacke() const { return against == "lapacke"; }
};

/// The contestants' seconds, by repetition, and the largest difference of their results relative to the largest one.
struct Outcome {
    std::vector<double> ours, theirs;
    double difference;
};

/// A batch, its right-hand sides, and the runs of both contestants on copies of them.
template <class T>
class BatchContest {
  public:
    BatchContest(basalt::Runtime& runtime, const Options& options, Index n, Index count)
        : runtime_(runtime),
          routine_(options.routine),
          triangle_(options.triangle == "lower" ? basalt::Triangle::lower : basalt::Triangle::upper),
          against_lapacke_(options.against_lapacke()),
          n_(n),
          count_(count),
          nrhs_(options.nrhs),
          a_(static_cast<std::size_t>(n * n * count)),
          b_(static_cast<std::size_t>(n * nrhs_ * count)),
          tau_(static_cast<std::size_t>(n * count)),
          info_(static_cast<std::size_t>(count)),
          pivots_(static_cast<std::size_t>(n * count)),
          ipiv_(pivots_.size()) {
        const auto generator = basalt::make_generator<T>(is_cholesky() ? "spd" : "random", n, n, 1);
        std::vector<T> one(static_cast<std::size_t>(n * n));
        generator->fill(basalt::View<T>::column_major(one.data(), n, n, n), 0, 0);
        for (std::size_t i = 0; i < a_.size(); ++i) a_[i] = one[i % one.size()];
        for (Index k = 0; k < count; ++k) {  // different matrices, all positive definite
            for (Index j = 0; j < n; ++j) a_[static_cast<std::size_t>((k * n + j) * n + j)] += static_cast<T>(k % 7);
        }
        for (std::size_t i = 0; i < b_.size(); ++i) b_[i] = static_cast<T>(1) / static_cast<T>(1 + i % 11);
        factors_ = a_;
        if (routine_ == "potrs" || routine_ == "getrs") their_factor(factors_);
    }

    Outcome run(int repeat) {
        Outcome outcome{};
        for (int round = 0; round <= repeat; ++round) {
            const double ours = time(ours_a_, ours_b_, [&] { run_ours(); });
            const double theirs = time(theirs_a_, theirs_b_, [&] { run_theirs(); });
            if (round == 0) continue;
            outcome.ours.push_back(ours);
            outcome.theirs.push_back(theirs);
        }
        const bool discards = routine_ == "posv" || routine_ == "gesv";
        outcome.difference = std::max(discards ? 0.0 : difference(ours_a_, theirs_a_), difference(ours_b_, theirs_b_));
        return outcome;
    }

  private:
    template <class Run>
    double time(std::vector<T>& a, std::vector<T>& b, const Run& run) {
        // enough copies for the clock's resolution
        const Index work = std::max<Index>(1, count_ * n_ * n_);
        const Index copies = std::clamp<Index>(20'000 / work, 1, 200);
        double seconds = 0;
        for (Index c = 0; c < copies; ++c) {
            a = routine_ == "potrs" || routine_ == "getrs" ? factors_ : a_;
            b = b_;
            const double start = now();
            run();
            seconds += now() - start;
        }
        return seconds / static_cast<double>(copies);
    }

    BatchView<T> a(std::vector<T>& values) const {
        return BatchView<T>::strided(values.data(), count_, n_, n_, n_, n_ * n_);
    }
    BatchView<T> b(std::vector<T>& values) const {
        return BatchView<T>::strided(values.data(), count_, n_, nrhs_, n_, n_ * nrhs_);
    }

    bool is_cholesky() const { return routine_[0] == 'p'; }
    bool is_qr() const { return routine_ == "geqrf" || routine_ == "gels"; }
    BatchView<Index> pivots() { return BatchView<Index>::strided(pivots_.data(), count_, n_, 1, n_, n_); }
    BatchView<T> tau() { return BatchView<T>::strided(tau_.data(), count_, n_, 1, n_, n_); }

    /// Factor and solve by two calls of ours.
    void run_two_calls(std::vector<T>& matrices, std::vector<T>& sides) {
        if (is_cholesky()) {
            basalt::batch_cholesky_factor<T>(runtime_, triangle_, a(matrices), info_);
            return basalt::batch_cholesky_solve<T>(runtime_, triangle_, a(matrices), b(sides));
        }
        basalt::batch_lu_factor<T>(runtime_, a(matrices), pivots(), info_);
        basalt::batch_lu_solve<T>(runtime_, a(matrices), pivots(), b(sides));
    }

    void run_ours() {
        const std::span<Index> info(info_);
        if (routine_ == "geqrf") {
            basalt::batch_qr_factor<T>(runtime_, a(ours_a_), tau());
        } else if (routine_ == "gels") {
            basalt::batch_least_squares<T>(runtime_, a(ours_a_), b(ours_b_), info);
        } else if (routine_ == "getrf") {
            basalt::batch_lu_factor<T>(runtime_, a(ours_a_), pivots(), info_);
        } else if (routine_ == "getrs") {
            basalt::batch_lu_solve<T>(runtime_, a(ours_a_), pivots(), b(ours_b_));
        } else if (routine_ == "gesv") {
            basalt::batch_lu_factor_solve<T>(runtime_, BatchView<const T>(a(ours_a_)), b(ours_b_), info_);
        } else if (routine_ == "potrf") {
            basalt::batch_cholesky_factor<T>(runtime_, triangle_, a(ours_a_), info);
        } else if (routine_ == "potrs") {
            basalt::batch_cholesky_solve<T>(runtime_, triangle_, a(ours_a_), b(ours_b_));
        } else {
            basalt::batch_cholesky_factor_solve<T>(
                runtime_, triangle_, a(ours_a_), b(ours_b_), info,
                routine_ == "posv" ? basalt::BatchFactor::discard : basalt::BatchFactor::keep);
        }
    }

    void run_theirs() {
        if (!against_lapacke_) return run_two_calls(theirs_a_, theirs_b_);
        if (routine_ == "potrf" || routine_ == "getrf" || routine_ == "geqrf") return their_factor(theirs_a_);
        if (routine_ == "gels") return share([&](Index k) { their_least_squares(k); });
        if (routine_ == "potrs" || routine_ == "getrs") return share([&](Index k) { their_solve(k); });
        share([&](Index k) {
            their_factor_one(theirs_a_, k);
            their_solve(k);
        });
    }

    void their_factor(std::vector<T>& values) {
        share([&](Index k) { their_factor_one(values, k); });
    }
    char uplo() const { return triangle_ == basalt::Triangle::lower ? 'L' : 'U'; }
    template <class Single, class Double>
    static auto lapacke(Single single, Double twice) {
        if constexpr (sizeof(T) == 4) {
            return single;
        } else {
            return twice;
        }
    }
    void their_least_squares(Index k) {
        const auto n = static_cast<lapack_int>(n_), nrhs = static_cast<lapack_int>(nrhs_);
        lapacke(LAPACKE_sgels, LAPACKE_dgels)(LAPACK_COL_MAJOR, 'N', n, n, nrhs, theirs_a_.data() + k * n_ * n_, n,
                                              theirs_b_.data() + k * n_ * nrhs_, n);
    }
    void their_factor_one(std::vector<T>& values, Index k) {
        T* const matrix = values.data() + k * n_ * n_;
        const auto n = static_cast<lapack_int>(n_);
        lapack_int info = 0;
        if (is_qr()) {
            info = lapacke(LAPACKE_sgeqrf, LAPACKE_dgeqrf)(LAPACK_COL_MAJOR, n, n, matrix, n, tau_.data() + k * n_);
        } else if (!is_cholesky()) {
            lapack_int* const ipiv = ipiv_.data() + k * n_;
            info = lapacke(LAPACKE_sgetrf, LAPACKE_dgetrf)(LAPACK_COL_MAJOR, n, n, matrix, n, ipiv);
            for (Index i = 0; i < n_; ++i) pivots_[static_cast<std::size_t>(k * n_ + i)] = ipiv[i];
        } else if constexpr (sizeof(T) == 4) {
            info = LAPACKE_spotrf(LAPACK_COL_MAJOR, uplo(), n, matrix, n);
        } else {
            info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, uplo(), n, matrix, n);
        }
        if (info != 0) throw std::runtime_error("LAPACKE's factorization failed");
    }
    void their_solve(Index k) {
        const auto n = static_cast<lapack_int>(n_), nrhs = static_cast<lapack_int>(nrhs_);
        if (!is_cholesky()) {
            lapacke(LAPACKE_sgetrs, LAPACKE_dgetrs)(LAPACK_COL_MAJOR, 'N', n, nrhs, theirs_a_.data() + k * n_ * n_, n,
                                                    ipiv_.data() + k * n_, theirs_b_.data() + k * n_ * nrhs_, n);
        } else if constexpr (sizeof(T) == 4) {
            LAPACKE_spotrs(LAPACK_COL_MAJOR, uplo(), n, nrhs, theirs_a_.data() + k * n_ * n_, n,
                           theirs_b_.data() + k * n_ * nrhs_, n);
        } else {
            LAPACKE_dpotrs(LAPACK_COL_MAJOR, uplo(), n, nrhs, theirs_a_.data() + k * n_ * n_, n,
                           theirs_b_.data() + k * n_ * nrhs_, n);
        }
    }

    /// A loop over the matrices, by all workers if it takes longer than waking them.
    template <class One>
    void share(const One& one) {
        if (count_ * n_ * n_ * (n_ + 20) < 500'000) {
            for (Index k = 0; k < count_; ++k) one(k);
            return;
        }
        const Index parts = std::min<Index>(count_, 8 * static_cast<Index>(runtime_.workers()));
        runtime_.submit_for({.name = "loop"}, {0, parts}, 1, [&](Index part) {
            for (Index k = part * count_ / parts; k < (part + 1) * count_ / parts; ++k) one(k);
        });
        runtime_.wait();
    }

    static double difference(const std::vector<T>& x, const std::vector<T>& y) {
        double largest = 0, size = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            largest = std::max(largest, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
            size = std::max(size, std::abs(static_cast<double>(y[i])));
        }
        return size > 0 ? largest / size : largest;
    }

    basalt::Runtime& runtime_;
    const std::string routine_;
    const basalt::Triangle triangle_;
    const bool against_lapacke_;
    const Index n_, count_, nrhs_;
    std::vector<T> a_, b_, factors_, ours_a_, ours_b_, theirs_a_, theirs_b_;
    std::vector<T> tau_;
    std::vector<Index> info_, pivots_;
    std::vector<lapack_int> ipiv_;
};

basalt::JsonRecord batch_record(const Options& options, int workers, Index n, Index count) {
    basalt::JsonRecord record;
    record["bench"] = "batch";
    record["routine"] = options.routine;
    record["precision"] = options.precision;
    record["triangle"] = options.triangle;
    record["workers"] = workers;
    record["n"] = n;
    record["count"] = count;
    record["nrhs"] = options.routine.ends_with("trf") || options.routine == "geqrf" ? 0 : options.nrhs;
    record["against"] = options.against;
    if (options.against_lapacke()) {
        record["vendor"] = "LAPACKE, " + vendor_version();
        record["vendor_core"] = vendor_core();
    } else {
        record["vendor"] = "two calls";
    }
    return record;
}

template <class T>
void run_batches(const Options& options) {
    basalt::Config config;
    config.workers = options.workers;
    config.gpus = 0;
    basalt::Runtime runtime(config);
    openblas_set_num_threads(1);
    RecordFile records(options.json);
    std::FILE* table = options.json == "-" ? stderr : stdout;
    fmt::print(
        table,
        "{}, precision {}, {}, {} workers, nanoseconds a matrix (medians of {})\n{:>5} {:>8} {:>10} {:>10} {:>7}\n",
        options.routine, options.precision, options.triangle, runtime.workers(), options.repeat, "n", "count", "Basalt",
        options.against, "ratio");
    for (const Index count : options.count) {
        for (const Index n : options.n) {
            const Outcome outcome = BatchContest<T>(runtime, options, n, count).run(options.repeat);
            // random matrices of LU and QR have condition numbers of some thousands
            const double condition = options.routine[0] == 'p' ? 1 : 1000;
            const double tolerance =
                static_cast<double>(n) * 100 * condition * static_cast<double>(std::numeric_limits<T>::epsilon());
            if (!(outcome.difference <= tolerance)) {
                throw std::runtime_error(fmt::format("n = {}: results differ from those of {} by {}", n,
                                                     options.against, outcome.difference));
            }
            const double ours = basalt::median(outcome.ours), theirs = basalt::median(outcome.theirs);
            const double scale = 1e9 / static_cast<double>(count);
            fmt::print(table, "{:5} {:8} {:10.1f} {:10.1f} {:7.2f}\n", n, count, ours * scale, theirs * scale,
                       theirs / ours);
            basalt::JsonRecord record = batch_record(options, runtime.workers(), n, count);
            record["seconds"] = ours;
            record["runs"] = outcome.ours;
            record["vendor_seconds"] = theirs;
            record["vendor_runs"] = outcome.theirs;
            record["ratio"] = theirs / ours;
            records.write(record);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app(
        "Batched Cholesky, LU and QR against a loop over LAPACKE on the same cores, or fused against two calls",
        "bench_batch");
    Options options;
    std::string core;
    app.add_option("--n", options.n, "orders").list().range(Index{1}, Index{4096});
    app.add_option("--count", options.count, "matrices in a batch").list().range(Index{1}, Index{10'000'000});
    app.add_option("--nrhs", options.nrhs, "right-hand sides").range(Index{1}, Index{1024});
    app.add_option(
           "--routine", options.routine,
           "potrf, potrs, getrf, getrs, geqrf, gels; posv and gesv: fused, the factor discarded; posv-keep: fused")
        .one_of({"potrf", "potrs", "posv", "posv-keep", "getrf", "getrs", "gesv", "geqrf", "gels"});
    app.add_option("--precision", options.precision, "s or d").one_of({"s", "d"});
    app.add_option("--triangle", options.triangle, "lower or upper").one_of({"lower", "upper"});
    app.add_option("--against", options.against,
                   "lapacke: a loop over LAPACKE; two-calls: our factorization and solution, for posv and gesv")
        .one_of({"lapacke", "two-calls"});
    app.add_option("--vendor-coretype", core, "processor type whose kernels OpenBLAS uses; auto: its own choice");
    app.add_option("--workers", options.workers, "workers; 0: all cores").range(0, 1024);
    app.add_option("--repeat", options.repeat, "rounds that count, in turn").range(1, 1000);
    app.add_option("--json", options.json, "append records to this file; - for standard output");
    return app.run_program(argc, argv, [&] {
        if (!core.empty()) require_vendor_core(core, argv);
        const bool fused = options.routine == "posv" || options.routine == "posv-keep" || options.routine == "gesv";
        if (!options.against_lapacke() && !fused) {
            throw std::invalid_argument("--against two-calls: allowed with --routine posv, posv-keep and gesv");
        }
        options.precision == "s" ? run_batches<float>(options) : run_batches<double>(options);
        return 0;
    });
}
