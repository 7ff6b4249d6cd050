#include "kernels/cpu/simd/table.hpp"

namespace basalt::simd {

extern const Kernels<float> generic_float;
extern const Kernels<double> generic_double;

constexpr Kernels<float> generic_float = make_table<float, 16, 6>("generic");
constexpr Kernels<double> generic_double = make_table<double, 16, 6>("generic");

}  // namespace basalt::simd
