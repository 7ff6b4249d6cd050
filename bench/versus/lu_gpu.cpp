// LU in the modes hybrid and gpu, compared with the GPU vendor's.
#include "bench/versus/lu_gpu.hpp"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/versus/dealt_products.hpp"
#include "bench/versus/gpu_contest.hpp"

namespace bench {

namespace {

using basalt::DealtView;
using basalt::Index;
using basalt::Place;

basalt::TileShape usual_tile(const VersusOptions& options, const basalt::Runtime& runtime, Index n) {
    const bool resident = options.mode == "gpu" && options.data != "host";
    return basalt::default_lu_tile(runtime.tuning(), n, n, runtime.gpus(), resident);
}

/// cuSOLVERMg refuses 1024, and on two H200 it was slower with 128.
std::vector<Index> lu_vendor_blocks() { return {256, 512}; }

template <class T>
class LuGpuContest final : public GpuContest<T> {
  public:
    LuGpuContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : GpuContest<T>(options, runtime, gpu, n, n, usual_tile(options, runtime, n), basalt::Deal::balanced,
                        lu_vendor_blocks()) {
        if (options.in_place) this->set_tile({n, options.tile.width});  // the height is known when the array is wrapped
        take_common_options(options, lu_options_);
        lu_options_.panel_width =
            options.nb > 0 ? options.nb
                           : basalt::default_lu_panel(runtime.tuning(), lu_options_.mode, n, n, runtime.gpus());
        lu_options_.panel_threads = options.panel_threads;
        lu_options_.single_update_task = options.single_update_task;
        lu_options_.coarse_width = options.coarse_width;
        lu_options_.broadcast_from_host = options.broadcast_from_host;
        lu_options_.products = options.products;
    }

  private:
    using GpuContest<T>::options;
    using GpuContest<T>::runtime;
    using GpuContest<T>::n;
    using GpuContest<T>::tile;
    using GpuContest<T>::dealt;
    using GpuContest<T>::timed_vendor;

    basalt::Matrix<T> new_matrix() override {
        return options().in_place ? basalt::Matrix<T>() : GpuContest<T>::new_matrix();
    }

    void fill(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        lu_ = {};
        if (!options().in_place) return generate(a, user, "random", options().seed);
        a = basalt::Matrix<T>();
        wrapped(user).fill(basalt::make_generator<T>("random", n(), n(), options().seed), Place::gpu(0));
        runtime().wait();
    }

    basalt::Matrix<T> wrapped(const UserMatrix<T>& user) {
        return basalt::Matrix<T>::wrap(runtime(), user.data(), n(), n(), n(), {0, tile().width}, Place::gpu(0));
    }

    void factor(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        if (options().in_place) {
            a = wrapped(user);
            this->set_tile(a.tile_shape());
        } else {
            load(a, user);
        }
        lu_ = basalt::lu_factor(runtime(), a, lu_options_);
        if (!options().in_place) store(a, user);
        runtime().wait();
    }

    /// y = A x for a vector of random signs.
    void expect(const UserMatrix<T>& user) override {
        signs_ = random_signs(n());
        expected_ = user.on_gpus(dealt(), [&](const DealtView<T>& a) { return times(a, signs_); });
    }

    double checked_ratio(const UserMatrix<T>& user) override {
        return user.on_gpus(dealt(), [&](const DealtView<T>& factors) {
            return residual_ratio(factors, lu_.pivots(),
                                  is_coarse() ? 2 * roundoff_of(*lu_options_.products) : epsilon);
        });
    }

    bool is_coarse() const { return !is_single_in_lu(lu_options_.products); }

    /// ||(A - P L U) x||_oo / (n ||A||_oo eps), with ||A||_oo = n / 4: the expected sum of n
    /// magnitudes of uniform numbers in [-1/2, 1/2). NaN if a pivot is not a row of the matrix.
    double residual_ratio(const DealtView<T>& factors, const std::vector<Index>& pivots, double eps) const {
        std::vector<double> y = times_lu(factors, signs_);
        for (std::size_t i = y.size(); i-- > 0;) {
            if (pivots[i] < 1 || pivots[i] > n()) return std::numeric_limits<double>::quiet_NaN();
            std::swap(y[i], y[static_cast<std::size_t>(pivots[i] - 1)]);
        }
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const auto order = static_cast<double>(n());
        return largest(y) / (order * order / 4 * eps);
    }

    void describe(basalt::FactorRecord& record) const override {
        const auto order = static_cast<double>(n());
        record.routine = "getrf";
        record.nb = *lu_options_.panel_width;
        record.flops = 2.0 / 3.0 * order * order * order;
    }

    void add_to(basalt::JsonRecord& json) const override {
        json["in_place"] = options().in_place;
        if (options().precision == 's') json["split_products"] = options().products != basalt::ProductPrecision::plain;
        json["coarse_width"] = lu_options_.coarse_width.value_or(-1);  // the library chose
        add_products(options(), json);
        if (lu_options_.single_update_task) json["single_update_task"] = true;
        if (lu_options_.broadcast_from_host) json["broadcast_from_host"] = true;
        json["panel_threads"] = lu_options_.panel_threads.value_or(0);  // the library chose
    }

    void prepare_vendor_gpu() override { this->gpu().prepare(n()); }
    void run_vendor_gpu(T* a) override { this->gpu().getrf(n(), a); }
    VendorRun run_vendor_gpus(const VendorGpus& gpus, const DealtView<T>& a) override {
        VendorLuGpus<T> lu(gpus, a);
        const double seconds = timed_vendor([&] { return lu.factor(); });
        if (lu.info() != 0) return {seconds, std::numeric_limits<double>::quiet_NaN()};
        return {seconds, residual_ratio(a, lu.pivots(), epsilon)};
    }

    static constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    basalt::LuOptions lu_options_;
    basalt::LuFactors<T> lu_;
    std::vector<double> signs_, expected_;
};

}  // namespace

int versus_lu_gpu(const VersusOptions& options) {
    return gpu_contests<LuGpuContest>(options, "LU", lu_vendor_blocks(), "||(A - PLU) x|| / (n ||A|| eps)");
}

}  // namespace bench
