#pragma once

/// For code of the GPU's threads that is compiled for the host as well, so that tests can run it there.
#ifdef __CUDACC__
#define BASALT_DEVICE __device__ __forceinline__
#define BASALT_DEVICE_CALL __device__ __noinline__  // with registers of its own, and once in the program
#define BASALT_UNROLL _Pragma("unroll")
#define BASALT_ROLLED _Pragma("unroll 1")
#else
#define BASALT_DEVICE inline
#define BASALT_DEVICE_CALL inline
#define BASALT_UNROLL
#define BASALT_ROLLED
#endif

namespace basalt::cuda_detail {

/// The same number, hidden from the compiler: expressions of it are computed where they are used, and take no registers
/// before.
BASALT_DEVICE int recomputed(int number) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(number));
#endif
    return number;
}

/// The same address, which is in the GPU's memory on a GPU.
template <class T>
BASALT_DEVICE T* recomputed(T* global) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(global));
    __builtin_assume(__isGlobal(global));
#endif
    return global;
}

/// The same number, which the compiler computes here and not where it is needed.
BASALT_DEVICE double in_advance(double number) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+d"(number));
#endif
    return number;
}
BASALT_DEVICE float in_advance(float number) {
#ifdef __CUDA_ARCH__
    asm volatile("" : "+f"(number));
#endif
    return number;
}

}  // namespace basalt::cuda_detail
