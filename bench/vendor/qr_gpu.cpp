#include "bench/vendor/qr_gpu.hpp"

#include <algorithm>
#include <type_traits>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include "bench/common/gpu_check.hpp"
#include "bench/common/gpu_memory.hpp"
#include "bench/vendor/cuda_type.hpp"

namespace bench {

using basalt::Index;

namespace {

template <class T>
std::unique_ptr<GpuMemory> on_gpu(const std::vector<T>& values) {
    auto memory = std::make_unique<GpuMemory>(values.size() * sizeof(T));
    check_cuda(cudaMemcpy(memory->data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
               "cudaMemcpy");
    return memory;
}

template <class T>
std::vector<double> from_gpu(const GpuMemory& memory, Index count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(values.data(), memory.data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost),
               "cudaMemcpy");
    return {values.begin(), values.end()};
}

}  // namespace

template <class T>
struct VendorQrGpu<T>::State {
    cusolverDnHandle_t solver = nullptr;
    cusolverDnParams_t params = nullptr;
    cublasHandle_t blas = nullptr;
    std::unique_ptr<GpuMemory> tau, info, workspace;
    std::vector<char> host_workspace;
    std::size_t workspace_bytes = 0;
};

template <class T>
VendorQrGpu<T>::VendorQrGpu() : state_(std::make_unique<State>()) {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cusolver(cusolverDnCreate(&state_->solver), "cusolverDnCreate");
    check_cusolver(cusolverDnCreateParams(&state_->params), "cusolverDnCreateParams");
    check_cublas(cublasCreate(&state_->blas), "cublasCreate");
}
template <class T>
VendorQrGpu<T>::~VendorQrGpu() {
    cusolverDnDestroyParams(state_->params);
    cusolverDnDestroy(state_->solver);
    cublasDestroy(state_->blas);
}

template <class T>
void VendorQrGpu<T>::prepare(Index m, Index n) {
    State& s = *state_;
    std::size_t host = 0;
    check_cusolver(cusolverDnXgeqrf_bufferSize(s.solver, s.params, m, n, type_of<T>, nullptr, m, type_of<T>, nullptr,
                                               type_of<T>, &s.workspace_bytes, &host),
                   "cusolverDnXgeqrf_bufferSize");
    s.workspace = nullptr;
    s.workspace = std::make_unique<GpuMemory>(s.workspace_bytes);
    s.host_workspace.resize(host);
    s.tau = std::make_unique<GpuMemory>(static_cast<std::size_t>(std::min(m, n)) * sizeof(T));
    s.info = std::make_unique<GpuMemory>(sizeof(int));
}

template <class T>
void VendorQrGpu<T>::geqrf(Index m, Index n, T* a) {
    State& s = *state_;
    check_cusolver(cusolverDnXgeqrf(s.solver, s.params, m, n, type_of<T>, a, m, type_of<T>, s.tau->data(), type_of<T>,
                                    s.workspace->data(), s.workspace_bytes, s.host_workspace.data(),
                                    s.host_workspace.size(), static_cast<int*>(s.info->data())),
                   "cusolverDnXgeqrf");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

namespace {

/// c = Q c for the k reflectors in the columns of a (rows x k, leading dimension ld).
template <class T>
void multiply(cusolverDnHandle_t solver, int ld, int rows, int k, const T* a, const T* tau, T* c) {
    int elements = 0;
    const auto sized = [&] {
        if constexpr (std::is_same_v<T, double>) {
            return cusolverDnDormqr_bufferSize(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, 1, k, a, ld, tau, c, rows,
                                               &elements);
        } else {
            return cusolverDnSormqr_bufferSize(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, 1, k, a, ld, tau, c, rows,
                                               &elements);
        }
    }();
    check_cusolver(sized, "cusolverDn<t>ormqr_bufferSize");
    const GpuMemory workspace(static_cast<std::size_t>(elements) * sizeof(T)), info(sizeof(int));
    auto* const work = static_cast<T*>(workspace.data());
    auto* const status = static_cast<int*>(info.data());
    const auto multiplied = [&] {
        if constexpr (std::is_same_v<T, double>) {
            return cusolverDnDormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, 1, k, a, ld, tau, c, rows, work,
                                    elements, status);
        } else {
            return cusolverDnSormqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_N, rows, 1, k, a, ld, tau, c, rows, work,
                                    elements, status);
        }
    }();
    check_cusolver(multiplied, "cusolverDn<t>ormqr");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace

template <class T>
std::vector<double> VendorQrGpu<T>::times(Index m, Index n, const T* a, const std::vector<double>& x) {
    const auto in = on_gpu(std::vector<T>(x.begin(), x.end()));
    const GpuMemory out(static_cast<std::size_t>(m) * sizeof(T));
    const T one = 1, zero = 0;
    const int rows = static_cast<int>(m), cols = static_cast<int>(n);
    cublasStatus_t status;
    if constexpr (std::is_same_v<T, double>) {
        status = cublasDgemv(state_->blas, CUBLAS_OP_N, rows, cols, &one, a, rows, static_cast<const T*>(in->data()), 1,
                             &zero, static_cast<T*>(out.data()), 1);
    } else {
        status = cublasSgemv(state_->blas, CUBLAS_OP_N, rows, cols, &one, a, rows, static_cast<const T*>(in->data()), 1,
                             &zero, static_cast<T*>(out.data()), 1);
    }
    check_cublas(status, "cublas<t>gemv");
    return from_gpu<T>(out, m);
}

template <class T>
std::vector<double> VendorQrGpu<T>::times_factors(Index m, Index n, const T* a, const std::vector<T>& tau,
                                                  const std::vector<double>& x) {
    State& s = *state_;
    std::vector<T> values(x.begin(), x.end());
    values.resize(static_cast<std::size_t>(m));
    const auto vector = on_gpu(values), numbers = on_gpu(tau);
    auto* const v = static_cast<T*>(vector->data());
    const auto* const t = static_cast<const T*>(numbers->data());
    const int rows = static_cast<int>(m), cols = static_cast<int>(n);
    cublasStatus_t triangle;
    if constexpr (std::is_same_v<T, double>) {
        triangle = cublasDtrmv(s.blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, cols, a, rows, v, 1);
    } else {
        triangle = cublasStrmv(s.blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, cols, a, rows, v, 1);
    }
    check_cublas(triangle, "cublas<t>trmv");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    // blocks of reflectors, the last one first, because cuSOLVER's sizes have 32 bits
    constexpr Index width = 1024;
    for (Index end = n; end > 0;) {
        const Index first = (end - 1) / width * width;
        multiply(s.solver, rows, static_cast<int>(m - first), static_cast<int>(end - first), a + first + first * m,
                 t + first, v + first);
        end = first;
    }
    return from_gpu<T>(*vector, m);
}

template class VendorQrGpu<float>;
template class VendorQrGpu<double>;

}  // namespace bench
