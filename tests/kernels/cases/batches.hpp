#pragma once

// Batched Cholesky against plain loops. `Kernels` calls the kernels of a GPU (cuda_kernels.hpp) or their CPU twins
// (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/on_stream/batch.hpp"
#include "tests/common/catch.hpp"

namespace basalt_tests {

using namespace basalt;

/// Matrices of order n with right-hand sides, gaps of NaN between them, and what becomes of them. Every third matrix
/// fails at its last pivot or at one in the middle, by a NaN or by a negative number.
template <class T>
struct BatchCase {
    BatchCase(Index n, Index cols, Index count, Triangle triangle)
        : n(n), cols(cols), count(count), ld(n + 3), stride(ld * n + 5), stride_b(ld * cols + 1), triangle(triangle) {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        a.assign(static_cast<std::size_t>(count * stride), nan);
        b.assign(static_cast<std::size_t>(count * stride_b), nan);
        unsigned state = 1;
        const auto noise = [&] { return static_cast<T>((state = state * 69069U + 1U) >> 20) / T{4096}; };
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < n; ++j) {
                for (Index i = j; i < n; ++i) at(a, k, i, j) = i == j ? static_cast<T>(n + 1 + k % 9) : noise();
            }
            for (Index i = 0; i < n * cols; ++i) side(b, k, i / n)[i % n] = noise();
            const Index failing = k % 12 < 6 ? n : (n + 1) / 2;
            info.push_back(n > 0 && k % 3 == 1 ? failing : 0);
            if (info.back() > 0) at(a, k, failing - 1, failing - 1) = k % 2 == 0 ? nan : T{-1};
        }
        l = a, x = b;
        for (Index k = 0; k < count; ++k) {
            if (info[static_cast<std::size_t>(k)] == 0) factor(k), solve(k);
        }
    }

    T& at(std::vector<T>& values, Index k, Index i, Index j) const {
        return values[static_cast<std::size_t>(k * stride + (triangle == Triangle::lower ? i + j * ld : j + i * ld))];
    }
    T* side(std::vector<T>& values, Index k, Index c) const { return values.data() + k * stride_b + c * ld; }

    void factor(Index k) {
        for (Index j = 0; j < n; ++j) {
            for (Index i = j; i < n; ++i) {
                double sum = static_cast<double>(at(l, k, i, j));
                for (Index p = 0; p < j; ++p) {
                    sum -= static_cast<double>(at(l, k, i, p)) * static_cast<double>(at(l, k, j, p));
                }
                at(l, k, i, j) = static_cast<T>(i == j ? std::sqrt(sum) : sum / static_cast<double>(at(l, k, j, j)));
            }
        }
    }
    void solve(Index k) {
        for (Index c = 0; c < cols; ++c) {
            T* const y = side(x, k, c);
            for (Index i = 0; i < n; ++i) {
                double sum = static_cast<double>(y[i]);
                for (Index j = 0; j < i; ++j) sum -= static_cast<double>(at(l, k, i, j)) * static_cast<double>(y[j]);
                y[i] = static_cast<T>(sum / static_cast<double>(at(l, k, i, i)));
            }
            for (Index i = n - 1; i >= 0; --i) {
                double sum = static_cast<double>(y[i]);
                for (Index j = i + 1; j < n; ++j)
                    sum -= static_cast<double>(at(l, k, j, i)) * static_cast<double>(y[j]);
                y[i] = static_cast<T>(sum / static_cast<double>(at(l, k, i, i)));
            }
        }
    }

    /// Whether values are close, and NaN where they are expected; matrices that fail are left out.
    bool near(const std::vector<T>& values, const std::vector<T>& expected) const {
        if (count == 0) return true;
        const std::size_t size = expected.size() / static_cast<std::size_t>(count);
        const T tolerance = 400 * std::numeric_limits<T>::epsilon();
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (info[i / size] > 0 || (std::isnan(values[i]) && std::isnan(expected[i]))) continue;
            if (!(std::abs(values[i] - expected[i]) <= tolerance * std::max(T{1}, std::abs(expected[i])))) return false;
        }
        return true;
    }
    BatchView<T> view_a(T* data) const { return BatchView<T>::strided(data, count, n, n, ld, stride); }
    BatchView<T> view_b(T* data) const { return BatchView<T>::strided(data, count, n, cols, ld, stride_b); }
    /// Whether right-hand sides of matrices that fail are as they were.
    bool failing_kept(const std::vector<T>& values) const {
        for (std::size_t i = 0; i < b.size(); ++i) {
            const bool fails = info[i / static_cast<std::size_t>(stride_b)] > 0;
            if (fails && std::memcmp(&values[i], &b[i], sizeof(T)) != 0) return false;
        }
        return true;
    }

    Index n, cols, count, ld, stride, stride_b;
    Triangle triangle;
    std::vector<T> a, b, l, x;
    std::vector<Index> info;
};

