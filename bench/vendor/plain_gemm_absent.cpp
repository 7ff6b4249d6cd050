// Replaces plain_gemm_cuda.cpp in builds without CUDA.
#include "bench/vendor/plain_gemm.hpp"

#include <stdexcept>

namespace bench {

using basalt::Index;

template <class T>
void plain_gemm(basalt::Stream, Index, Index, Index, const T*, const T*, T*) {
    throw std::runtime_error("this build has no cuBLAS");
}

const char* plain_gemm_version() { return "no cuBLAS in this build"; }

template void plain_gemm<float>(basalt::Stream, Index, Index, Index, const float*, const float*, float*);
template void plain_gemm<double>(basalt::Stream, Index, Index, Index, const double*, const double*, double*);

}  // namespace bench
