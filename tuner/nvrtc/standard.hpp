#pragma once

/// What the batched kernels use of the standard library, for the compiler at run time, which has none. The names
/// <cmath>, <limits> and so on lead to this file there.
namespace std {

using int64_t = long long;
using uint64_t = unsigned long long;
using uint32_t = unsigned;
using uint16_t = unsigned short;
using size_t = decltype(sizeof 0);

template <class T, T v>
struct integral_constant {
    static constexpr T value = v;
    constexpr operator T() const { return v; }
    constexpr T operator()() const { return v; }
};
template <class T>
struct remove_const {
    using type = T;
};
template <class T>
struct remove_const<const T> {
    using type = T;
};
template <class T>
using remove_const_t = typename remove_const<T>::type;
template <bool condition, class T, class F>
struct conditional {
    using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
    using type = F;
};
template <bool condition, class T, class F>
using conditional_t = typename conditional<condition, T, F>::type;
template <bool condition, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
    using type = T;
};
template <bool condition, class T = void>
using enable_if_t = typename enable_if<condition, T>::type;
template <class, class>
inline constexpr bool is_same_v = false;
template <class T>
inline constexpr bool is_same_v<T, T> = true;

template <class T>
struct numeric_limits;
template <>
struct numeric_limits<float> {
    static constexpr float min() { return 0x1p-126F; }
    static constexpr float max() { return 0x1.fffffep127F; }
    static float infinity() { return __int_as_float(0x7f800000); }
    static float quiet_NaN() { return __int_as_float(0x7fc00000); }
};
template <>
struct numeric_limits<double> {
    static constexpr double min() { return 0x1p-1022; }
    static constexpr double max() { return 0x1.fffffffffffffp1023; }
    static double infinity() { return __longlong_as_double(0x7ff0000000000000); }
    static double quiet_NaN() { return __longlong_as_double(0x7ff8000000000000); }
};
template <>
struct numeric_limits<int> {
    static constexpr int max() { return 0x7fffffff; }
};

inline float sqrt(float x) { return ::sqrtf(x); }
inline double sqrt(double x) { return ::sqrt(x); }

template <class To, class From>
To bit_cast(const From& from) {
    return __builtin_bit_cast(To, from);
}

/// The least power of two that is not below x.
constexpr unsigned bit_ceil(unsigned x) {
    unsigned power = 1;
    while (power < x) power *= 2;
    return power;
}

}  // namespace std
