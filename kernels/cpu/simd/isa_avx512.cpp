#include "kernels/cpu/simd/table.hpp"

namespace basalt::simd {

extern const Kernels<float> avx512_float;
extern const Kernels<double> avx512_double;

constexpr Kernels<float> avx512_float = make_table<float, 64, 12>("avx512");
constexpr Kernels<double> avx512_double = make_table<double, 64, 12>("avx512");

}  // namespace basalt::simd
