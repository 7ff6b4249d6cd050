#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER and cuBLAS on GPU 0, column-major. All members wait for the GPU.
template <class T>
class VendorGpu {
  public:
    VendorGpu();
    ~VendorGpu();
    VendorGpu(const VendorGpu&) = delete;
    VendorGpu& operator=(const VendorGpu&) = delete;

    /// Allocates for factorizations of order n, so that no timed call allocates.
    void prepare(basalt::Index n);
    /// cusolverDnXgetrf in place; returns seconds.
    double getrf(basalt::Index n, T* a);
    /// C -= A B on operands of its own, where C is n x n and A is n x k; returns seconds.
    double gemm(basalt::Index n, basalt::Index k);
    void to_gpu(void* to, const void* from, std::size_t bytes);
    void to_host(void* to, const void* from, std::size_t bytes);
    double synchronized_now();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Name and version, for example "cuSOLVER 12.0.4".
std::string vendor_gpu_version();

/// Pinned host memory, for copies at full speed. Throws std::bad_alloc.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory);

}  // namespace bench
