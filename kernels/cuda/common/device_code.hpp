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
