// bench_batch_gpu: batched Cholesky on GPU 0 against cuSOLVER, in turn, over rotating buffers that its L2 does not
// hold. Each line has the largest difference of the results from the vendor's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <basalt/batch_cholesky.hpp>
#include <basalt/tuning.hpp>

#include "bench/batch/race_on_gpu.hpp"
#include "kernels/cuda/batch/triangle_shape.hpp"
#include "kernels/on_stream/batch.hpp"

namespace {

using basalt::BatchFactor;
using basalt::BatchView;
using basalt::Index;
using basalt::Triangle;
using basalt::on_stream::BatchPlan;
using bench::Contestant;
using bench::OnGpu;
using bench::RaceOptions;
using bench::RaceReport;
using bench::require_blas;
using bench::require_cuda;
using bench::require_solver;
using Gpu = bench::TimedStream;

// ---- the kernels, and the vendor's ----------------------------------------------------------------------

template <class T>
void factor(Gpu& c, Triangle t, const BatchView<T>& a, Index* info, BatchPlan plan) {
    basalt::on_stream::Code<basalt::on_stream::BatchPotrf<T>>::gpu(c.borrowed, t, a, info, plan);
}
template <class T>
void solve(Gpu& c, Triangle t, const BatchView<const T>& l, const BatchView<T>& b) {
    basalt::on_stream::Code<basalt::on_stream::BatchPotrs<T>>::gpu(c.borrowed, t, l, b);
}
template <class T>
void factor_solve(Gpu& c, Triangle t, const BatchView<T>& a, const BatchView<T>& b, Index* info, BatchFactor keep,
                  BatchPlan plan) {
    basalt::on_stream::Code<basalt::on_stream::BatchPosv<T>>::gpu(c.borrowed, t, a, b, info, keep, plan);
}

template <class T>
void vendor_factor(Gpu& c, int n, T** a, int* info, int count) {
    if constexpr (sizeof(T) == 4) {
        require_solver(cusolverDnSpotrfBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count), "potrfBatched");
    } else {
        require_solver(cusolverDnDpotrfBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count), "potrfBatched");
    }
}
template <class T>
void vendor_solve(Gpu& c, int n, T** l, T** b, int* info, int count) {
    if constexpr (sizeof(T) == 4) {
        require_solver(cusolverDnSpotrsBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, 1, l, n, b, n, info, count),
                       "potrsBatched");
    } else {
        require_solver(cusolverDnDpotrsBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, 1, l, n, b, n, info, count),
                       "potrsBatched");
    }
}
/// Forward and backward by cuBLAS.
template <class T>
void vendor_trsm(Gpu& c, int n, int cols, T** l, T** b, int count) {
    const T one{1};
    for (const cublasOperation_t operation : {CUBLAS_OP_N, CUBLAS_OP_T}) {
        if constexpr (sizeof(T) == 4) {
            require_blas(cublasStrsmBatched(c.blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, operation,
                                            CUBLAS_DIAG_NON_UNIT, n, cols, &one, l, n, b, n, count),
                         "trsmBatched");
        } else {
            require_blas(cublasDtrsmBatched(c.blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, operation,
                                            CUBLAS_DIAG_NON_UNIT, n, cols, &one, l, n, b, n, count),
                         "trsmBatched");
        }
    }
}

// ---- times ----------------------------------------------------------------------------------------------

constexpr Index count = 10'000, different = 1'000;

/// Batches of one order, as many as do not fit into the L2, and their pristine contents.
template <class T>
class Rotation {
  public:
    Rotation(Gpu& c, Index n, Index cols)
        : c_(c),
          n_(n),
          cols_(cols),
          copies_(bench::batches_in_turn(sizeof(T) * size_a())),
          plain_a_(input(n)),
          plain_b_(std::vector<T>(size_b(), T{1})),
          a_(static_cast<std::size_t>(copies_) * size_a()),
          b_(static_cast<std::size_t>(copies_) * size_b()),
          info_(static_cast<std::size_t>(count)),
          vendor_info_(static_cast<std::size_t>(count)),
          list_a_(addresses(a_.data(), n * n)),
          list_b_(addresses(b_.data(), n * cols)) {}

    Index copies() const { return copies_; }

