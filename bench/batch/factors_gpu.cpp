// bench_batch_factors_gpu: batched LU and QR on GPU 0 against cuBLAS, and Q against a loop of cuSOLVER's calls, in
// turn, over rotating buffers that its L2 does not hold. Each line has the largest difference of the results from the
// vendor's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <basalt/batch_lu.hpp>
#include <basalt/batch_qr.hpp>

#include "bench/batch/race_on_gpu.hpp"
#include "kernels/on_stream/batch_lu.hpp"

namespace {

using basalt::BatchView;
using basalt::Index;
using basalt::on_stream::BatchLuPlan;
using bench::Contestant;
using bench::OnGpu;
using bench::RaceOptions;
using bench::RaceReport;
using bench::require_blas;
using bench::require_cuda;
using bench::require_solver;
using Gpu = bench::TimedStream;

constexpr Index different = 100;

/// Batches of one order, as many as do not fit into the L2, and their pristine contents.
template <class T>
class Batches {
  public:
    Batches(Gpu& gpu, Index n, Index count)
        : gpu_(gpu),
          n_(n),
          count_(count),
          copies_(bench::batches_in_turn(sizeof(T) * size())),
          plain_(input(n, count)),
          a_(static_cast<std::size_t>(copies_) * size()),
          numbers_(static_cast<std::size_t>(n * count)),
          info_(static_cast<std::size_t>(count)),
          vendor_numbers_(static_cast<std::size_t>(n * count)),
          vendor_info_(static_cast<std::size_t>(count)),
          tau_(static_cast<std::size_t>(n * count)),
          list_(addresses(a_.data(), n * n, copies_ * count)),
          tau_list_(addresses(tau_.data(), n, count)),
          work_(orgqr_elements()) {}

    Index copies() const { return copies_; }
    void restore() {
        for (Index r = 0; r < copies_; ++r) {
            require_cuda(cudaMemcpyAsync(a_.data() + static_cast<std::size_t>(r) * size(), plain_.data(),
                                         size() * sizeof(T), cudaMemcpyDeviceToDevice, gpu_.stream),
                         "cudaMemcpyAsync");
        }
        gpu_.wait();
    }
    void our_lu(Index r, BatchLuPlan plan, bool pivoting) {
        basalt::on_stream::batch_getrf<T>(
            gpu_.borrowed, matrices(r),
            pivoting ? std::optional(BatchView<Index>::strided(numbers_.data(), count_, n_, 1, n_, n_)) : std::nullopt,
            info_.data(), plan);
    }
    void our_qr(Index r, BatchLuPlan plan) {
        basalt::on_stream::batch_geqrf<T>(gpu_.borrowed, matrices(r),
                                          BatchView<T>::strided(tau_.data(), count_, n_, 1, n_, n_), plan);
    }
    void our_q(Index r) {
        basalt::on_stream::batch_orgqr<T>(gpu_.borrowed, matrices(r),
                                          BatchView<const T>::strided(tau_.data(), count_, n_, 1, n_, n_));
    }
    void vendor_lu(Index r, bool pivoting) {
        const int n = static_cast<int>(n_), count = static_cast<int>(count_);
        int* const ipiv = pivoting ? vendor_numbers_.data() : nullptr;
        T** const list = list_.data() + r * count_;
        if constexpr (sizeof(T) == 4) {
            require_blas(cublasSgetrfBatched(gpu_.blas, n, list, n, ipiv, vendor_info_.data(), count), "getrfBatched");
        } else {
            require_blas(cublasDgetrfBatched(gpu_.blas, n, list, n, ipiv, vendor_info_.data(), count), "getrfBatched");
        }
    }
    void vendor_qr(Index r) {
        const int n = static_cast<int>(n_), count = static_cast<int>(count_);
        T** const list = list_.data() + r * count_;
        int status = 0;
        if constexpr (sizeof(T) == 4) {
            require_blas(cublasSgeqrfBatched(gpu_.blas, n, n, list, n, tau_list_.data(), &status, count),
                         "geqrfBatched");
        } else {
            require_blas(cublasDgeqrfBatched(gpu_.blas, n, n, list, n, tau_list_.data(), &status, count),
                         "geqrfBatched");
        }
    }
    /// A call for each of the first matrices.
    static constexpr Index in_loop = 50;
    void vendor_q_of_some(Index r) {
        const int n = static_cast<int>(n_), elements = static_cast<int>(work_.size());
        for (Index k = 0; k < in_loop; ++k) {
            T* const a = a_.data() + (r * count_ + k) * n_ * n_;
            const T* const tau = tau_.data() + k * n_;
            if constexpr (sizeof(T) == 4) {
                require_solver(
                    cusolverDnSorgqr(gpu_.solver, n, n, n, a, n, tau, work_.data(), elements, vendor_info_.data()),
                    "orgqr");
            } else {
                require_solver(
                    cusolverDnDorgqr(gpu_.solver, n, n, n, a, n, tau, work_.data(), elements, vendor_info_.data()),
                    "orgqr");
            }
        }
    }
    /// The first matrices.
    std::vector<T> some() const { return a_.head(static_cast<std::size_t>(in_loop * n_ * n_)); }
    /// Upper triangles of the first matrices.
    std::vector<T> upper() const {
        std::vector<T> values = a_.head(static_cast<std::size_t>(std::min(count_, different) * n_ * n_));
        for (std::size_t i = 0; i < values.size(); ++i) {
            const Index place = static_cast<Index>(i) % (n_ * n_);
            if (place % n_ > place / n_) values[i] = T{0};
        }
        return values;
    }

