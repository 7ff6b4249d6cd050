// The GPU's side of 07_tiled_cholesky: cuBLAS on the stream that the runtime hands over, with the stream's own handle.
#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include <cublas_v2.h>

#include <stdexcept>

using In = basalt::View<const double>;
using InOut = basalt::View<double>;

namespace {

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

cublasHandle_t handle_of(basalt::Stream stream) { return static_cast<cublasHandle_t>(stream.blas()); }

}  // namespace

void trsm_on_gpu(basalt::Stream stream, int n, In l, InOut a) {
    const double one = 1;
    check(cublasDtrsm(handle_of(stream), CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT,
                      n, n, &one, l.data(), n, a.data(), n));
}

void gemm_on_gpu(basalt::Stream stream, int n, In a, In b, InOut c) {
    const double minus_one = -1, one = 1;
    check(cublasDgemm(handle_of(stream), CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &minus_one, a.data(), n, b.data(), n, &one,
                      c.data(), n));
}
