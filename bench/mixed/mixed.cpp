// bench_mixed: mixed precision against our double precision, and on GPUs against cuSOLVER's iterative refinement, on
// copies of one system, in turn.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <basalt/basalt.hpp>

#include "bench/common/clock.hpp"
#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"
#include "bench/mixed/vendor.hpp"
#include "io/files/json_record.hpp"

namespace {

using namespace bench;
using basalt::FactorMode;
using basalt::Index;
using basalt::Matrix;
using basalt::MixedMethod;
using basalt::MixedResult;
using basalt::ProductPrecision;

struct Options {
    std::vector<Index> n{4000};
    Index nrhs = 1;
    std::string method = "lu";
    std::string matrix;    // empty: random, or spd for Cholesky
    double condition = 0;  // above 0: a matrix of that condition in place of a generated one
    std::string products = "auto";
    std::string refinement = "auto";
    std::vector<std::string> substitution{"auto"};
    std::vector<int> lookahead{1};  // of the blocked substitutions
    std::string mode = "auto";
    Index nb = 0, coarse = 0;
    int gpus = 0, emulated = 0, workers = 0;
    int repeat = 3;
    bool vendor = true;
    std::string json, trace;
};

/// Of a run: its seconds, and what it was like.
struct Runs {
    std::vector<double> seconds;
    double median() const { return basalt::median(seconds); }
};

std::optional<ProductPrecision> products_called(const std::string& name) {
    if (name == "auto") return std::nullopt;
    for (const ProductPrecision p :
         {ProductPrecision::plain, ProductPrecision::split_bf16, ProductPrecision::split_fp16, ProductPrecision::tf32,
          ProductPrecision::bf16, ProductPrecision::fp16}) {
        if (name == basalt::name_of(p)) return p;
    }
    throw std::invalid_argument("--products " + name +
                                "; allowed are auto, plain, split-bf16, split-fp16, tf32, bf16, fp16");
}

FactorMode mode_called(const std::string& name) {
    if (name == "auto") return FactorMode::automatic;
    if (name == "cpu") return FactorMode::cpu;
    if (name == "hybrid") return FactorMode::hybrid;
    if (name == "gpu") return FactorMode::gpu;
    throw std::invalid_argument("--mode " + name + "; allowed are auto, cpu, hybrid, gpu");
}

basalt::Substitution substitution_called(const std::string& name) {
    using enum basalt::Substitution;
    std::string allowed;
    for (const basalt::Substitution s : {automatic, gpu, blocked_backward, blocked, cores}) {
        if (name == basalt::name_of(s)) return s;
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", basalt::name_of(s));
    }
    throw std::invalid_argument("--substitution " + name + "; allowed are " + allowed);
}

bool is_blocked(basalt::Substitution substitution) {
    return substitution == basalt::Substitution::blocked_backward || substitution == basalt::Substitution::blocked;
}

/// A := (I - 2 v v^T / v^T v) A for a random vector v, column by column.
void reflect(std::vector<double>& a, Index n, std::mt19937_64& random) {
    std::vector<double> v(static_cast<std::size_t>(n));
    double square = 0;
    for (double& x : v) {
        x = static_cast<double>(random() >> 11) * 0x1p-53 - 0.5;
        square += x * x;
    }
    for (Index j = 0; j < n; ++j) {
        double* const column = a.data() + j * n;
        double sum = 0;
        for (Index i = 0; i < n; ++i) sum += v[static_cast<std::size_t>(i)] * column[i];
        for (Index i = 0; i < n; ++i) column[i] -= 2 * sum / square * v[static_cast<std::size_t>(i)];
    }
}

/// Singular values from 1 down to 1 / condition, equally far apart in their logarithms.
std::vector<double> conditioned(Index n, double condition, bool symmetric) {
    constexpr int reflections = 6;
    std::vector<double> a(static_cast<std::size_t>(n * n));
    for (Index j = 0; j < n; ++j) {
        const double exponent = n > 1 ? static_cast<double>(j) / static_cast<double>(n - 1) : 0;
        a[static_cast<std::size_t>(j * (n + 1))] = std::pow(condition, -exponent);
    }
    for (const std::uint64_t seed : {1, symmetric ? 1 : 2}) {
        std::mt19937_64 random(seed);
        for (int r = 0; r < reflections; ++r) reflect(a, n, random);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < j; ++i) {
                std::swap(a[static_cast<std::size_t>(i + j * n)], a[static_cast<std::size_t>(j + i * n)]);
            }
        }
    }
    return a;
}

