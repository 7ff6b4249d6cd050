#include "bench/vendor/gpu.hpp"

#include <type_traits>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include "bench/common/clock.hpp"
#include "bench/common/gpu_check.hpp"
#include "bench/common/gpu_memory.hpp"
#include "bench/vendor/cuda_type.hpp"

namespace bench {

using basalt::Index;

template <class T>
struct VendorGpu<T>::State {
    cusolverDnHandle_t solver = nullptr;
    cusolverDnParams_t params = nullptr;
    cublasHandle_t blas = nullptr;
    std::unique_ptr<GpuMemory> pivots, info, workspace, gemm_a, gemm_b, gemm_c, x, y;
    std::vector<char> host_workspace;
    std::size_t workspace_bytes = 0;
    Index prepared = 0;
    Index gemm_n = 0, gemm_k = 0;
};

template <class T>
VendorGpu<T>::VendorGpu() : state_(std::make_unique<State>()) {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cusolver(cusolverDnCreate(&state_->solver), "cusolverDnCreate");
    check_cusolver(cusolverDnCreateParams(&state_->params), "cusolverDnCreateParams");
    check_cublas(cublasCreate(&state_->blas), "cublasCreate");
}
template <class T>
VendorGpu<T>::~VendorGpu() {
    cusolverDnDestroyParams(state_->params);
    cusolverDnDestroy(state_->solver);
    cublasDestroy(state_->blas);
}

template <class T>
double VendorGpu<T>::synchronized_now() {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return now();
}

template <class T>
void VendorGpu<T>::prepare(Index n) {
    State& s = *state_;
    std::size_t host = 0;
    check_cusolver(cusolverDnXgetrf_bufferSize(s.solver, s.params, n, n, type_of<T>, nullptr, n, type_of<T>,
                                               &s.workspace_bytes, &host),
                   "cusolverDnXgetrf_bufferSize");
    s.workspace = nullptr;
    s.workspace = std::make_unique<GpuMemory>(s.workspace_bytes);
    s.host_workspace.resize(host);
    s.pivots = std::make_unique<GpuMemory>(static_cast<std::size_t>(n) * sizeof(std::int64_t));
    s.info = std::make_unique<GpuMemory>(sizeof(int));
    s.prepared = n;
}

template <class T>
double VendorGpu<T>::getrf(Index n, T* a) {
    State& s = *state_;
    if (s.prepared != n) prepare(n);
    const double start = synchronized_now();
    check_cusolver(
        cusolverDnXgetrf(s.solver, s.params, n, n, type_of<T>, a, n, static_cast<std::int64_t*>(s.pivots->data()),
                         type_of<T>, s.workspace->data(), s.workspace_bytes, s.host_workspace.data(),
                         s.host_workspace.size(), static_cast<int*>(s.info->data())),
        "cusolverDnXgetrf");
    return synchronized_now() - start;
}

template <class T>
double VendorGpu<T>::gemm(Index n, Index k) {
    State& s = *state_;
    if (s.gemm_n != n || s.gemm_k != k) {
        const auto bytes = [](Index rows, Index cols) { return static_cast<std::size_t>(rows * cols) * sizeof(T); };
        s.gemm_a = std::make_unique<GpuMemory>(bytes(n, k));
        s.gemm_b = std::make_unique<GpuMemory>(bytes(k, n));
        s.gemm_c = std::make_unique<GpuMemory>(bytes(n, n));
        std::vector<T> values(static_cast<std::size_t>(n * k));  // products of zeros would be faster
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<T>((i * 2654435761U % 1000) * 1e-3 - 0.5);
        to_gpu(s.gemm_a->data(), values.data(), bytes(n, k));
        to_gpu(s.gemm_b->data(), values.data(), bytes(k, n));
        for (Index row = 0; row + k <= n; row += k) {
            to_gpu(static_cast<T*>(s.gemm_c->data()) + row * n, values.data(), bytes(n, k));
        }
        s.gemm_n = n;
        s.gemm_k = k;
    }
    const T minus = -1, one = 1;
    const auto* a = static_cast<const T*>(s.gemm_a->data());
    const auto* b = static_cast<const T*>(s.gemm_b->data());
    auto* c = static_cast<T*>(s.gemm_c->data());
    const int size = static_cast<int>(n), depth = static_cast<int>(k);
    const double start = synchronized_now();
    if constexpr (std::is_same_v<T, double>) {
        check_cublas(
            cublasDgemm(s.blas, CUBLAS_OP_N, CUBLAS_OP_N, size, size, depth, &minus, a, size, b, depth, &one, c, size),
            "cublasDgemm");
    } else {
        check_cublas(
            cublasSgemm(s.blas, CUBLAS_OP_N, CUBLAS_OP_N, size, size, depth, &minus, a, size, b, depth, &one, c, size),
            "cublasSgemm");
    }
    return synchronized_now() - start;
}

template <class T>
void VendorGpu<T>::to_gpu(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}
template <class T>
void VendorGpu<T>::to_host(void* to, const void* from, std::size_t bytes) {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

std::string vendor_gpu_version() {
    int major = 0, minor = 0, patch = 0;
    cusolverGetProperty(MAJOR_VERSION, &major);
    cusolverGetProperty(MINOR_VERSION, &minor);
    cusolverGetProperty(PATCH_LEVEL, &patch);
    return "cuSOLVER " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

void* allocate_pinned(std::size_t bytes) {
    void* memory = nullptr;
    check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
}
void free_pinned(void* memory) { cudaFreeHost(memory); }

template class VendorGpu<float>;
template class VendorGpu<double>;

}  // namespace bench