    void restore(bool factors) {
        for (Index r = 0; r < copies_; ++r) {
            const auto all = static_cast<std::size_t>(r);
            require_cuda(cudaMemcpyAsync(a_.data() + all * size_a(), factors ? factors_->data() : plain_a_.data(),
                                         size_a() * sizeof(T), cudaMemcpyDeviceToDevice, c_.stream),
                         "copy");
            require_cuda(cudaMemcpyAsync(b_.data() + all * size_b(), plain_b_.data(), size_b() * sizeof(T),
                                         cudaMemcpyDeviceToDevice, c_.stream),
                         "copy");
        }
    }
    void make_factors() {
        restore(false);
        factor<T>(c_, Triangle::lower, a(0), info_.data(),
                  BatchPlan{bench::table_width<T>(&basalt::GpuBatchWidths::cholesky_factor, n_)});
        factors_ = std::make_unique<OnGpu<T>>(size_a());
        require_cuda(
            cudaMemcpyAsync(factors_->data(), a_.data(), size_a() * sizeof(T), cudaMemcpyDeviceToDevice, c_.stream),
            "copy");
    }

    BatchView<T> a(Index r) const {
        return BatchView<T>::strided(a_.data() + r * n_ * n_ * count, count, n_, n_, n_, n_ * n_);
    }
    BatchView<T> b(Index r) const {
        return BatchView<T>::strided(b_.data() + r * n_ * cols_ * count, count, n_, cols_, n_, n_ * cols_);
    }
    T** list_a(Index r) const { return list_a_.data() + r * count; }
    T** list_b(Index r) const { return list_b_.data() + r * count; }
    Index* info() const { return info_.data(); }
    int* vendor_info() const { return vendor_info_.data(); }