class MixedContest {
  public:
    MixedContest(basalt::Runtime& runtime, const Options& options, Index n)
        : rt_(runtime), options_(options), n_(n), is_lu_(options.method == "lu") {
        mixed_.method = is_lu_ ? MixedMethod::lu : MixedMethod::cholesky;
        mixed_.mode = mode_called(options.mode);
        mixed_.products = products_called(options.products);
        mixed_.fallback = basalt::Fallback::in_place;
        mixed_.refinement = options.refinement == "classic" ? basalt::Refinement::classic
                            : options.refinement == "gmres" ? basalt::Refinement::gmres
                                                            : basalt::Refinement::automatic;
        if (options.nb > 0) mixed_.lu.panel_width = mixed_.cholesky.panel_width = options.nb;
        if (options.coarse > 0) mixed_.lu.coarse_width = options.coarse;
        if (options.condition > 0) {
            values_ = conditioned(n, options.condition, !is_lu_);
        } else {
            const std::string usual = is_lu_ ? "random" : "spd";
            generator_ = basalt::make_generator<double>(options.matrix.empty() ? usual : options.matrix, n, n, 1);
        }
        right_ = std::vector<double>(static_cast<std::size_t>(n * options.nrhs));
        basalt::make_generator<double>("random", n, options.nrhs, 2)
            ->fill(basalt::View<double>::column_major(right_.data(), n, options.nrhs, n), 0, 0);
        on_gpus_ = rt_.gpus() > 0 && mixed_.mode != FactorMode::cpu;
        tile_ = default_tile();
        for (const std::string& name : options.substitution) add_variants(substitution_called(name));
    }

    void run(RecordFile& file) {
        Runs in_double;
        for (int round = -1; round < options_.repeat; ++round) {  // the first one warms up
            const double ours = time_double();
            if (round >= 0) in_double.seconds.push_back(ours);
            for (Variant& variant : variants_) {
                const double theirs = time_mixed(variant);
                if (round >= 0) variant.runs.seconds.push_back(theirs);
            }
        }
        for (const Variant& variant : variants_) report(in_double, variant, file);
    }

  private:
    /// A substitution, with a lookahead if it has one.
    struct Variant {
        basalt::Substitution substitution;
        std::optional<int> lookahead;
        Runs runs;
        MixedResult result;  // of the latest run
    };

    void add_variants(basalt::Substitution substitution) {
        if (!is_blocked(substitution)) return variants_.push_back({substitution, std::nullopt, {}, {}});
        for (const int lookahead : options_.lookahead) variants_.push_back({substitution, lookahead, {}, {}});
    }

    basalt::TileShape default_tile() const {
        const int gpus = on_gpus_ ? rt_.gpus() : 0;
        const auto usual = is_lu_
                               ? basalt::default_lu_tile(rt_.tuning(), n_, n_, gpus, mixed_.mode != FactorMode::hybrid)
                               : basalt::default_cholesky_tile(rt_.tuning(), n_, gpus);
        return gpus == 0 ? usual : basalt::fitting_tile(rt_, usual, n_, n_, sizeof(double));
    }

    Matrix<double> matrix() const {
        Matrix<double> a(rt_, n_, n_, tile_);
        if (generator_) {
            a.fill(generator_, on_gpus_ ? basalt::Place::any() : basalt::Place::cpu());
        } else {
            a.load(basalt::View<const double>::column_major(values_.data(), n_, n_, n_),
                   on_gpus_ ? basalt::Place::any() : basalt::Place::cpu());
        }
        rt_.wait();
        return a;
    }
    Matrix<double> right_hand_sides() const {
        Matrix<double> b(rt_, n_, options_.nrhs, {tile_.height, std::min(options_.nrhs, tile_.width)});
        b.load(basalt::View<const double>::column_major(right_.data(), n_, options_.nrhs, n_));
        rt_.wait();
        return b;
    }

