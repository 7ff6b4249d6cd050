#pragma once

// Which method the leaves of the GPU's QR panel use, for both implementations: the code of a block on the host, or the
// kernels of a GPU.
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/cuda/qr/leaf.hpp"
#include "tests/tasks/qr/qr_oracle.hpp"

namespace basalt_tests {

/// Uniform numbers, m x w, row-major; columns get closer to the first one with a smaller `distance`.
template <class T>
std::vector<T> leaf_columns(Index m, Index w, double distance) {
    std::mt19937 random(7);
    std::vector<T> a(static_cast<std::size_t>(m * w));
    for (T& x : a) x = static_cast<T>(random() * 0x1p-32 - 0.5);
    for (Index i = 0; i < m; ++i) {
        for (Index j = 1; j < w; ++j) {
            T& x = a[static_cast<std::size_t>(i * w + j)];
            x = static_cast<T>((1 - distance) * double(a[static_cast<std::size_t>(i * w)]) + distance * double(x));
        }
    }
    return a;
}

/// way_of(a, w): the way of the leaf whose w columns, row-major, are `a`. What is not far from orthogonal, up to the
/// scale of its columns, goes by Cholesky QR, once or twice; what a Gram matrix cannot be trusted with by Householder's
/// method.
template <class T, class WayOf>
void check_leaf_ways(Index m, Index w, const WayOf& way_of) {
    using basalt::cuda_detail::QrLeafWay;
    const auto check = [&](const std::string& what, const std::vector<T>& a, QrLeafWay expected) {
        INFO(m << " x " << w << ", " << what);
        CHECK(static_cast<int>(way_of(a, w)) == static_cast<int>(expected));
    };
    const std::vector<T> random = leaf_columns<T>(m, w, 1);
    const auto changed = [&](const auto& change) {
        std::vector<T> a = random;
        const auto view = View<T>::row_major(a.data(), m, w, w);
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < w; ++j) view(i, j) = change(i, j, view(i, j));
        }
        return a;
    };
    const auto scaled = [&](int exponent) {  // every second column
        return changed([exponent](Index, Index j, T x) { return j % 2 == 1 ? std::ldexp(x, exponent) : x; });
    };
    constexpr int safe = std::is_same_v<T, float> ? 20 : 280, outside = std::is_same_v<T, float> ? 40 : 320;
    check("random", random, QrLeafWay::once);
    for (const int sign : {1, -1}) {
        check("squares within range", scaled(sign * safe), QrLeafWay::once);
        check("squares out of range", scaled(sign * outside), QrLeafWay::householder);
    }
    check("columns that lean to the first", leaf_columns<T>(m, w, 0.3), QrLeafWay::twice);
    for (const double distance : {1e-3, 1e-9, 0.0}) {
        INFO("columns " << distance << " apart");
        check("close columns", leaf_columns<T>(m, w, distance), QrLeafWay::householder);
    }
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        check("no number", changed([&](Index i, Index j, T x) { return i == m - 1 && j == w / 2 ? T(bad) : x; }),
              QrLeafWay::householder);
    }
    for (const HardMatrix<T>& hard : hard_matrices<T>(m, w)) {
        // of a wide leaf the rows below its top are looked at, where the unit matrix has nothing
        const bool orthogonal = hard.what == "the unit matrix" && w <= basalt::cuda_detail::qr_leaf_width;
        check(hard.what, changed([&](Index i, Index j, T) { return hard.a(i, j); }),
              orthogonal ? QrLeafWay::once : QrLeafWay::householder);
    }
}

/// Rows and columns of leaves: narrow ones, of at most 64 columns, and wide ones.
inline constexpr std::array<std::array<Index, 2>, 2> leaf_shapes{{{150, 64}, {300, 70}}};

}  // namespace basalt_tests
