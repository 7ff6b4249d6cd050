// bench_batch_gpu: batched Cholesky on GPU 0 against cuSOLVER, in turn, over rotating buffers that its L2 does not
// hold. With --check, every result is compared with plain loops on a core before.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
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

void require_solver(cusolverStatus_t status, const char* call) {
    if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(status));
}

/// The stream, with cuSOLVER.
struct Circumstances : bench::TimedStream {
    cusolverDnHandle_t solver = nullptr;

    Circumstances() {
        require_solver(cusolverDnCreate(&solver), "cusolverDnCreate");
        require_solver(cusolverDnSetStream(solver, stream), "cusolverDnSetStream");
    }
};

// ---- the kernels, and the vendor's ----------------------------------------------------------------------

template <class T>
void factor(Circumstances& c, Triangle t, const BatchView<T>& a, Index* info, BatchPlan plan) {
    basalt::on_stream::Code<basalt::on_stream::BatchPotrf<T>>::gpu(c.borrowed, t, a, info, plan);
}
template <class T>
void solve(Circumstances& c, Triangle t, const BatchView<const T>& l, const BatchView<T>& b) {
    basalt::on_stream::Code<basalt::on_stream::BatchPotrs<T>>::gpu(c.borrowed, t, l, b);
}
template <class T>
void factor_solve(Circumstances& c, Triangle t, const BatchView<T>& a, const BatchView<T>& b, Index* info,
                  BatchFactor keep, BatchPlan plan) {
    basalt::on_stream::Code<basalt::on_stream::BatchPosv<T>>::gpu(c.borrowed, t, a, b, info, keep, plan);
}

template <class T>
void vendor_factor(Circumstances& c, int n, T** a, int* info, int count) {
    if constexpr (sizeof(T) == 4) {
        require_solver(cusolverDnSpotrfBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count), "potrfBatched");
    } else {
        require_solver(cusolverDnDpotrfBatched(c.solver, CUBLAS_FILL_MODE_LOWER, n, a, n, info, count), "potrfBatched");
    }
}
template <class T>
void vendor_solve(Circumstances& c, int n, T** l, T** b, int* info, int count) {
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
void vendor_trsm(Circumstances& c, int n, int cols, T** l, T** b, int count) {
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

// ---- checks ---------------------------------------------------------------------------------------------

/// A batch with gaps of NaN, and its results by plain loops in double; the failing matrix is left out of comparisons.
template <class T>
struct Problem {
    static constexpr Index gap = 3;

    Problem(Index n, Index cols, Index count, Triangle triangle, Index bad_matrix, Index bad)
        : n(n), cols(cols), count(count), ld(n + gap), stride(ld * n + 5), stride_b(ld * cols + 1), triangle(triangle) {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        a.assign(static_cast<std::size_t>(count * stride), nan);
        b.assign(static_cast<std::size_t>(count * stride_b), nan);
        info.assign(static_cast<std::size_t>(count), 0);
        unsigned state = 1;
        const auto noise = [&] { return static_cast<T>((state = state * 69069U + 1U) >> 20) / T{4096}; };
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < n; ++j) {
                for (Index i = j; i < n; ++i) at(a, k, i, j) = i == j ? static_cast<T>(n + 1 + k % 9) : noise();
            }
            for (Index i = 0; i < n * cols; ++i) {
                b[static_cast<std::size_t>(k * stride_b + i % n + i / n * ld)] = noise();
            }
        }
        if (bad > 0) at(a, bad_matrix, bad - 1, bad - 1) = bad % 2 == 0 ? nan : T{-1};
        l = a, x = b;
        for (Index k = 0; k < count; ++k) {
            if (bad > 0 && k == bad_matrix) {
                info[static_cast<std::size_t>(k)] = bad;
            } else {
                reference(k);
            }
        }
    }

    T& at(std::vector<T>& values, Index k, Index i, Index j) const {
        const Index place = triangle == Triangle::lower ? i + j * ld : j + i * ld;
        return values[static_cast<std::size_t>(k * stride + place)];
    }

    void reference(Index k) {
        std::vector<double> m(static_cast<std::size_t>(n * n));
        const auto e = [&](Index i, Index j) -> double& { return m[static_cast<std::size_t>(i + j * n)]; };
        for (Index j = 0; j < n; ++j) {
            for (Index i = j; i < n; ++i) e(i, j) = static_cast<double>(at(a, k, i, j));
        }
        for (Index j = 0; j < n; ++j) {
            e(j, j) = std::sqrt(e(j, j));
            for (Index i = j + 1; i < n; ++i) e(i, j) /= e(j, j);
            for (Index c = j + 1; c < n; ++c) {
                for (Index i = c; i < n; ++i) e(i, c) -= e(i, j) * e(c, j);
            }
            for (Index i = j; i < n; ++i) at(l, k, i, j) = static_cast<T>(e(i, j));
        }
        std::vector<double> y(static_cast<std::size_t>(n));
        for (Index s = 0; s < cols; ++s) {
            T* const side = x.data() + k * stride_b + s * ld;
            for (Index i = 0; i < n; ++i) {
                double sum = static_cast<double>(side[i]);
                for (Index j = 0; j < i; ++j) sum -= e(i, j) * y[static_cast<std::size_t>(j)];
                y[static_cast<std::size_t>(i)] = sum / e(i, i);
            }
            for (Index i = n - 1; i >= 0; --i) {
                double sum = y[static_cast<std::size_t>(i)];
                for (Index j = i + 1; j < n; ++j) sum -= e(j, i) * y[static_cast<std::size_t>(j)];
                y[static_cast<std::size_t>(i)] = sum / e(i, i);
                side[i] = static_cast<T>(y[static_cast<std::size_t>(i)]);
            }
        }
    }

    Index n, cols, count, ld, stride, stride_b;
    Triangle triangle;
    std::vector<T> a, b, l, x;
    std::vector<Index> info;
};

