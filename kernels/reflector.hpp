#pragma once

#include <cmath>
#include <limits>

/// The elementary reflector H = I - tau v v^T, v(0) = 1, with H (alpha, x)^T = (beta, 0)^T: LAPACK's larfg. Shared by
/// the kernels of all processors.
namespace basalt {

/// Bounds that keep sums of squares from overflowing and from losing digits. Columns whose largest element is outside
/// [low, high] are scaled by a power of two before they are factored, which changes neither v nor tau. Then a remainder
/// whose sum of squares is at most `nothing` is smaller than its column's rounding errors: it becomes zero, and H = I.
template <class T>
struct ReflectorRange;
template <>
struct ReflectorRange<double> {
    static constexpr double low = 0x1p-300, high = 0x1p300, nothing = 0x1p-960;
};
template <>
struct ReflectorRange<float> {
    static constexpr float low = 0x1p-24F, high = 0x1p32F, nothing = 0x1p-112F;
};

/// The power of two that brings a column of largest magnitude `largest` to about 1: 0 where it needs none, is zero or
/// NaN.
template <class T>
constexpr int scaling_exponent(T largest) {
    using Range = ReflectorRange<T>;
    if (!(largest > 0) || largest > std::numeric_limits<T>::max() || (largest >= Range::low && largest <= Range::high))
        return 0;
    return -std::ilogb(largest);
}

template <class T>
struct Reflector {
    T beta;
    T tau;
    T scale;  ///< v = scale x; 0 where tau is
};

/// Of (alpha, x) with `squares` = x^T x.
template <class T>
constexpr Reflector<T> make_reflector(T alpha, T squares) {
    if (squares <= ReflectorRange<T>::nothing) return {alpha, T{0}, T{0}};
    const T norm = std::sqrt(alpha * alpha + squares);
    const T beta = alpha < 0 ? norm : -norm;
    return {beta, (beta - alpha) / beta, T{1} / (alpha - beta)};
}

}  // namespace basalt
