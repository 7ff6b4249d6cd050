#include "bench/vendor/plain_gemm.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

#include <cublas_v2.h>

#include "kernels/cpu/blas/blas.hpp"

namespace bench {

using basalt::Index;

template <class T>
void plain_gemm(basalt::Stream stream, Index m, Index n, Index k, const T* a, const T* b, T* c) {
    const auto handle = static_cast<cublasHandle_t>(stream.blas());
    const int rows = basalt::blas::blas_int(m), cols = basalt::blas::blas_int(n), depth = basalt::blas::blas_int(k);
    const T minus_one{-1}, one{1};
    const cublasStatus_t status = [&] {
        if constexpr (std::is_same_v<T, float>) {
            return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, cols, depth, &minus_one, a, rows, b, depth, &one,
                               c, rows);
        } else {
            return cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, rows, cols, depth, &minus_one, a, rows, b, depth, &one,
                               c, rows);
        }
    }();
    if (status != CUBLAS_STATUS_SUCCESS) {
        throw std::runtime_error(std::string("cublas<t>gemm: ") + cublasGetStatusName(status));
    }
}

const char* plain_gemm_version() {
    static const std::string version = [] {
        const auto part = [](libraryPropertyType type) {
            int value = 0;
            cublasGetProperty(type, &value);
            return std::to_string(value);
        };
        return "cuBLAS " + part(MAJOR_VERSION) + "." + part(MINOR_VERSION) + "." + part(PATCH_LEVEL);
    }();
    return version.c_str();
}

template void plain_gemm<float>(basalt::Stream, Index, Index, Index, const float*, const float*, float*);
template void plain_gemm<double>(basalt::Stream, Index, Index, Index, const double*, const double*, double*);

}  // namespace bench