    double time_double() const {
        Matrix<double> a = matrix(), b = right_hand_sides();
        let_others_rest();
        const double start = now();
        if (is_lu_) {
            const auto lu = basalt::lu_factor(rt_, a, {.mode = mixed_.mode});
            basalt::lu_solve(rt_, lu, b);
            rt_.wait();
        } else {
            basalt::CholeskyOptions cholesky;
            cholesky.mode = mixed_.mode;
            const auto factor = basalt::cholesky_factor(rt_, a, basalt::Triangle::lower, cholesky);
            basalt::cholesky_solve(rt_, factor, b);
            rt_.wait();
        }
        return now() - start;
    }

    double time_mixed(Variant& variant) const {
        Matrix<double> a = matrix(), b = right_hand_sides(), x(rt_, n_, options_.nrhs, b.tile_shape());
        basalt::MixedOptions mixed = mixed_;
        mixed.substitution = variant.substitution;
        mixed.substitution_lookahead = variant.lookahead.value_or(1);
        let_others_rest();
        const double start = now();
        variant.result = basalt::mixed_solve(rt_, a, b, x, mixed);
        return now() - start;
    }

    static std::string described(const Variant& variant) {
        const std::string name = basalt::name_of(variant.result.substitution);
        return variant.lookahead ? fmt::format("{} with lookahead {}", name, *variant.lookahead) : name;
    }

    double flops() const {
        const auto n = static_cast<double>(n_);
        return is_lu_ ? 2.0 / 3.0 * n * n * n : n * n * n / 3;
    }

    void report(const Runs& in_double, const Variant& variant, RecordFile& file) const {
        const MixedResult& result = variant.result;
        const double seconds = variant.runs.median(), ratio = in_double.median() / seconds;
        const char* const refinement = result.refinement == basalt::Refinement::gmres ? "gmres" : "classic";
        std::printf(
            "%s n = %lld, %s, %s, substitution %s: %.4f s (factor %.4f, refine %.4f, fallback %.4f), %.1f Gflop/s, %d "
            "iterations by %s, "
            "backward error %.2g; double %.4f s: %.2f times as fast\n",
            options_.method.c_str(), static_cast<long long>(n_), basalt::name_of(result.mode),
            basalt::name_of(result.products), described(variant).c_str(), seconds, result.factor_seconds,
            result.refine_seconds, result.fallback_seconds, flops() / seconds * 1e-9, result.iterations, refinement,
            result.backward_error, in_double.median(), ratio);
        basalt::JsonRecord json;
        json["bench"] = "mixed";
        json["routine"] = is_lu_ ? "gesv" : "posv";
        json["method"] = "mixed";
        json["precision"] = "d";
        json["n"] = n_;
        json["nrhs"] = options_.nrhs;
        json["mode"] = basalt::name_of(result.mode);
        json["gpus"] = rt_.gpus();
        json["emulated"] = options_.emulated > 0;
        json["cpus"] = rt_.workers();
        json["data"] = on_gpus_ ? "device" : "host";
        json["matrix"] =
            generator_ ? std::string(generator_->name()) : fmt::format("condition {:.0e}", options_.condition);
        json["factor_precision"] = basalt::name_of(result.products);
        json["refinement"] = refinement;
        const bool chosen = variant.substitution == basalt::Substitution::automatic;
        json["substitution"] = basalt::name_of(chosen ? variant.substitution : result.substitution);
        if (variant.lookahead) json["substitution_lookahead"] = *variant.lookahead;
        json["iterations"] = result.iterations;
        json["fallback"] = result.fell_back();
        json["seconds"] = seconds;
        json["factor_seconds"] = result.factor_seconds;
        json["refine_seconds"] = result.refine_seconds;
        json["fallback_seconds"] = result.fallback_seconds;
        json["gflops"] = flops() / seconds * 1e-9;
        json["backward_error"] = result.backward_error;
        json["double_seconds"] = in_double.median();
        json["ratio"] = ratio;
        json["milliseconds"] = seconds * 1e3;
        json["vendor"] = "Basalt in double";
        json["vendor_milliseconds"] = in_double.median() * 1e3;
        json["runs"] = variant.runs.seconds;
        file.write(json);
        if (&variant == &variants_.front() && on_gpus_ && options_.vendor && is_lu_ && generator_)
            compare_with_vendor(json, seconds, file);
    }

