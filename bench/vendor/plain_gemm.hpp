#pragma once

#include <basalt/device.hpp>
#include <basalt/view.hpp>

namespace bench {

/// C -= A B on a GPU as a user calls it: one cublas<t>gemm on column-major arrays without gaps, where C is m x n, A m x
/// k and B k x n. For float and double.
template <class T>
void plain_gemm(basalt::Stream stream, basalt::Index m, basalt::Index n, basalt::Index k, const T* a, const T* b, T* c);

/// Name and version, for example "cuBLAS 13.1.0"; without CUDA a text that says so.
const char* plain_gemm_version();

}  // namespace bench
