#include "kernels/cpu/simd/kernels.hpp"

#include <string_view>

#include "base/instruction_set.hpp"

namespace basalt::simd {

// Defined by isa_*.cpp.
extern const Kernels<float> avx512_float, avx2_float, generic_float;
extern const Kernels<double> avx512_double, avx2_double, generic_double;

template <class T>
const Kernels<T>* find_kernels(const char* name) {
    if (!runs_instruction_set(name)) return nullptr;
    const auto choose = [](const Kernels<float>* f, const Kernels<double>* d) -> const Kernels<T>* {
        if constexpr (sizeof(T) == sizeof(float)) {
            return f;
        } else {
            return d;
        }
    };
#if defined(__x86_64__)
    if (std::string_view(name) == "avx512") return choose(&avx512_float, &avx512_double);
    if (std::string_view(name) == "avx2") return choose(&avx2_float, &avx2_double);
#endif
    return choose(&generic_float, &generic_double);
}

template <class T>
const Kernels<T>& kernels() {
    static const Kernels<T>& widest = *find_kernels<T>(widest_instruction_set());
    return widest;
}

template const Kernels<float>* find_kernels<float>(const char*);
template const Kernels<double>* find_kernels<double>(const char*);
template const Kernels<float>& kernels<float>();
template const Kernels<double>& kernels<double>();

}  // namespace basalt::simd
