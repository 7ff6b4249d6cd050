#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>
#include <basalt/device.hpp>

/// What the benches of batches on GPU 0 share: memory, and a stream whose work is timed.
namespace bench {

inline void require_cuda(cudaError_t status, const char* call) {
    if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
inline void require_blas(cublasStatus_t status, const char* call) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(status));
}

inline void require_solver(cusolverStatus_t status, const char* call) {
    if (status != CUSOLVER_STATUS_SUCCESS) throw std::runtime_error(std::string(call) + ": " + std::to_string(status));
}

/// Elements in the GPU's memory.
template <class T>
class OnGpu {
  public:
    explicit OnGpu(std::size_t size) : size_(size) {
        require_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(1, size) * sizeof(T)),
                     "cudaMalloc");
    }
    explicit OnGpu(const std::vector<T>& values) : OnGpu(values.size()) { write(values); }
    ~OnGpu() { cudaFree(data_); }
    OnGpu(const OnGpu&) = delete;
    OnGpu& operator=(const OnGpu&) = delete;

    T* data() const { return data_; }
    std::size_t size() const { return size_; }
    void write(const std::vector<T>& values) {
        require_cuda(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    std::vector<T> read() const { return head(size_); }
    /// The first elements.
    std::vector<T> head(std::size_t size) const {
        std::vector<T> values(std::min(size, size_));
        require_cuda(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }

  private:
    std::size_t size_;
    T* data_ = nullptr;
};

/// A stream with cuBLAS, cuSOLVER and two events, for as long as the bench runs.
struct TimedStream {
    cudaStream_t stream;
    cublasHandle_t blas = nullptr;
    cusolverDnHandle_t solver = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    basalt::BorrowedStream borrowed;

    TimedStream() : stream(make_stream()), borrowed(stream) {
        require_blas(cublasCreate(&blas), "cublasCreate");
        require_blas(cublasSetStream(blas, stream), "cublasSetStream");
        require_solver(cusolverDnCreate(&solver), "cusolverDnCreate");
        require_solver(cusolverDnSetStream(solver, stream), "cusolverDnSetStream");
        require_cuda(cudaEventCreate(&begin), "cudaEventCreate");
        require_cuda(cudaEventCreate(&end), "cudaEventCreate");
    }

    void wait() const { require_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

    /// Milliseconds of what `work` enqueues.
    template <class Work>
    double milliseconds(const Work& work) const {
        require_cuda(cudaEventRecord(begin, stream), "cudaEventRecord");
        work();
        require_cuda(cudaEventRecord(end, stream), "cudaEventRecord");
        wait();
        float time = 0;
        require_cuda(cudaEventElapsedTime(&time, begin, end), "cudaEventElapsedTime");
        return static_cast<double>(time);
    }

  private:
    static cudaStream_t make_stream() {
        cudaStream_t made = nullptr;
        require_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreate");
        return made;
    }
};

inline double middle(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace bench
