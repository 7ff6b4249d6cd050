#pragma once

#include <type_traits>

#include <library_types.h>

namespace bench {

/// How CUDA's libraries name double and float.
template <class T>
inline constexpr cudaDataType_t type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

}  // namespace bench
