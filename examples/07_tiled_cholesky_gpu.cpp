// The GPU's side of 07_tiled_cholesky: cuBLAS on the stream that the runtime hands over.
#include <basalt/device.hpp>
#include <basalt/view.hpp>

#include <cublas_v2.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <type_traits>

using In = basalt::View<const double>;
using InOut = basalt::View<double>;

namespace {

void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

struct Destroy {
    void operator()(cublasHandle_t handle) const { cublasDestroy(handle); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<cublasHandle_t>, Destroy>;

/// The calling thread's handle for the stream's device, which is current.
cublasHandle_t handle_on(basalt::Stream stream) {
    thread_local std::map<int, Handle> handles;
    Handle& handle = handles[stream.device()];
    if (handle == nullptr) {
        cublasHandle_t created = nullptr;
        check(cublasCreate(&created));
        handle.reset(created);
    }
    check(cublasSetStream(handle.get(), static_cast<cudaStream_t>(stream.native())));
    return handle.get();
}

}  // namespace

void trsm_on_gpu(basalt::Stream stream, int n, In l, InOut a) {
    const double one = 1;
    check(cublasDtrsm(handle_on(stream), CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, CUBLAS_DIAG_NON_UNIT,
                      n, n, &one, l.data(), n, a.data(), n));
}

void gemm_on_gpu(basalt::Stream stream, int n, In a, In b, InOut c) {
    const double minus_one = -1, one = 1;
    check(cublasDgemm(handle_on(stream), CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &minus_one, a.data(), n, b.data(), n, &one,
                      c.data(), n));
}
