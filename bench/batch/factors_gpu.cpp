// bench_batch_factors_gpu: batched LU and QR on GPU 0 against cuBLAS, in turn, over rotating buffers that its L2 does
// not hold. Each line has the largest difference of the solutions, or of R, from the vendor's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <basalt/batch_lu.hpp>
#include <basalt/batch_qr.hpp>

#include "bench/batch/on_gpu.hpp"
#include "kernels/on_stream/batch_lu.hpp"

namespace {

using basalt::BatchView;
using basalt::Index;
using basalt::on_stream::BatchLuPlan;
using bench::middle;
using bench::OnGpu;
using bench::require_blas;
using bench::require_cuda;
using Gpu = bench::TimedStream;

constexpr std::size_t more_than_l2 = std::size_t{200} << 20;
constexpr int rounds = 5;
constexpr Index different = 100;

/// Batches of one order, as many as do not fit into the L2, and their pristine contents.
template <class T>
class Batches {
  public:
    Batches(Gpu& gpu, Index n, Index count)
        : gpu_(gpu),
          n_(n),
          count_(count),
          copies_(std::max<Index>(2, 1 + static_cast<Index>(more_than_l2 / (sizeof(T) * size())))),
          plain_(input(n, count)),
          a_(static_cast<std::size_t>(copies_) * size()),
          numbers_(static_cast<std::size_t>(n * count)),
          info_(static_cast<std::size_t>(count)),
          vendor_numbers_(static_cast<std::size_t>(n * count)),
          vendor_info_(static_cast<std::size_t>(count)),
          tau_(static_cast<std::size_t>(n * count)),
          list_(addresses(a_.data(), n * n, copies_ * count)),
          tau_list_(addresses(tau_.data(), n, count)) {}

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
};

struct Contestant {
    std::string name;
    std::function<void(Index)> run;  ///< on batch r
    std::vector<double> times = {};
    double difference = 0;
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

/// Runs all in turn and prints a line for each: milliseconds a batch, and how many times as fast as the first one.
template <class T>
void contest(Gpu& gpu, Batches<T>& batches, Index n, Index count, std::vector<Contestant> contestants) {
    std::vector<T> expected;
    for (int round = 0; round <= rounds; ++round) {
        for (Contestant& one : contestants) {
            batches.restore();
            const double time = gpu.milliseconds([&] {
                for (Index r = 0; r < batches.copies(); ++r) one.run(r);
            });
            if (round > 0) {
                one.times.push_back(time / static_cast<double>(batches.copies()));
                continue;
            }
            const std::vector<T> result = batches.upper();
            if (&one == contestants.data()) expected = result;
            one.difference = difference(result, expected);
        }
    }
    const double first = middle(contestants.front().times);
    for (const Contestant& one : contestants) {
        const double time = middle(one.times);
        const auto [least, most] = std::minmax_element(one.times.begin(), one.times.end());
        std::printf("%c n = %3d, %6d matrices, %-28s %9.4f ms (%.4f to %.4f)  %6.2f x  difference %.1e\n",
                    sizeof(T) == 4 ? 's' : 'd', static_cast<int>(n), static_cast<int>(count), one.name.c_str(), time,
                    *least, *most, first / time, one.difference);
    }
    std::fflush(stdout);
}

template <class T>
void race(Gpu& gpu, Index n, Index count) {
    Batches<T> batches(gpu, n, count);
    const auto plans = [&](int least, int most) {
        std::vector<BatchLuPlan> all;
        for (int width = n <= 32 ? 8 : least; width <= (n <= 32 ? 8 : most); width *= 2) all.push_back({width});
        return all;
    };
    const auto label = [&](const char* name, BatchLuPlan plan) {
        return std::string(name) + (n > 32 ? ", width " + std::to_string(plan.width) : "");
    };
    std::vector<Contestant> pivoted{{"cuBLAS getrfBatched", [&](Index r) { batches.vendor_lu(r, true); }}},
        plain{{"cuBLAS, no pivoting", [&](Index r) { batches.vendor_lu(r, false); }}},
        qr{{"cuBLAS geqrfBatched", [&](Index r) { batches.vendor_qr(r); }}};
    for (const BatchLuPlan plan : plans(8, 32)) {
        pivoted.push_back({label("getrf", plan), [&, plan](Index r) { batches.our_lu(r, plan, true); }});
        plain.push_back({label("no pivoting", plan), [&, plan](Index r) { batches.our_lu(r, plan, false); }});
    }
    for (const BatchLuPlan plan : plans(4, 16)) {
        qr.push_back({label("geqrf", plan), [&, plan](Index r) { batches.our_qr(r, plan); }});
    }
    // of whatever lies there: the time does not depend on it
    qr.push_back({"orgqr (other work)", [&](Index r) { batches.our_q(r); }});
    contest(gpu, batches, n, count, pivoted);
    contest(gpu, batches, n, count, plain);
    contest(gpu, batches, n, count, qr);
}

}  // namespace

int main() {
    try {
        Gpu gpu;
        cudaDeviceProp properties{};
        require_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
        std::printf("%s; medians of %d, in turn\n", properties.name, rounds);
        for (const Index n : {8, 16, 24, 32, 48, 64, 96, 128}) {
            race<float>(gpu, n, 10'000);
            race<double>(gpu, n, 10'000);
        }
        for (const Index n : {192, 256, 512}) {
            race<float>(gpu, n, n == 512 ? 1024 : 4096);
            race<double>(gpu, n, n == 512 ? 1024 : 4096);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "bench_batch_factors_gpu: %s\n", error.what());
        return 1;
    }
}
