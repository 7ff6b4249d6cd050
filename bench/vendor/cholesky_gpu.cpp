#include "bench/vendor/cholesky_gpu.hpp"

#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include "bench/common/gpu_check.hpp"
#include "bench/common/gpu_memory.hpp"
#include "bench/vendor/cuda_type.hpp"

namespace bench {

using basalt::Index;

template <class T>
struct VendorCholeskyGpu<T>::State {
    cusolverDnHandle_t solver = nullptr;
    cusolverDnParams_t params = nullptr;
    std::unique_ptr<GpuMemory> info, workspace;
    std::vector<char> host_workspace;
    std::size_t workspace_bytes = 0;
};

template <class T>
VendorCholeskyGpu<T>::VendorCholeskyGpu() : state_(std::make_unique<State>()) {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cusolver(cusolverDnCreate(&state_->solver), "cusolverDnCreate");
    check_cusolver(cusolverDnCreateParams(&state_->params), "cusolverDnCreateParams");
}
template <class T>
VendorCholeskyGpu<T>::~VendorCholeskyGpu() {
    cusolverDnDestroyParams(state_->params);
    cusolverDnDestroy(state_->solver);
}

template <class T>
void VendorCholeskyGpu<T>::prepare(Index n) {
    State& s = *state_;
    std::size_t host = 0;
    check_cusolver(cusolverDnXpotrf_bufferSize(s.solver, s.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, nullptr, n,
                                               type_of<T>, &s.workspace_bytes, &host),
                   "cusolverDnXpotrf_bufferSize");
    s.workspace = nullptr;
    s.workspace = std::make_unique<GpuMemory>(s.workspace_bytes);
    s.host_workspace.resize(host);
    s.info = std::make_unique<GpuMemory>(sizeof(int));
}

template <class T>
void VendorCholeskyGpu<T>::potrf(Index n, T* a) {
    State& s = *state_;
    check_cusolver(cusolverDnXpotrf(s.solver, s.params, CUBLAS_FILL_MODE_LOWER, n, type_of<T>, a, n, type_of<T>,
                                    s.workspace->data(), s.workspace_bytes, s.host_workspace.data(),
                                    s.host_workspace.size(), static_cast<int*>(s.info->data())),
                   "cusolverDnXpotrf");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

template class VendorCholeskyGpu<float>;
template class VendorCholeskyGpu<double>;

}  // namespace bench
