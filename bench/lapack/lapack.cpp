// bench_lapack: LAPACK's calls through libbasalt_lapack and through OpenBLAS, in turn, on the same arrays in the host's
// memory: what NumPy's and SciPy's functions of these names call.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/topology.hpp"
#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/vendor/vendor.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;

struct Options {
    std::vector<std::string> calls{"solve", "inv", "cholesky", "lu_factor", "qr"};
    std::vector<int> n{2000, 4000, 8000};
    int repeat = 3;
    int many = 0;
    std::string json;
};

/// LAPACK's routines on doubles in one library.
class Lapack {
  public:
    explicit Lapack(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) throw std::runtime_error(dlerror());
    }

    template <class... Arguments>
    void call(const char* name, Arguments... arguments) const {
        int info = 0;
        using Function = void (*)(Arguments..., int*, std::size_t, std::size_t);
        reinterpret_cast<Function>(symbol(name))(arguments..., &info, std::size_t{1}, std::size_t{1});
        if (info != 0) throw std::runtime_error(fmt::format("{} returned INFO = {}", name, info));
    }

    void set_threads(int threads) const {
        if (void* const function = dlsym(library_, "openblas_set_num_threads")) {
            reinterpret_cast<void (*)(int)>(function)(threads);
        }
    }

  private:
    void* symbol(const char* name) const {
        void* const found = dlsym(library_, name);
        if (found == nullptr) throw std::runtime_error(std::string("there is no ") + name);
        return found;
    }

    void* library_;
};

/// The arrays of one order.
class Problem {
  public:
    explicit Problem(int n) : n_(n), pivots_(at(n)), tau_(at(n)), work_(at(n) * 128) {
        std::mt19937_64 random(1);
        general_.resize(at(n) * at(n));
        for (double& x : general_) x = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
        definite_ = general_;
        for (int j = 0; j < n; ++j) {
            for (int i = 0; i < j; ++i) definite_[at(j) + at(i) * at(n)] = definite_[at(i) + at(j) * at(n)];
            definite_[at(j) * at(n + 1)] += n;
        }
    }

    /// Seconds of a call on fresh copies.
    double seconds(const Lapack& lapack, const std::string& call) {
        a_ = call == "cholesky" || call == "potri" ? definite_ : general_;
        const bool inverse = call == "inv";
        if (inverse || call == "solve") b_.assign(at(n_) * at(inverse ? n_ : 1), inverse ? 0.0 : 1.0);
        for (int i = 0; inverse && i < n_; ++i) b_[at(i) * at(n_ + 1)] = 1;
        let_others_rest();
        const double begin = now();
        run(lapack, call);
        return now() - begin;
    }

    /// Largest |x - y| of the results of two libraries, relative to the largest |y|.
    double difference(const Lapack& one, const Lapack& other, const std::string& call) {
        seconds(one, call);
        const std::vector<double> result = b_.empty() ? a_ : b_;
        seconds(other, call);
        const std::vector<double>& expected = b_.empty() ? a_ : b_;
        double largest = 0, scale = 0;
        for (std::size_t i = 0; i < result.size(); ++i) {
            largest = std::max(largest, std::abs(result[i] - expected[i]));
            scale = std::max(scale, std::abs(expected[i]));
        }
        return largest / scale;
    }

  private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void run(const Lapack& lapack, const std::string& call) {
        const int lwork = static_cast<int>(work_.size());
        if (call == "solve" || call == "inv") {
            const int columns = call == "inv" ? n_ : 1;
            lapack.call("dgesv_", &n_, &columns, a_.data(), &n_, pivots_.data(), b_.data(), &n_);
        } else if (call == "cholesky") {
            lapack.call("dpotrf_", "L", &n_, a_.data(), &n_);
        } else if (call == "lu_factor") {
            lapack.call("dgetrf_", &n_, &n_, a_.data(), &n_, pivots_.data());
        } else if (call == "getri") {
            lapack.call("dgetrf_", &n_, &n_, a_.data(), &n_, pivots_.data());
            lapack.call("dgetri_", &n_, a_.data(), &n_, pivots_.data(), work_.data(), &lwork);
        } else if (call == "potri") {
            lapack.call("dpotrf_", "L", &n_, a_.data(), &n_);
            lapack.call("dpotri_", "L", &n_, a_.data(), &n_);
        } else {
            lapack.call("dgeqrf_", &n_, &n_, a_.data(), &n_, tau_.data(), work_.data(), &lwork);
            lapack.call("dorgqr_", &n_, &n_, &n_, a_.data(), &n_, tau_.data(), work_.data(), &lwork);
        }
    }

    const int n_;
    std::vector<double> general_, definite_, a_, b_;
    std::vector<int> pivots_;
    std::vector<double> tau_, work_;
};

