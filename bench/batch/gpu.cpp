// bench_batch_gpu: batched Cholesky on GPU 0 against cuSOLVER, in turn, over rotating buffers that its L2 does not
// hold. With --check, every result is compared with plain loops on a core first.
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
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <basalt/batch_cholesky.hpp>
#include <basalt/tuning.hpp>

#include "bench/batch/on_gpu.hpp"
#include "kernels/on_stream/batch.hpp"

namespace {

using basalt::BatchFactor;
using basalt::BatchView;
using basalt::Index;
using basalt::Triangle;
using basalt::on_stream::BatchPlan;
using bench::middle;
using bench::OnGpu;
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

/// What the built-in table says of factorizations.
template <class T>
BatchPlan table_plan(Index n) {
    const auto& batch = basalt::TuningTables::built_in().for_gpu("sm_90").batch;
    const auto& widths = (sizeof(T) == 4 ? batch.single_precision : batch.double_precision).cholesky_factor;
    const auto own = std::find_if(widths.begin(), widths.end(), [n](const auto& entry) { return n <= entry.up_to; });
    return {own != widths.end() ? own->width : 8};
}

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
constexpr std::size_t more_than_l2 = std::size_t{200} << 20;
constexpr int rounds = 5;

/// Bytes a second that a copy within the GPU moves, read and written.
double copy_rate(Circumstances& c) {
    const std::size_t bytes = std::size_t{1} << 30;
    const OnGpu<char> from(bytes), to(bytes);
    std::vector<double> times;
    for (int round = 0; round < 7; ++round) {
        times.push_back(c.milliseconds([&] {
            require_cuda(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, c.stream), "copy");
        }));
    }
    return 2.0 * static_cast<double>(bytes) / middle(times) * 1e3;
}