enum class Layout { strided, pointers };

/// The matrices at `data`, in the kernels' memory, as either layout has them.
template <class T, class Kernels>
class LaidOut {
  public:
    LaidOut(Kernels& kernels, Layout layout, T* data, Index count, Index stride)
        : layout_(layout), data_(data), count_(count), stride_(stride), list_(kernels, addresses()) {}

    BatchView<T> view(Index rows, Index cols, Index ld) {
        if (layout_ == Layout::strided) return BatchView<T>::strided(data_, count_, rows, cols, ld, stride_);
        return BatchView<T>::pointers({list_.data(), static_cast<std::size_t>(count_)}, rows, cols, ld);
    }

  private:
    std::vector<T*> addresses() const {
        std::vector<T*> list;
        for (Index k = 0; k < count_; ++k) list.push_back(data_ + k * stride_);
        return list;
    }

    const Layout layout_;
    T* const data_;
    const Index count_, stride_;
    typename Kernels::template Memory<T*> list_;
};

template <class T, class Kernels>
void check_batch(Kernels& kernels, const BatchCase<T>& p, on_stream::BatchPlan plan, Layout layout) {
    INFO("n = " << p.n << ", " << p.count << " matrices, " << p.cols << " right-hand sides, width " << plan.width
                << (layout == Layout::pointers ? ", by pointers" : ""));
    const std::vector<Index> untouched(p.info.size(), -7);
    typename Kernels::template Memory<T> a(kernels, p.a), b(kernels, p.b);
    typename Kernels::template Memory<Index> info(kernels, untouched);
    LaidOut<T, Kernels> all_a(kernels, layout, a.data(), p.count, p.stride),
        all_b(kernels, layout, b.data(), p.count, p.stride_b);
    kernels(on_stream::batch_potrf<T>, Triangle{p.triangle}, all_a.view(p.n, p.n, p.ld), info.data(),
            on_stream::BatchPlan(plan));
    REQUIRE(info.read() == p.info);
    REQUIRE(p.near(a.read(), p.l));
    kernels(on_stream::batch_potrs<T>, Triangle{p.triangle}, BatchView<const T>(all_a.view(p.n, p.n, p.ld)),
            all_b.view(p.n, p.cols, p.ld));
    REQUIRE(p.near(b.read(), p.x));
    for (const BatchFactor factor : {BatchFactor::keep, BatchFactor::discard}) {
        if (factor == BatchFactor::discard && sizeof(T) == 8 && p.n > 128)
            continue;  // beyond small GPUs' shared memory
        typename Kernels::template Memory<T> again_a(kernels, p.a), again_b(kernels, p.b);
        typename Kernels::template Memory<Index> again_info(kernels, untouched);
        LaidOut<T, Kernels> in_a(kernels, layout, again_a.data(), p.count, p.stride),
            in_b(kernels, layout, again_b.data(), p.count, p.stride_b);
        kernels(on_stream::batch_posv<T>, Triangle{p.triangle}, in_a.view(p.n, p.n, p.ld), in_b.view(p.n, p.cols, p.ld),
                again_info.data(), BatchFactor{factor}, on_stream::BatchPlan(plan));
        REQUIRE(again_info.read() == p.info);
        REQUIRE(p.near(again_a.read(), factor == BatchFactor::keep ? p.l : p.a));
        const std::vector<T> sides = again_b.read();
        REQUIRE(p.near(sides, p.x));
        REQUIRE(p.failing_kept(sides));
    }
}

/// All calls for every order given, with lower and upper triangles, one and several right-hand sides, and some without.
template <class T, class Kernels>
void check_batches(Kernels& kernels, const std::vector<Index>& orders, Index count) {
    for (const Index n : orders) {
        for (const int variant : {0, 1, 2, 3, 4}) {
            const Index cols = variant < 2 ? 1 : variant < 4 ? 5 : 0;
            if (cols == 0 && n % 16 != 8) continue;
            const BatchCase<T> p(n, cols, count, variant % 2 == 0 ? Triangle::lower : Triangle::upper);
            for (const int width : {8, 16, 32}) {
                const Layout layout = (n + variant + width / 8) % 3 == 0 ? Layout::pointers : Layout::strided;
                if (width == 16 || n > 32) check_batch(kernels, p, {width}, layout);
            }
        }
    }
}

}  // namespace basalt_tests