  private:
    std::size_t orgqr_elements() const {
        const int n = static_cast<int>(n_);
        int elements = 0;
        if constexpr (sizeof(T) == 4) {
            require_solver(cusolverDnSorgqr_bufferSize(gpu_.solver, n, n, n, a_.data(), n, tau_.data(), &elements),
                           "orgqr_bufferSize");
        } else {
            require_solver(cusolverDnDorgqr_bufferSize(gpu_.solver, n, n, n, a_.data(), n, tau_.data(), &elements),
                           "orgqr_bufferSize");
        }
        return static_cast<std::size_t>(elements);
    }
    std::size_t size() const { return static_cast<std::size_t>(n_ * n_ * count_); }
    BatchView<T> matrices(Index r) const {
        return BatchView<T>::strided(a_.data() + r * n_ * n_ * count_, count_, n_, n_, n_, n_ * n_);
    }
    static std::vector<T> input(Index n, Index count) {
        std::vector<T> values(static_cast<std::size_t>(n * n * count));
        unsigned state = 7;
        const std::size_t own = static_cast<std::size_t>(n * n * std::min(count, different));
        for (std::size_t i = 0; i < own; ++i) {
            values[i] = static_cast<T>((state = state * 69069U + 1U) >> 12) / T{524288} - T{1};
        }
        for (std::size_t i = own; i < values.size(); ++i) values[i] = values[i % own];
        return values;
    }
    static std::vector<T*> addresses(T* first, Index stride, Index count) {
        std::vector<T*> list;
        for (Index k = 0; k < count; ++k) list.push_back(first + k * stride);
        return list;
    }

    Gpu& gpu_;
    Index n_, count_, copies_;
    OnGpu<T> plain_, a_;
    OnGpu<Index> numbers_, info_;
    OnGpu<int> vendor_numbers_, vendor_info_;
    OnGpu<T> tau_;
    OnGpu<T*> list_, tau_list_;
    OnGpu<T> work_;
};

/// The largest difference of magnitudes, relative to the largest: signs of rows of R may differ.
template <class T>
double difference(const std::vector<T>& x, const std::vector<T>& y) {
    double largest = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double a = std::abs(static_cast<double>(x[i])), b = std::abs(static_cast<double>(y[i]));
        if (!(std::abs(a - b) <= largest)) largest = std::abs(a - b);
        size = std::max(size, b);
    }
    return largest / size;
}

