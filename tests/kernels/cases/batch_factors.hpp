#pragma once

// Batched LU and QR against what their factors must satisfy. `Kernels` calls the kernels of a GPU (cuda_kernels.hpp) or
// their CPU twins (cpu_twins.hpp); its Memory<T> holds their operands.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/on_stream/batch_lu.hpp"
#include "tests/common/catch.hpp"

namespace basalt_tests {

using namespace basalt;

/// Matrices m x n with right-hand sides and gaps of NaN, well conditioned, of which every third one has a column of
/// zeros, the last one, if they `may_fail`.
template <class T>
struct FactorCase {
    FactorCase(Index m, Index n, Index cols, Index count, bool may_fail)
        : m(m), n(n), cols(cols), count(count), ld(m + 3), stride(ld * n + 5), stride_b(ld * cols + 1) {
        constexpr T nan = std::numeric_limits<T>::quiet_NaN();
        a.assign(static_cast<std::size_t>(count * stride), nan);
        b.assign(static_cast<std::size_t>(count * stride_b), nan);
        unsigned state = 1;
        const auto noise = [&] { return static_cast<T>((state = state * 69069U + 1U) >> 20) / T{2048} - T{1}; };
        for (Index k = 0; k < count; ++k) {
            const bool fails = may_fail && n > 0 && k % 3 == 1;
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) {
                    // the large element of each column is not on the diagonal, so that rows are exchanged
                    const T large = i == (j + k) % m ? static_cast<T>(2 * std::sqrt(static_cast<double>(m))) : T{0};
                    a[at(k, i, j)] = fails && j == n - 1 ? T{0} : noise() + large;
                }
            }
            for (Index c = 0; c < cols; ++c) {
                for (Index i = 0; i < m; ++i) b[static_cast<std::size_t>(k * stride_b + c * ld + i)] = noise();
            }
            info.push_back(fails ? n : 0);
        }
    }

    std::size_t at(Index k, Index i, Index j) const { return static_cast<std::size_t>(k * stride + j * ld + i); }
    BatchView<T> view_a(T* data) const { return BatchView<T>::strided(data, count, m, n, ld, stride); }
    BatchView<T> view_b(T* data) const { return BatchView<T>::strided(data, count, m, cols, ld, stride_b); }
    template <class U>
    BatchView<U> view_numbers(U* data) const {
        const Index size = std::min(m, n);
        return BatchView<U>::strided(data, count, size, 1, std::max<Index>(1, size), size);
    }

    /// max |A^T (B - A X)|, which is small for solutions and for least squares, of the matrices that did not fail.
    double worst_solution(const std::vector<T>& x) const {
        double worst = 0;
        for (Index k = 0; k < count; ++k) {
            if (info[static_cast<std::size_t>(k)] != 0) continue;
            for (Index c = 0; c < cols; ++c) worst = larger(worst, off(k, c, x));
        }
        return worst;
    }
    double off(Index k, Index c, const std::vector<T>& x) const {
        std::vector<double> residual;
        for (Index i = 0; i < m; ++i) {
            double sum = static_cast<double>(b[static_cast<std::size_t>(k * stride_b + c * ld + i)]);
            for (Index j = 0; j < n; ++j) {
                sum -= static_cast<double>(a[at(k, i, j)]) *
                       static_cast<double>(x[static_cast<std::size_t>(k * stride_b + c * ld + j)]);
            }
            residual.push_back(sum);
        }
        double worst = 0;
        for (Index j = 0; j < n; ++j) {
            double sum = 0;
            for (Index i = 0; i < m; ++i) {
                sum += static_cast<double>(a[at(k, i, j)]) * residual[static_cast<std::size_t>(i)];
            }
            worst = larger(worst, std::abs(sum));
        }
        return worst / static_cast<double>(m);
    }
    /// max |Q^T Q - I| of m x n matrices of orthonormal columns.
    double worst_orthogonality(const std::vector<T>& q) const {
        double worst = 0;
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i <= j; ++i) {
                    double sum = i == j ? -1 : 0;
                    for (Index r = 0; r < m; ++r) {
                        sum += static_cast<double>(q[at(k, r, i)]) * static_cast<double>(q[at(k, r, j)]);
                    }
                    worst = larger(worst, std::abs(sum));
                }
            }
        }
        return worst;
    }
    /// max |A - Q R| for R in the upper triangles of the factors.
    double worst_product(const std::vector<T>& q, const std::vector<T>& factors) const {
        double worst = 0;
        for (Index k = 0; k < count; ++k) {
            for (Index j = 0; j < n; ++j) {
                for (Index i = 0; i < m; ++i) {
                    double sum = static_cast<double>(a[at(k, i, j)]);
                    for (Index r = 0; r <= j; ++r) {
                        sum -= static_cast<double>(q[at(k, i, r)]) * static_cast<double>(factors[at(k, r, j)]);
                    }
                    worst = larger(worst, std::abs(sum));
                }
            }
        }
        return worst;
    }
    double tolerance() const {
        return 50 * static_cast<double>(m + 4) * static_cast<double>(std::numeric_limits<T>::epsilon());
    }
    /// NaN wins.
    static double larger(double x, double y) { return y <= x ? x : y; }

    Index m, n, cols, count, ld, stride, stride_b;
    std::vector<T> a, b;
    std::vector<Index> info;
};

