// QR in the modes hybrid and gpu, compared with the GPU vendor's.
#include "bench/versus/qr_gpu.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/vendor/qr_gpu.hpp"
#include "bench/versus/gpu_contest.hpp"
#include "bench/versus/qr_flops.hpp"

namespace bench {

namespace {

using basalt::Index;

/// cuSOLVERMg offers no QR.
std::vector<Index> qr_vendor_blocks() { return {}; }

template <class T>
class QrGpuContest final : public GpuContest<T> {
  public:
    QrGpuContest(const VersusOptions& options, basalt::Runtime& runtime, VendorGpu<T>& gpu, Index n)
        : GpuContest<T>(options, runtime, gpu, rows_for(options, n), n,
                        basalt::default_qr_tile(runtime.tuning(), rows_for(options, n), n, runtime.gpus()),
                        basalt::Deal::balanced, qr_vendor_blocks()) {
        take_common_options(options, qr_options_);
        qr_options_.split_products = options.products != basalt::ProductPrecision::plain;
        qr_options_.panel_width = options.nb > 0
                                      ? options.nb
                                      : basalt::default_qr_panel(runtime.tuning(), qr_options_, m(), n, runtime.gpus());
        qr_options_.panel_threads = options.panel_threads;
    }

  private:
    using GpuContest<T>::options;
    using GpuContest<T>::runtime;
    using GpuContest<T>::m;
    using GpuContest<T>::n;

    static Index rows_for(const VersusOptions& options, Index n) {
        const Index m = options.m > 0 ? options.m : n;
        if (m < n) throw std::invalid_argument("--m: in the modes hybrid and gpu at least --n");
        return m;
    }

    void fill(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        qr_ = {};
        generate(a, user, "random", options().seed);
    }

    void factor(basalt::Matrix<T>& a, const UserMatrix<T>& user) override {
        load(a, user);
        qr_ = basalt::qr_factor(runtime(), a, qr_options_);
        store(a, user);
        runtime().wait();
    }

    /// y = A x for a vector of random signs.
    void expect(const UserMatrix<T>& user) override {
        signs_ = random_signs(n());
        expected_ = user.on_first_gpu([&](const T* a) { return vendor_gpu_.times(m(), n(), a, signs_); });
    }

    /// ||(A - Q R) x||_oo / (m ||A||_oo eps), Q by the vendor's ormqr, with ||A||_oo = n / 4: the expected sum of n
    /// magnitudes of uniform numbers in [-1/2, 1/2).
    double checked_ratio(const UserMatrix<T>& user) override {
        std::vector<double> y =
            user.on_first_gpu([&](const T* a) { return vendor_gpu_.times_factors(m(), n(), a, qr_.tau(), signs_); });
        for (std::size_t i = 0; i < y.size(); ++i) y[i] -= expected_[i];
        const double scale = static_cast<double>(m()) * static_cast<double>(n()) / 4;
        return largest(y) / (scale * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2);
    }

    void describe(basalt::FactorRecord& record) const override {
        record.routine = "geqrf";
        record.nb = *qr_options_.panel_width;
        record.flops = qr_flops(m(), n());
    }

    void add_to(basalt::JsonRecord& json) const override {
        if (options().precision == 's') json["split_products"] = qr_options_.split_products;
        json["panel_threads"] = qr_options_.panel_threads.value_or(0);  // the library chose
    }

    void prepare_vendor_gpu() override { vendor_gpu_.prepare(m(), n()); }
    void run_vendor_gpu(T* a) override { vendor_gpu_.geqrf(m(), n(), a); }

    VendorQrGpu<T> vendor_gpu_;
    basalt::QrOptions qr_options_;
    basalt::QrFactors<T> qr_;
    std::vector<double> signs_, expected_;
};

}  // namespace

int versus_qr_gpu(const VersusOptions& options) {
    return gpu_contests<QrGpuContest>(options, "QR", qr_vendor_blocks(), "||(A - QR) x|| / (m ||A|| eps)");
}

}  // namespace bench