    /// cuSOLVER on the same system, where this build and machine have it.
    void compare_with_vendor(basalt::JsonRecord json, double seconds, RecordFile& file) const {
        const auto theirs = vendor_refinement(n_, options_.nrhs, options_.repeat, *generator_, right_);
        double best = 0;
        for (const VendorRun& run : theirs) {
            std::printf("  %s: %.4f s, %d iterations: ours is %.2f times as fast\n", run.name.c_str(), run.seconds,
                        run.iterations, run.seconds / seconds);
            json["vendor_runs"][run.name] = run.seconds;
            if (run.refines && (best == 0 || run.seconds < best)) best = run.seconds;
        }
        if (best == 0) return;
        json["bench"] = "mixed-vendor";
        json["ratio"] = best / seconds;
        json["vendor"] = "cuSOLVER, the best of its precisions";
        json["vendor_milliseconds"] = best * 1e3;
        file.write(json);
    }

    basalt::Runtime& rt_;
    const Options& options_;
    const Index n_;
    const bool is_lu_;
    basalt::MixedOptions mixed_;
    std::shared_ptr<const basalt::Generator<double>> generator_;
    std::vector<double> values_, right_;
    bool on_gpus_ = false;
    basalt::TileShape tile_;
    std::vector<Variant> variants_;
};

int run(const Options& options) {
    if (options.method != "lu" && options.method != "cholesky")
        throw std::invalid_argument("--method " + options.method + "; allowed are lu, cholesky");
    basalt::Config config;
    if (options.workers > 0) config.workers = options.workers;
    if (mode_called(options.mode) == FactorMode::cpu) config.gpus = 0;
    if (options.gpus > 0) config.gpus = options.gpus;
    config.emulation.gpus = options.emulated;
    basalt::Runtime runtime(config);
    RecordFile file(options.json);
    for (const Index n : options.n) MixedContest(runtime, options, n).run(file);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CommandLine app("mixed precision against double precision", "bench_mixed");
    Options options;
    app.add_option("--n", options.n, "orders").list().range(1, 1 << 20);
    app.add_option("--nrhs", options.nrhs, "right-hand sides").range(1, 1 << 16);
    app.add_option("--method", options.method, "lu or cholesky");
    app.add_option("--matrix", options.matrix, "a generator (default: random, or spd)");
    app.add_option("--condition", options.condition, "a matrix of this condition number in place of a generator's");
    app.add_option("--products", options.products, "auto, plain, split-bf16, split-fp16, tf32, bf16, fp16");
    app.add_option("--refinement", options.refinement, "auto, classic, gmres");
    app.add_option("--substitution", options.substitution, "auto, gpu, blocked-backward, blocked, cores").list();
    app.add_option("--lookahead", options.lookahead, "blocked substitutions: 1, 2").list().range(1, 2);
    app.add_option("--mode", options.mode, "auto, cpu, hybrid, gpu");
    app.add_option("--nb", options.nb, "columns of a panel in low precision");
    app.add_option("--coarse", options.coarse, "gpu, LU: columns of a block of panels in low precision");
    app.add_option("--gpus", options.gpus, "GPUs");
    app.add_option("--emulated-gpus", options.emulated, "emulated GPUs");
    app.add_option("--cpus", options.workers, "workers");
    app.add_option("--repeat", options.repeat, "rounds that count").range(1, 1000);
    app.add_flag("!--no-vendor", options.vendor, "leave cuSOLVER out");
    app.add_option("--json", options.json, "append a record a size to this file; - for standard output");
    return app.run_program(argc, argv, [&] { return run(options); });
}