template <class T, class Kernels>
void check_batch_lu(Kernels& kernels, Index n, Index cols, Index count, int width) {
    INFO("n = " << n << ", " << count << " matrices, " << cols << " right-hand sides, width " << width);
    const FactorCase<T> p(n, n, cols, count, true);
    const std::vector<Index> untouched(p.info.size(), -7), numbers(static_cast<std::size_t>(n * count), -7);
    typename Kernels::template Memory<T> a(kernels, p.a), b(kernels, p.b), c(kernels, p.a), x(kernels, p.b);
    typename Kernels::template Memory<Index> pivots(kernels, numbers), info(kernels, untouched),
        more(kernels, untouched), others(kernels, numbers);
    using Order = std::optional<BatchView<const Index>>;
    const on_stream::BatchLuPlan plan{width};
    kernels(on_stream::batch_getrf<T>, p.view_a(a.data()),
            std::optional<BatchView<Index>>(p.view_numbers(pivots.data())), info.data(), on_stream::BatchLuPlan(plan));
    REQUIRE(info.read() == p.info);
    kernels(on_stream::batch_getrs<T>, BatchView<const T>(p.view_a(a.data())),
            Order(BatchView<const Index>(p.view_numbers(pivots.data()))), p.view_b(b.data()));
    REQUIRE(p.worst_solution(b.read()) <= p.tolerance() * 4);
    kernels(on_stream::batch_gesv<T>, p.view_a(c.data()), p.view_numbers(others.data()), p.view_b(x.data()),
            more.data(), on_stream::BatchLuPlan(plan));
    REQUIRE(more.read() == p.info);
    REQUIRE(others.read() == pivots.read());
    REQUIRE(p.worst_solution(x.read()) <= p.tolerance() * 4);

    // A^-1 times B
    FactorCase<T> identity(n, n, n, count, true);
    identity.a = p.a;
    std::fill(identity.b.begin(), identity.b.end(), T{0});
    for (Index k = 0; k < count; ++k) {
        for (Index i = 0; i < n; ++i) {
            identity.b[static_cast<std::size_t>(k * identity.stride_b + i * (identity.ld + 1))] = T{1};
        }
    }
    typename Kernels::template Memory<T> inverse(kernels, identity.b);
    kernels(on_stream::batch_getri<T>, BatchView<const T>(p.view_a(a.data())),
            BatchView<const Index>(p.view_numbers(pivots.data())), identity.view_b(inverse.data()), info.data());
    REQUIRE(info.read() == p.info);
    REQUIRE(identity.worst_solution(inverse.read()) <= p.tolerance() * 4);

    // without pivoting, a dominant diagonal
    FactorCase<T> plain(n, n, cols, count, false);
    for (Index k = 0; k < count; ++k) {
        for (Index i = 0; i < n; ++i) plain.a[plain.at(k, i, i)] += static_cast<T>(2 * n);
    }
    typename Kernels::template Memory<T> d(kernels, plain.a), y(kernels, plain.b);
    kernels(on_stream::batch_getrf<T>, plain.view_a(d.data()), std::optional<BatchView<Index>>(), info.data(),
            on_stream::BatchLuPlan(plan));
    REQUIRE(info.read() == plain.info);
    kernels(on_stream::batch_getrs<T>, BatchView<const T>(plain.view_a(d.data())), Order(), plain.view_b(y.data()));
    REQUIRE(plain.worst_solution(y.read()) <= plain.tolerance() * 4 * static_cast<double>(n + 1));
}

