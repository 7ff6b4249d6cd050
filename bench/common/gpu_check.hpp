#pragma once

namespace bench {

/// Throw unless the status is success: std::bad_alloc when memory ran out, otherwise std::runtime_error with the call
/// and the meaning of its status. The statuses are the enumerators of CUDA, cuBLAS and cuSOLVER.
void check_cuda(int status, const char* call);
void check_cublas(int status, const char* call);
void check_cusolver(int status, const char* call);

}  // namespace bench