/// Throws where values differ, or NaN lie elsewhere. Matrices that fail are left out.
template <class T>
void compare(const std::string& what, const std::vector<T>& values, const std::vector<T>& expected,
             const std::vector<Index>& info) {
    const std::size_t size = expected.size() / info.size();
    const T tolerance = 400 * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (info[i / size] > 0) continue;
        const bool both_nan = std::isnan(values[i]) && std::isnan(expected[i]);
        if (both_nan || std::abs(values[i] - expected[i]) <= tolerance * std::max(T{1}, std::abs(expected[i])))
            continue;
        throw std::runtime_error(what + ": matrix " + std::to_string(i / size) + ", element " +
                                 std::to_string(i % size) + " is " + std::to_string(values[i]) + " instead of " +
                                 std::to_string(expected[i]));
    }
}

template <class T>
BatchView<T> view(const OnGpu<T>& values, Index count, Index rows, Index cols, Index ld, Index stride,
                  std::unique_ptr<OnGpu<T*>>& list, bool pointers) {
    if (!pointers) return BatchView<T>::strided(values.data(), count, rows, cols, ld, stride);
    std::vector<T*> addresses;
    for (Index k = 0; k < count; ++k) addresses.push_back(values.data() + k * stride);
    list = std::make_unique<OnGpu<T*>>(addresses);
    return BatchView<T>::pointers({list->data(), static_cast<std::size_t>(count)}, rows, cols, ld);
}

