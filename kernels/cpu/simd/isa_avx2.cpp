#include "kernels/cpu/simd/table.hpp"

namespace basalt::simd {

extern const Kernels<float> avx2_float;
extern const Kernels<double> avx2_double;

constexpr Kernels<float> avx2_float = make_table<float, 32, 6>("avx2");
constexpr Kernels<double> avx2_double = make_table<double, 32, 6>("avx2");

}  // namespace basalt::simd