/// Alternates the libraries; the first round is a warm-up, which compares their results.
void contest(const Options& options, const Lapack& ours, const Lapack& openblas, RecordFile& records) {
    std::FILE* const table = options.json == "-" ? stderr : stdout;
    for (const int n : options.n) {
        for (const std::string& call : options.calls) {
            Problem problem(n);
            const double difference = problem.difference(ours, openblas, call);
            std::vector<double> seconds, theirs;
            for (int i = 0; i < options.repeat; ++i) {
                seconds.push_back(problem.seconds(ours, call));
                theirs.push_back(problem.seconds(openblas, call));
            }
            basalt::JsonRecord record;
            record["bench"] = "lapack";
            record["call"] = call;
            record["n"] = n;
            record["cores"] = basalt::detail::usable_cores();
            record["seconds"] = basalt::median(seconds);
            record["vendor"] = "OpenBLAS";
            record["vendor_core"] = vendor_core();
            record["vendor_seconds"] = basalt::median(theirs);
            record["ratio"] = basalt::median(theirs) / basalt::median(seconds);
            record["difference"] = difference;
            record["runs"] = seconds;
            record["vendor_runs"] = theirs;
            fmt::print(table, "{:<10} n = {:>6}: {:>9.4f} s, OpenBLAS {:>9.4f} s: {:.2f} x; results differ by {:.1e}\n",
                       call, n, basalt::median(seconds), basalt::median(theirs),
                       basalt::median(theirs) / basalt::median(seconds), difference);
            std::fflush(table);
            records.write(record);
        }
    }
}

/// Small calls, which are passed on: `many` of them through each library, in turn.
void overhead(const Options& options, const Lapack& ours, const Lapack& openblas, RecordFile& records) {
    std::FILE* const table = options.json == "-" ? stderr : stdout;
    openblas.set_threads(1);  // that of the process, which both call
    for (const int n : {1, 4, 16, 64, 256}) {
        const int calls = std::max(100, n >= 64 ? options.many / n : options.many);
        std::vector<double> mine, theirs;
        std::vector<double> a(static_cast<std::size_t>(n * n)), b(static_cast<std::size_t>(n));
        std::vector<int> pivots(static_cast<std::size_t>(n));
        const auto time = [&](const Lapack& lapack) {
            double sum = 0;
            for (int i = 0; i < calls; ++i) {
                std::fill(a.begin(), a.end(), 0.1);
                for (int k = 0; k < n; ++k) a[static_cast<std::size_t>(k * n + k)] = 4;
                const int one = 1;
                const double begin = now();
                lapack.call("dgesv_", &n, &one, a.data(), &n, pivots.data(), b.data(), &n);
                sum += now() - begin;
            }
            return sum / calls;
        };
        for (int round = 0; round < std::max(5, options.repeat); ++round) {
            mine.push_back(time(ours));
            theirs.push_back(time(openblas));
        }
        const double fast = *std::min_element(mine.begin(), mine.end());
        const double vendor = *std::min_element(theirs.begin(), theirs.end());
        basalt::JsonRecord record;
        record["bench"] = "lapack";
        record["call"] = "small solve";
        record["n"] = n;
        record["ns"] = fast * 1e9;
        record["vendor"] = "OpenBLAS";
        record["vendor_core"] = vendor_core();
        record["vendor_ns"] = vendor * 1e9;
        fmt::print(table, "dgesv n = {:>3}: {:>9.0f} ns, OpenBLAS {:>9.0f} ns: {:+.0f} ns, {:+.1f} %\n", n, fast * 1e9,
                   vendor * 1e9, (fast - vendor) * 1e9, (fast / vendor - 1) * 100);
        records.write(record);
    }
}

int run(const Options& options) {
    RecordFile records(options.json);
    const Lapack openblas("libopenblas.so.0"), ours(BASALT_LAPACK_LIBRARY);
    if (options.many > 0) {
        overhead(options, ours, openblas, records);
    } else {
        contest(options, ours, openblas, records);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("LAPACK's calls through libbasalt_lapack, compared with OpenBLAS's", "bench_lapack");
    Options options;
    const std::vector<std::string> calls{"solve", "inv", "cholesky", "lu_factor", "qr", "getri", "potri"};
    app.add_option("--call", options.calls, fmt::format("calls: {}", fmt::join(calls, ", "))).list().one_of(calls);
    app.add_option("--n", options.n, "orders").list().range(1, 46000);
    app.add_option("--repeat", options.repeat, "runs; the table shows their median").range(1, 1000);
    app.add_option("--small", options.many, "instead, time this number of small calls, which are passed on")
        .range(1, 10000000);
    std::string core;
    app.add_option("--vendor-coretype", core, "processor type whose kernels OpenBLAS uses; auto: its own choice");
    app.add_option("--json", options.json, "append a record a line to this file; - for standard output");
    return app.run_program(argc, argv, [&] {
        if (!core.empty()) require_vendor_core(core, argv);
        return run(options);
    });
}
