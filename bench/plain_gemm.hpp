#pragma once

#include <basalt/device.hpp>
#include <basalt/view.hpp>

namespace bench {

/// C -= A B on a GPU as a user would call it: one cublas<t>gemm on column-major arrays without gaps, C m x n,
/// A m x k, B k x n. For float and double.
template <class T>
void plain_gemm(basalt::Stream stream, basalt::Index m, basalt::Index n, basalt::Index k, const T* a, const T* b, T* c);

/// "cuBLAS 13.1.0", or that there is none.
const char* plain_gemm_version();

}  // namespace bench
