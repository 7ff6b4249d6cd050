// Cholesky of the lower triangle in the modes hybrid and gpu, compared with the GPU vendor's.
#include "bench/versus/cholesky_gpu.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/vendor/cholesky_gpu.hpp"
#include "bench/versus/dealt_products.hpp"
#include "bench/versus/gpu_contest.hpp"

namespace bench {

namespace {

using basalt::DealtView;
using basalt::Index;

/// cuSOLVERMg's rate rose with the width from 128 to 1024 on two H200.
std::vector<Index> cholesky_vendor_blocks() { return {512, 1024, 2048}; }

template <class T>
class CholeskyGpuContest final : public GpuContest<T> {
  public:
    CholeskyGpuContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : GpuContest<T>(options, runtime, gpu, n, n, basalt::default_cholesky_tile(runtime.tuning(), n, runtime.gpus()),
                        basalt::Deal::cyclic, cholesky_vendor_blocks()) {
        if (options.m > 0 && options.m != n)
            throw std::invalid_argument("--m: Cholesky is of square matrices, allowed is --n");
        take_common_options(options, cholesky_options_);
        cholesky_options_.rows_on_cores = options.rows_on_cores;
        cholesky_options_.products = options.products.value_or(cholesky_options_.products);
        cholesky_options_.panel_width =
            options.nb > 0
                ? options.nb
                : basalt::default_cholesky_panel(runtime.tuning(), cholesky_options_, n, tile().width, runtime.gpus());
        cholesky_options_.left_looking = options.left_looking;
        cholesky_options_.keep_other_side = false;  // only the triangle is loaded
        if (options.upper && options.data == "devices")
            throw std::invalid_argument("--upper: of an array in one place, allowed is --data host or device");
    }

  private:
    using GpuContest<T>::options;
    using GpuContest<T>::runtime;
    using GpuContest<T>::n;
    using GpuContest<T>::tile;
    using GpuContest<T>::dealt;
    using GpuContest<T>::timed_vendor;

    void fill(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        cholesky_ = {};
        generate(a, user, "spd", options().seed);
    }

    void factor(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        cholesky_ = options().upper ? factor_upper(a, user) : factor_lower(a, user);
        runtime().wait();
    }

    basalt::CholeskyFactors<T> factor_lower(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        load_triangle(a, user);
        auto cholesky = basalt::cholesky_factor(runtime(), a, basalt::Triangle::lower, cholesky_options_);
        store_triangle(a, user);
        return cholesky;
    }
    /// The array read by rows: its upper triangle is the lower triangle of the array.
    basalt::CholeskyFactors<T> factor_upper(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
        const auto by_rows = basalt::View<T>::row_major(user.data(), n(), n(), n());
        const basalt::Place place = user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0);
        a.load_triangle(basalt::Triangle::upper, by_rows, place);
        auto cholesky = basalt::cholesky_factor(runtime(), a, basalt::Triangle::upper, cholesky_options_);
        a.store_triangle(basalt::Triangle::upper, by_rows, place);
        return cholesky;
    }

    /// y = A x for a vector of random signs.
    void expect(const UserMatrix<T>& user) override {
        signs_ = random_signs(n());
        expected_ = user.on_gpus(dealt(), [&](const DealtView<T>& a) { return times_symmetric(a, signs_); });
    }

    double checked_ratio(const UserMatrix<T>& user) override {
        if (cholesky_.info() != 0) return std::numeric_limits<double>::quiet_NaN();
        return user.on_gpus(dealt(), [&](const DealtView<T>& l) { return residual_ratio(l); });
    }

    /// ||(A - L L^T) x||_oo / (n ||A||_oo eps), with ||A||_oo = 5/4 n: n on the diagonal and uniform numbers
    /// in [-1/2, 1/2) elsewhere.
    double residual_ratio(const DealtView<T>& l) const {
        std::vector<double> y = times_cholesky(l, signs_);
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const auto order = static_cast<double>(n());
        return largest(y) / (1.25 * order * order * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
    }

    void describe(basalt::FactorRecord& record) const override {
        const auto order = static_cast<double>(n());
        record.routine = "potrf";
        record.nb = *cholesky_options_.panel_width;
        record.flops = order * order * order / 3;
    }

    void add_to(basalt::JsonRecord& json) const override {
        add_products(options(), json);
        if (cholesky_options_.rows_on_cores) json["rows_on_cores"] = true;
        json["looking"] = !options().left_looking ? "chosen" : *options().left_looking ? "left" : "right";
        json["triangle"] = options().upper ? "upper" : "lower";
    }

    void prepare_vendor_gpu() override { vendor_gpu_.prepare(n()); }
    void run_vendor_gpu(T* a) override { vendor_gpu_.potrf(n(), a); }
    VendorRun run_vendor_gpus(const VendorGpus& gpus, const DealtView<T>& a) override {
        VendorCholeskyGpus<T> cholesky(gpus, a);
        const double seconds = timed_vendor([&] { return cholesky.factor(); });
        if (cholesky.info() != 0) return {seconds, std::numeric_limits<double>::quiet_NaN()};
        return {seconds, residual_ratio(a)};
    }

    VendorCholeskyGpu<T> vendor_gpu_;
    basalt::CholeskyOptions cholesky_options_;
    basalt::CholeskyFactors<T> cholesky_;
    std::vector<double> signs_, expected_;
};

}  // namespace

int versus_cholesky_gpu(const VersusOptions& options) {
    return gpu_contests<CholeskyGpuContest>(options, "Cholesky", cholesky_vendor_blocks(),
                                            "||(A - LL') x|| / (n ||A|| eps)");
}

}  // namespace bench