/// Runs all in turn on A, which prepare(batch) has changed before. A is read and written. Each has its result()
/// compared with that of the first.
template <class T, class Prepare, class Result>
void contest(Gpu& gpu, RaceReport& report, Batches<T>& batches, Index n, Index count,
             std::vector<Contestant> contestants, const Prepare& prepare, const Result& result) {
    std::vector<T> expected;
    report.run(
        {sizeof(T) == 4 ? 's' : 'd', n, count, 0, 2.0 * static_cast<double>(n * n * count) * sizeof(T)}, gpu,
        batches.copies(), std::move(contestants),
        [&](const Contestant& /*one*/) {
            batches.restore();
            for (Index r = 0; r < batches.copies(); ++r) prepare(r);
        },
        [&](bool first) {
            const std::vector<T> found = result();
            if (first) expected = found;
            return difference(found, expected);
        });
}

template <class T>
void race(Gpu& gpu, RaceReport& report, Index n) {
    const Index count = n < 192 ? 10'000 : n < 512 ? 4096 : 1024;
    Batches<T> batches(gpu, n, count);
    const int lu_width = bench::table_width<T>(&basalt::GpuBatchWidths::lu_factor, n),
              qr_width = bench::table_width<T>(&basalt::GpuBatchWidths::qr_factor, n);
    const auto plans = [&](int least, int most, int own) {
        std::vector<BatchLuPlan> all;
        for (int width = least; width <= most; width *= 2) {
            if (n > 32 || width == own) all.push_back({width});
        }
        return all;
    };
    const auto label = [&](const char* name, BatchLuPlan plan) {
        return std::string(name) + (n > 32 ? ", width " + std::to_string(plan.width) : "");
    };
    std::vector<Contestant> pivoted{
        {.name = "cuBLAS getrfBatched", .run = [&](Index r) { batches.vendor_lu(r, true); }, .of_vendor = true}},
        plain{{.name = "cuBLAS getrfBatched, no pivots",
               .run = [&](Index r) { batches.vendor_lu(r, false); },
               .of_vendor = true}},
        qr{{.name = "cuBLAS geqrfBatched", .run = [&](Index r) { batches.vendor_qr(r); }, .of_vendor = true}};
    for (const BatchLuPlan plan : plans(8, 32, lu_width)) {
        const bool recorded = plan.width == lu_width;
        pivoted.push_back(
            {label("getrf", plan), [&, plan](Index r) { batches.our_lu(r, plan, true); }, recorded ? "getrf" : ""});
        plain.push_back({label("no pivots", plan), [&, plan](Index r) { batches.our_lu(r, plan, false); },
                         recorded ? "getrf-no-pivots" : ""});
    }
    for (const BatchLuPlan plan : plans(4, 16, qr_width)) {
        qr.push_back({label("geqrf", plan), [&, plan](Index r) { batches.our_qr(r, plan); },
                      plan.width == qr_width ? "geqrf" : ""});
    }
    const double share = static_cast<double>(Batches<T>::in_loop) / static_cast<double>(count);
    const std::vector<Contestant> q{{.name = "a loop of cuSOLVER's orgqr",
                                     .run = [&](Index r) { batches.vendor_q_of_some(r); },
                                     .of_vendor = true,
                                     .share = share},
                                    {"orgqr", [&](Index r) { batches.our_q(r); }, "orgqr"}};
    const auto nothing = [](Index) {};
    const auto upper = [&] { return batches.upper(); };
    contest(gpu, report, batches, n, count, pivoted, nothing, upper);
    contest(gpu, report, batches, n, count, plain, nothing, upper);
    contest(gpu, report, batches, n, count, qr, nothing, upper);
    contest(
        gpu, report, batches, n, count, q, [&](Index r) { batches.vendor_qr(r); }, [&] { return batches.some(); });
}

}  // namespace

int main(int argc, char** argv) {
    bench::CommandLine app("Batched LU and QR on a GPU against cuBLAS, in turn", "bench_batch_factors_gpu");
    RaceOptions options{.n = {8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512}, .most = 512};
    options.add_to(app);
    return app.run_program(argc, argv, [&] {
        Gpu gpu;
        RaceReport report(options, bench::copy_rate(gpu));
        for (const Index n : options.n) {
            if (options.in_single()) race<float>(gpu, report, n);
            if (options.in_double()) race<double>(gpu, report, n);
        }
        return 0;
    });
}