/// Batches of one order, as many as do not fit into the L2, and their pristine contents.
template <class T>
class Rotation {
  public:
    Rotation(Circumstances& c, Index n, Index cols)
        : c_(c),
          n_(n),
          cols_(cols),
          copies_(std::max<Index>(2, 1 + static_cast<Index>(more_than_l2 / (sizeof(T) * size_a())))),
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
        factor<T>(c_, Triangle::lower, a(0), info_.data(), table_plan<T>(n_));
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

struct Contestant {
    std::string name;
    bool from_factors;
    std::function<void(Index)> run;  ///< on batch r
    std::vector<double> times = {};
    double difference = 0;
};

/// Runs all in turn and prints a line for each: milliseconds a batch, how many times as fast as the first one, and the
/// time over that of moving `bytes` once.
template <class T>
void contest(Circumstances& c, Rotation<T>& rotation, Index n, std::vector<Contestant> contestants, double bytes,
             double rate, bool compares_a) {
    std::vector<T> expected;
    for (int round = 0; round <= rounds; ++round) {
        for (Contestant& contestant : contestants) {
            rotation.restore(contestant.from_factors);
            require_cuda(cudaStreamSynchronize(c.stream), "cudaStreamSynchronize");
            const double time = c.milliseconds([&] {
                for (Index r = 0; r < rotation.copies(); ++r) contestant.run(r);
            });
            if (round > 0) {
                contestant.times.push_back(time / static_cast<double>(rotation.copies()));
                continue;
            }
            const std::vector<T> result = compares_a ? rotation.first_a() : rotation.first_b();
            if (&contestant == contestants.data()) expected = result;
            contestant.difference = Rotation<T>::difference(result, expected, compares_a ? n : 0);
        }
    }
    const double first = middle(contestants.front().times), floor = bytes / rate * 1e3;
    for (const Contestant& contestant : contestants) {
        const double time = middle(contestant.times);
        const auto [least, most] = std::minmax_element(contestant.times.begin(), contestant.times.end());
        std::printf("%c %4d %-26s %9.4f ms (%.4f to %.4f)  %6.2f x  floor %.4f ms, %5.2f of it  difference %.1e\n",
                    sizeof(T) == 4 ? 's' : 'd', static_cast<int>(n), contestant.name.c_str(), time, *least, *most,
                    first / time, floor, time / floor, contestant.difference);
    }
    std::fflush(stdout);
}

template <class T>
void race(Circumstances& c, Index n, Index cols, double rate) {
    Rotation<T> rotation(c, n, cols);
    rotation.make_factors();
    const int small = static_cast<int>(n), batch = static_cast<int>(count);
    const Triangle lower = Triangle::lower;
    std::vector<int> widths{table_plan<T>(n).width};
    const bool by_panels = n > (sizeof(T) == 4 ? 96 : 64) || (n > 32 && cols > 1);
    if (by_panels) widths = {8, 16, 32};
    const auto label = [&](const char* name, int width) {
        return std::string(name) + (by_panels ? ", width " + std::to_string(width) : "");
    };
    const double triangle = static_cast<double>(n * (n + 1) / 2 * count) * sizeof(T),
                 sides = static_cast<double>(n * cols * count) * sizeof(T);

    std::vector<Contestant> factors{{"cuSOLVER potrfBatched", false, [&](Index r) {
                                         vendor_factor<T>(c, small, rotation.list_a(r), rotation.vendor_info(), batch);
                                     }}};
    std::vector<Contestant> solves, both;
    const auto trsm = [&](Index r) {
        vendor_trsm<T>(c, small, static_cast<int>(cols), rotation.list_a(r), rotation.list_b(r), batch);
    };
    if (cols == 1) {
        solves.push_back({"cuSOLVER potrsBatched", true, [&](Index r) {
                              vendor_solve<T>(c, small, rotation.list_a(r), rotation.list_b(r), rotation.vendor_info(),
                                              batch);
                          }});
    }
    solves.push_back({"cuBLAS trsmBatched, two", true, trsm});
    const BatchPlan plan = table_plan<T>(n);
    both.push_back({"our two calls", false, [&, plan](Index r) {
                        factor<T>(c, lower, rotation.a(r), rotation.info(), plan);
                        solve<T>(c, lower, BatchView<const T>(rotation.a(r)), rotation.b(r));
                    }});
    solves.push_back(
        {"solve", true, [&](Index r) { solve<T>(c, lower, BatchView<const T>(rotation.a(r)), rotation.b(r)); }});
    for (const int width : widths) {
        const BatchPlan own{width};
        factors.push_back({label("factor", width), false,
                           [&, own](Index r) { factor<T>(c, lower, rotation.a(r), rotation.info(), own); }});
        both.push_back({label("both, kept", width), false, [&, own](Index r) {
                            factor_solve<T>(c, lower, rotation.a(r), rotation.b(r), rotation.info(), BatchFactor::keep,
                                            own);
                        }});
        if (sizeof(T) == 8 && n > 224) continue;
        both.push_back({label("both, discarded", width), false, [&, own](Index r) {
                            factor_solve<T>(c, lower, rotation.a(r), rotation.b(r), rotation.info(),
                                            BatchFactor::discard, own);
                        }});
    }
    if (cols == 1) contest(c, rotation, n, factors, 2 * triangle, rate, true);
    contest(c, rotation, n, solves, triangle + 2 * sides, rate, false);
    contest(c, rotation, n, both, 2 * triangle + 2 * sides, rate, false);
}

void run(const std::vector<std::string>& arguments) {
    Circumstances c;
    cudaDeviceProp properties{};
    require_cuda(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    const double rate = copy_rate(c);
    std::printf("%s, %d multiprocessors, L2 %.0f MB; copy %.0f GB/s; %d matrices; medians of %d, in turn\n",
                properties.name, properties.multiProcessorCount, properties.l2CacheSize / 1048576.0, rate / 1e9,
                static_cast<int>(count), rounds);
    const auto asked = [&](const char* name) {
        return std::find(arguments.begin(), arguments.end(), name) != arguments.end();
    };
    if (asked("--check")) {
        check_all<float>(c);
        check_all<double>(c);
        if (asked("--no-times")) return;
    }
    for (const Index n : {8, 16, 24, 32, 48, 64, 96, 100, 128, 192, 256}) {
        race<float>(c, n, 1, rate);
        race<double>(c, n, 1, rate);
    }
    for (const Index n : {256, 128, 96, 64, 32, 16}) {
        race<float>(c, n, 8, rate);
        race<double>(c, n, 8, rate);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "bench_batch_gpu: %s\n", error.what());
        return 1;
    }
}