    /// The largest difference of the results of the different matrices of batch 0, relative to the largest value; of
    /// the lower triangles of A.
    static double difference(const std::vector<T>& x, const std::vector<T>& y, Index n) {
        double largest = 0, size = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const auto in_matrix = static_cast<Index>(i) % (n * n);
            if (n > 0 && in_matrix % n < in_matrix / n) continue;
            const double d = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
            if (!(d <= largest)) largest = d;
            size = std::max(size, std::abs(static_cast<double>(y[i])));
        }
        return largest / size;
    }
    std::vector<T> first_a() const { return head(a_, size_a() / (count / different)); }
    std::vector<T> first_b() const { return head(b_, size_b() / (count / different)); }

  private:
    std::size_t size_a() const { return static_cast<std::size_t>(n_ * n_ * count); }
    std::size_t size_b() const { return static_cast<std::size_t>(n_ * cols_ * count); }
    static std::vector<T> head(const OnGpu<T>& values, std::size_t size) {
        std::vector<T> result(size);
        require_cuda(cudaMemcpy(result.data(), values.data(), size * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return result;
    }
    static std::vector<T> input(Index n) {
        std::vector<T> values(static_cast<std::size_t>(n * n * count));
        unsigned state = 7;
        for (Index k = 0; k < different; ++k) {
            T* const matrix = values.data() + k * n * n;
            for (Index j = 0; j < n; ++j) {
                for (Index i = j; i < n; ++i) {
                    const T value = static_cast<T>((state = state * 69069U + 1U) >> 20) / T{4096};
                    matrix[i + j * n] = matrix[j + i * n] = i == j ? static_cast<T>(n) + value : value;
                }
            }
        }
        for (Index k = different; k < count; ++k) {
            std::copy_n(values.data() + k % different * n * n, n * n, values.data() + k * n * n);
        }
        return values;
    }
    std::vector<T*> addresses(T* first, Index stride) const {
        std::vector<T*> list;
        for (Index k = 0; k < copies_ * count; ++k) list.push_back(first + k * stride);
        return list;
    }

    Gpu& c_;
    Index n_, cols_, copies_;
    OnGpu<T> plain_a_, plain_b_;
    std::unique_ptr<OnGpu<T>> factors_;
    OnGpu<T> a_, b_;
    OnGpu<Index> info_;
    OnGpu<int> vendor_info_;
    OnGpu<T*> list_a_, list_b_;
};

/// Runs all in turn. `bytes` must be moved.
template <class T>
void contest(Gpu& c, RaceReport& report, Rotation<T>& rotation, Index n, Index cols,
             std::vector<Contestant> contestants, double bytes, bool compares_a) {
    std::vector<T> expected;
    report.run(
        {sizeof(T) == 4 ? 's' : 'd', n, count, compares_a ? 0 : cols, bytes}, c, rotation.copies(),
        std::move(contestants), [&](const Contestant& one) { rotation.restore(one.from_factors); },
        [&](bool first) {
            const std::vector<T> result = compares_a ? rotation.first_a() : rotation.first_b();
            if (first) expected = result;
            return Rotation<T>::difference(result, expected, compares_a ? n : 0);
        });
}

template <class T>
void race(Gpu& c, RaceReport& report, Index n, Index cols) {
    Rotation<T> rotation(c, n, cols);
    rotation.make_factors();
    const int small = static_cast<int>(n), batch = static_cast<int>(count);
    const Triangle lower = Triangle::lower;
    const bool in_lanes = n <= (cols == 1 ? basalt::cuda_detail::batch::most_in_lanes<T> : 32), by_panels = !in_lanes;
    const BatchPlan plan{bench::table_width<T>(&basalt::GpuBatchWidths::cholesky_factor, n)};
    const auto label = [&](const char* name, int width) {
        return std::string(name) + (by_panels ? ", width " + std::to_string(width) : "");
    };
    const double triangle = static_cast<double>(n * (n + 1) / 2 * count) * sizeof(T),
                 sides = static_cast<double>(n * cols * count) * sizeof(T);

    std::vector<Contestant> factors{
        {.name = "cuSOLVER potrfBatched",
         .run = [&](Index r) { vendor_factor<T>(c, small, rotation.list_a(r), rotation.vendor_info(), batch); },
         .of_vendor = true}};
    std::vector<Contestant> solves, both;
    if (cols == 1) {
        const auto vendor = [&](Index r) {
            vendor_solve<T>(c, small, rotation.list_a(r), rotation.list_b(r), rotation.vendor_info(), batch);
        };
        solves.push_back({.name = "cuSOLVER potrsBatched", .run = vendor, .from_factors = true, .of_vendor = true});
    }
    const auto trsm = [&](Index r) {
        vendor_trsm<T>(c, small, static_cast<int>(cols), rotation.list_a(r), rotation.list_b(r), batch);
    };
    solves.push_back({.name = "cuBLAS trsmBatched, two", .run = trsm, .from_factors = true, .of_vendor = true});
    const auto own_solve = [&](Index r) { solve<T>(c, lower, BatchView<const T>(rotation.a(r)), rotation.b(r)); };
    solves.push_back({"solve", own_solve, "potrs", true});
    both.push_back({"our two calls", [&, plan](Index r) {
                        factor<T>(c, lower, rotation.a(r), rotation.info(), plan);
                        solve<T>(c, lower, BatchView<const T>(rotation.a(r)), rotation.b(r));
                    }});
    for (const int width : by_panels ? std::vector<int>{8, 16, 32} : std::vector<int>{plan.width}) {
        const BatchPlan own{width};
        const bool recorded = width == plan.width;
        factors.push_back({label("factor", width),
                           [&, own](Index r) { factor<T>(c, lower, rotation.a(r), rotation.info(), own); },
                           recorded ? "potrf" : ""});
        both.push_back({label("both, kept", width),
                        [&, own](Index r) {
                            factor_solve<T>(c, lower, rotation.a(r), rotation.b(r), rotation.info(), BatchFactor::keep,
                                            own);
                        },
                        recorded ? "posv-keep" : ""});
        if (sizeof(T) == 8 && n > 224) continue;
        both.push_back({label("both, discarded", width),
                        [&, own](Index r) {
                            factor_solve<T>(c, lower, rotation.a(r), rotation.b(r), rotation.info(),
                                            BatchFactor::discard, own);
                        },
                        recorded ? "posv" : ""});
    }
    if (cols == 1) contest(c, report, rotation, n, cols, factors, 2 * triangle, true);
    // two substitutions, each of which reads the triangle, reads the right-hand sides and writes them
    contest(c, report, rotation, n, cols, solves, 2 * triangle + 4 * sides, false);
    contest(c, report, rotation, n, cols, both, 2 * triangle + 2 * sides, false);
}

void run(const RaceOptions& options) {
    Gpu c;
    RaceReport report(options, bench::copy_rate(c));
    for (const Index cols : {1, 8}) {
        for (const Index n : options.n) {
            if (cols == 8 && (n < 16 || n % 16 != 0)) continue;
            if (options.in_single()) race<float>(c, report, n, cols);
            if (options.in_double()) race<double>(c, report, n, cols);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::CommandLine app("Batched Cholesky on a GPU against cuSOLVER and cuBLAS, in turn", "bench_batch_gpu");
    RaceOptions options{.n = {8, 16, 24, 32, 48, 64, 96, 100, 128, 192, 256}, .most = 256};
    options.add_to(app);
    return app.run_program(argc, argv, [&] {
        run(options);
        return 0;
    });
}
