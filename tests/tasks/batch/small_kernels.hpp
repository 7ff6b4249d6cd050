#pragma once

#include "kernels/cpu/simd/kernels.hpp"
#include "tests/common/catch.hpp"

namespace basalt_tests {

/// The table that has kernels of small matrices; nullptr on a processor without AVX-512.
template <class T>
const basalt::simd::Kernels<T>* small_kernels() {
    const basalt::simd::Kernels<T>* const kernels = basalt::simd::find_kernels<T>("avx512");
    if (kernels != nullptr) REQUIRE(kernels->small_order == 4 * kernels->lanes);
    return kernels;
}

}  // namespace basalt_tests
