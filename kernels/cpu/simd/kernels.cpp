#include "kernels/cpu/simd/kernels.hpp"

#include <string_view>

namespace basalt::simd {

// Defined by isa_*.cpp.
extern const Kernels<float> avx512_float, avx2_float, generic_float;
extern const Kernels<double> avx512_double, avx2_double, generic_double;

namespace {

template <class T>
const Kernels<T>* choose(std::string_view name, [[maybe_unused]] const Kernels<float>* f,
                         [[maybe_unused]] const Kernels<double>* d, std::string_view wanted) {
    if (name != wanted) return nullptr;
    if constexpr (sizeof(T) == sizeof(float)) {
        return f;
    } else {
        return d;
    }
}

}  // namespace

template <class T>
const Kernels<T>* find_kernels(const char* name) {
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
        if (const auto* found = choose<T>("avx512", &avx512_float, &avx512_double, name)) return found;
    }
    if (avx2) {
        if (const auto* found = choose<T>("avx2", &avx2_float, &avx2_double, name)) return found;
    }
#endif
    return choose<T>("generic", &generic_float, &generic_double, name);
}

template <class T>
const Kernels<T>& kernels() {
    static const Kernels<T>& widest = []() -> const Kernels<T>& {
        for (const char* name : {"avx512", "avx2"}) {
            if (const Kernels<T>* found = find_kernels<T>(name)) return *found;
        }
        return *find_kernels<T>("generic");
    }();
    return widest;
}

template const Kernels<float>* find_kernels<float>(const char*);
template const Kernels<double>* find_kernels<double>(const char*);
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace basalt::simd
