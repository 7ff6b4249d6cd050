#include "bench/vendor_cholesky_gpu.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include "bench/vendor_gpu.hpp"

namespace bench {

using basalt::Index;

namespace {

void check(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(cudaGetLastError()));
}

template <class T>
constexpr cudaDataType_t type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// A vector of doubles as elements in the GPU's memory, and back.
template <class T>
class GpuVector {
  public:
    explicit GpuVector(const std::vector<double>& x)
        : values_(x.begin(), x.end()), memory_(values_.size() * sizeof(T)) {
        check(cudaMemcpy(memory_.data(), values_.data(), values_.size() * sizeof(T), cudaMemcpyHostToDevice) ==
                  cudaSuccess,
              "cudaMemcpy");
    }
    T* data() const { return static_cast<T*>(memory_.data()); }
    std::vector<double> read() {
        check(cudaMemcpy(values_.data(), memory_.data(), values_.size() * sizeof(T), cudaMemcpyDeviceToHost) ==
                  cudaSuccess,
              "cudaMemcpy");
        return {values_.begin(), values_.end()};
    }

  private:
    std::vector<T> values_;
    GpuMemory memory_;
};

}  // namespace

template <class T>
struct VendorCholeskyGpu<T>::State {
    cusolverDnHandle_t solver = nullptr;
    cusolverDnParams_t params = nullptr;
    cublasHandle_t blas = nullptr;
    std::unique_ptr<GpuMemory> info, workspace;
    std::vector<char> host_workspace;
    std::size_t workspace_bytes = 0;
};

template <class T>
VendorCholeskyGpu<T>::VendorCholeskyGpu() : state_(std::make_unique<State>()) {
    check(cudaSetDevice(0) == cudaSuccess, "cudaSetDevice");
    check(cusolverDnCreate(&state_->solver) == CUSOLVER_STATUS_SUCCESS, "cusolverDnCreate");
    check(cusolverDnCreateParams(&state_->params) == CUSOLVER_STATUS_SUCCESS, "cusolverDnCreateParams");
    check(cublasCreate(&state_->blas) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
}
template <class T>
VendorCholeskyGpu<T>::~VendorCholeskyGpu() {
    cusolverDnDestroyParams(state_->params);
    cusolverDnDestroy(state_->solver);
    cublasDestroy(state_->blas);
}

template <class T>
void VendorCholeskyGpu<T>::prepare(Index n) {
    State& s = *state_;
    std::size_t host = 0;
    check(cusolverDnXpotrf_bufferSize(s.solver, s.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, nullptr, n, type_of<T>,
                                      &s.workspace_bytes, &host) == CUSOLVER_STATUS_SUCCESS,
          "cusolverDnXpotrf_bufferSize");
    s.workspace = nullptr;
    s.workspace = std::make_unique<GpuMemory>(s.workspace_bytes);
    s.host_workspace.resize(host);
    s.info = std::make_unique<GpuMemory>(sizeof(int));
}

template <class T>
void VendorCholeskyGpu<T>::potrf(Index n, T* a) {
    State& s = *state_;
    check(cusolverDnXpotrf(s.solver, s.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, a, n, type_of<T>,
                           s.workspace->data(), s.workspace_bytes, s.host_workspace.data(), s.host_workspace.size(),
                           static_cast<int*>(s.info->data())) == CUSOLVER_STATUS_SUCCESS,
          "cusolverDnXpotrf");
    check(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
}

template <class T>
std::vector<double> VendorCholeskyGpu<T>::times(Index n, const T* a, const std::vector<double>& x) {
    const GpuVector<T> in(x);
    GpuVector<T> out(x);
    const T one = 1, zero = 0;
    const int order = static_cast<int>(n);
    cublasStatus_t status;
    if constexpr (std::is_same_v<T, double>) {
        status = cublasDsymv(state_->blas, CUBLAS_FILL_MODE_LOWER, order, &one, a, order, in.data(), 1, &zero,
                             out.data(), 1);
    } else {
        status = cublasSsymv(state_->blas, CUBLAS_FILL_MODE_LOWER, order, &one, a, order, in.data(), 1, &zero,
                             out.data(), 1);
    }
    check(status == CUBLAS_STATUS_SUCCESS, "cublas<t>symv");
    return out.read();
}

template <class T>
std::vector<double> VendorCholeskyGpu<T>::times_factors(Index n, const T* l, const std::vector<double>& x) {
    GpuVector<T> v(x);
    const int order = static_cast<int>(n);
    for (const cublasOperation_t operation : {CUBLAS_OP_T, CUBLAS_OP_N}) {
        cublasStatus_t status;
        if constexpr (std::is_same_v<T, double>) {
            status = cublasDtrmv(state_->blas, CUBLAS_FILL_MODE_LOWER, operation, CUBLAS_DIAG_NON_UNIT, order, l, order,
                                 v.data(), 1);
        } else {
            status = cublasStrmv(state_->blas, CUBLAS_FILL_MODE_LOWER, operation, CUBLAS_DIAG_NON_UNIT, order, l, order,
                                 v.data(), 1);
        }
        check(status == CUBLAS_STATUS_SUCCESS, "cublas<t>trmv");
    }
    return v.read();
}

template class VendorCholeskyGpu<float>;
template class VendorCholeskyGpu<double>;

}  // namespace bench
