#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER and cuBLAS on GPU 0, column-major. Members wait for the GPU.
template <class T>
class VendorGpu {
  public:
    VendorGpu();
    ~VendorGpu();
    VendorGpu(const VendorGpu&) = delete;
    VendorGpu& operator=(const VendorGpu&) = delete;

    /// Room for factorizations of order n, so that no timed call allocates.
    void prepare(basalt::Index n);
    /// cusolverDnXgetrf in place; returns seconds.
    double getrf(basalt::Index n, T* a);
    /// C -= A B with n x n C and k between, on operands of its own; returns seconds.
    double gemm(basalt::Index n, basalt::Index k);
    void to_gpu(void* to, const void* from, std::size_t bytes);
    void to_host(void* to, const void* from, std::size_t bytes);
    double synchronized_now();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// "cuSOLVER 12.0.4" and the like.
std::string vendor_gpu_version();

/// Host memory for copies at full speed. Throws std::bad_alloc.
void* allocate_pinned(std::size_t bytes);
void free_pinned(void* memory);

}  // namespace bench
