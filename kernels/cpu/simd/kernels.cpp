#include "kernels/cpu/simd/kernels.hpp"

namespace basalt::simd {

extern const Kernels<float> avx512_float, avx2_float, generic_float;
extern const Kernels<double> avx512_double, avx2_double, generic_double;

namespace {

template <class T>
const Kernels<T>& widest(const Kernels<T>* avx512, const Kernels<T>* avx2, const Kernels<T>& generic) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return *avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return *avx2;
#else
    (void)avx512;
    (void)avx2;
#endif
    return generic;
}

}  // namespace

template <>
const Kernels<float>& kernels<float>() {
#if defined(__x86_64__)
    static const Kernels<float>& table = widest(&avx512_float, &avx2_float, generic_float);
#else
    static const Kernels<float>& table = widest<float>(nullptr, nullptr, generic_float);
#endif
    return table;
}

template <>
const Kernels<double>& kernels<double>() {
#if defined(__x86_64__)
    static const Kernels<double>& table = widest(&avx512_double, &avx2_double, generic_double);
#else
    static const Kernels<double>& table = widest<double>(nullptr, nullptr, generic_double);
#endif
    return table;
}

}  // namespace basalt::simd
