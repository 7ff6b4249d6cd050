#pragma once

namespace bench {

/// Throw std::runtime_error with the call and what its status means where it is not success; std::bad_alloc
/// for want of memory. The statuses are CUDA's, cuBLAS's and cuSOLVER's enumerators.
void check_cuda(int status, const char* call);
void check_cublas(int status, const char* call);
void check_cusolver(int status, const char* call);

}  // namespace bench