template <class T, class Kernels>
void check_batch_qr(Kernels& kernels, Index m, Index n, Index cols, Index count, int width) {
    INFO(m << " x " << n << ", " << count << " matrices, " << cols << " right-hand sides, width " << width);
    const FactorCase<T> p(m, n, cols, count, false);
    const std::vector<T> scales(static_cast<std::size_t>(std::min(m, n) * count), T{-7});
    typename Kernels::template Memory<T> a(kernels, p.a), b(kernels, p.b), c(kernels, p.a), tau(kernels, scales);
    typename Kernels::template Memory<Index> info(kernels, std::vector<Index>(p.info.size(), -7));
    const on_stream::BatchLuPlan plan{width};
    kernels(on_stream::batch_geqrf<T>, p.view_a(a.data()), p.view_numbers(tau.data()), on_stream::BatchLuPlan(plan));
    if (m < n) return;
    const std::vector<T> factors = a.read();
    kernels(on_stream::batch_orgqr<T>, p.view_a(a.data()), BatchView<const T>(p.view_numbers(tau.data())));
    REQUIRE(p.worst_orthogonality(a.read()) <= p.tolerance());
    REQUIRE(p.worst_product(a.read(), factors) <= p.tolerance() * std::sqrt(static_cast<double>(m)));
    kernels(on_stream::batch_gels<T>, p.view_a(c.data()), p.view_b(b.data()), info.data());
    REQUIRE(info.read() == p.info);
    REQUIRE(p.worst_solution(b.read()) <= p.tolerance() * 4);
}

/// Wide systems: A X = B, and X has no part that A does not see, X = A^T Y.
template <class T, class Kernels>
void check_batch_wide(Kernels& kernels, Index m, Index n, Index cols, Index count) {
    INFO(m << " x " << n << ", " << count << " matrices, " << cols << " right-hand sides");
    FactorCase<T> p(n, m, cols, count, false);  // the transpose
    for (Index k = 0; k < count; ++k) {         // dominant, so that A A^T is well conditioned
        for (Index i = 0; i < m; ++i) p.a[p.at(k, i, i)] += static_cast<T>(n);
    }
    const Index ld = m + 2, stride = ld * n;
    std::vector<T> wide(static_cast<std::size_t>(count * stride), T{-77});
    const auto at = [&](Index k, Index i, Index j) { return static_cast<std::size_t>(k * stride + j * ld + i); };
    for (Index k = 0; k < count; ++k) {
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < n; ++j) wide[at(k, i, j)] = p.a[p.at(k, j, i)];
        }
    }
    typename Kernels::template Memory<T> a(kernels, wide), b(kernels, p.b);
    typename Kernels::template Memory<Index> info(kernels, std::vector<Index>(p.info.size(), -7));
    kernels(on_stream::batch_gels<T>, BatchView<T>::strided(a.data(), count, m, n, ld, stride), p.view_b(b.data()),
            info.data());
    REQUIRE(info.read() == p.info);
    const std::vector<T> x = b.read();
    const double tolerance = p.tolerance() * static_cast<double>(n + 1);
    // The first m rows of B were given; X lies in the space of A's rows if the least squares of A^T Y = X leave
    // nothing.
    for (Index k = 0; k < count; ++k) {
        for (Index c = 0; c < cols; ++c) {
            const auto side = static_cast<std::size_t>(k * p.stride_b + c * p.ld);
            double off = 0;
            for (Index i = 0; i < m; ++i) {
                double sum = -static_cast<double>(p.b[side + static_cast<std::size_t>(i)]);
                for (Index j = 0; j < n; ++j) {
                    sum += static_cast<double>(wide[at(k, i, j)]) *
                           static_cast<double>(x[side + static_cast<std::size_t>(j)]);
                }
                off = FactorCase<T>::larger(off, std::abs(sum));
            }
            REQUIRE(off <= tolerance);
        }
    }
    typename Kernels::template Memory<T> c(kernels, p.a), y(kernels, x);
    kernels(on_stream::batch_gels<T>, p.view_a(c.data()), p.view_b(y.data()), info.data());
    const std::vector<T> rest = y.read();  // its rows behind m are the residual's components
    double unseen = 0;
    for (Index k = 0; k < count; ++k) {
        for (Index j = 0; j < cols; ++j) {
            for (Index i = m; i < n; ++i) {
                unseen = FactorCase<T>::larger(
                    unseen,
                    std::abs(static_cast<double>(rest[static_cast<std::size_t>(k * p.stride_b + j * p.ld + i)])));
            }
        }
    }
    REQUIRE(unseen <= tolerance);
}

template <class T, class Kernels>
void check_batch_factors(Kernels& kernels, const std::vector<Index>& orders, Index count) {
    for (const Index n : orders) {
        for (const int width : {4, 8, 16, 32}) {
            if (n <= 32 && width != 16) continue;
            if (width > 4) check_batch_lu<T>(kernels, n, n % 3 == 0 ? 5 : 1, count, width);
            if (width == 32) continue;
            check_batch_qr<T>(kernels, n, n, 1, count, width);
            check_batch_qr<T>(kernels, n + n / 2, n, 5, count, width);
            check_batch_qr<T>(kernels, (n + 1) / 2, n, 1, count, width);
            if (n > 1) check_batch_wide<T>(kernels, n - n / 3, n, n % 2 == 0 ? 1 : 5, count);
        }
    }
}

}  // namespace basalt_tests
