#pragma once

#include <cuda_runtime.h>

/// Maxima of numbers that are not negative, as integers: their bit patterns have the numbers' order, and NaN
/// lies above infinity. So a maximum by atomics has the same bits in any order, and NaN propagates.
namespace basalt::cuda_detail {

__device__ inline unsigned long long order_bits(double magnitude) {
    return static_cast<unsigned long long>(__double_as_longlong(magnitude));
}

__device__ inline double from_order_bits(unsigned long long bits) {
    return __longlong_as_double(static_cast<long long>(bits));
}

/// *target = max(*target, the number with these bits), atomically. *target is not negative, or a NaN from
/// here.
__device__ inline void raise_to(double* target, unsigned long long bits) {
    atomicMax(reinterpret_cast<unsigned long long*>(target), bits);
}

}  // namespace basalt::cuda_detail