template <class T>
void check_calls(Circumstances& c, const Problem<T>& p, bool pointers, BatchPlan plan, const std::string& what) {
    std::unique_ptr<OnGpu<T*>> list_a, list_b;
    OnGpu<T> a(p.a), b(p.b);
    OnGpu<Index> info(std::vector<Index>(p.info.size(), -7));
    const auto view_a = view(a, p.count, p.n, p.n, p.ld, p.stride, list_a, pointers);
    const auto view_b = view(b, p.count, p.n, p.cols, p.ld, p.stride_b, list_b, pointers);
    const auto wait = [&] { require_cuda(cudaStreamSynchronize(c.stream), what.c_str()); };
    const auto check_info = [&](const char* call) {
        if (info.read() != p.info) throw std::runtime_error(what + ", " + call + ": wrong INFO");
    };
    factor<T>(c, p.triangle, view_a, info.data(), plan), wait();
    compare(what + ", factor", a.read(), p.l, p.info), check_info("factor");
    solve<T>(c, p.triangle, BatchView<const T>(view_a), view_b), wait();
    compare(what + ", solve", b.read(), p.x, p.info);
    for (const BatchFactor keep : {BatchFactor::keep, BatchFactor::discard}) {
        a.write(p.a), b.write(p.b), info.write(std::vector<Index>(p.info.size(), -7));
        try {
            factor_solve<T>(c, p.triangle, view_a, view_b, info.data(), keep, plan), wait();
        } catch (const basalt::UsageError&) {
            if (keep == BatchFactor::keep || sizeof(T) == 4 || p.n <= 192) throw;
            continue;
        }
        compare(what + ", factor and solve: X", b.read(), p.x, p.info), check_info("factor and solve");
        const std::vector<T> left = a.read();
        compare(what + ", factor and solve: A", left, keep == BatchFactor::keep ? p.l : p.a, p.info);
        const std::vector<T> sides = b.read();
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const bool failed = p.info[i / static_cast<std::size_t>(p.stride_b)] > 0;
            if (failed && std::memcmp(&sides[i], &p.b[i], sizeof(T)) != 0) {
                throw std::runtime_error(what + ": B of a matrix that failed was changed");
            }
        }
    }
}

template <class T>
void check_all(Circumstances& c) {
    std::vector<Index> orders;
    for (Index n = 1; n <= 130; ++n) orders.push_back(n);
    for (const Index n : {160, 191, 192, 200, 208, 209, 224, 225, 240, 255, 256}) orders.push_back(n);
    int cases = 0;
    for (const Index n : orders) {
        const Index count = n <= 32 ? 67 : n <= 130 ? 5 : 3;
        for (const int width : {8, 16, 32}) {
            if (n <= 32 && width != 16) continue;
            const Triangle triangle = (n + width / 8) % 2 == 0 ? Triangle::lower : Triangle::upper;
            const bool pointers = (n / 2) % 2 == 0;
            const Problem<T> p(n, n % 3 == 0 ? 6 : 1, count, triangle, count / 2, n % 5 == 0 ? (n + 1) / 2 : 0);
            check_calls<T>(c, p, pointers, {width}, "n = " + std::to_string(n) + ", width " + std::to_string(width));
            ++cases;
        }
    }
    std::printf("checked: %d cases in %s precision, four calls each\n", cases, sizeof(T) == 4 ? "single" : "double");
}

// ---- times ----------------------------------------------------------------------------------------------

constexpr Index count = 10'000, different = 1'000;

/// Batches of one order, as many as do not fit into the L2, and their pristine contents.
template <class T>
class Rotation {
  public:
    Rotation(Circumstances& c, Index n, Index cols)
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

    Circumstances& c_;
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
void contest(Circumstances& c, RaceReport& report, Rotation<T>& rotation, Index n, Index cols,
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
void race(Circumstances& c, RaceReport& report, Index n, Index cols) {
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

    std::vector<Contestant> factors{{"cuSOLVER potrfBatched", [&](Index r) {
                                         vendor_factor<T>(c, small, rotation.list_a(r), rotation.vendor_info(), batch);
                                     }}};
    std::vector<Contestant> solves, both;
    if (cols == 1) {
        const auto vendor = [&](Index r) {
            vendor_solve<T>(c, small, rotation.list_a(r), rotation.list_b(r), rotation.vendor_info(), batch);
        };
        solves.push_back({"cuSOLVER potrsBatched", vendor, "", true});
    }
    const auto trsm = [&](Index r) {
        vendor_trsm<T>(c, small, static_cast<int>(cols), rotation.list_a(r), rotation.list_b(r), batch);
    };
    solves.push_back({"cuBLAS trsmBatched, two", trsm, "", true});
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

void run(const RaceOptions& options, bool checks) {
    Circumstances c;
    if (checks) {
        check_all<float>(c);
        check_all<double>(c);
    }
    RaceReport report(options.json, bench::copy_rate(c));
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
    bool checks = false;
    options.add_to(app);
    app.add_flag("--check", checks, "compare all calls with plain loops first");
    return app.run_program(argc, argv, [&] {
        run(options, checks);
        return 0;
    });
}
