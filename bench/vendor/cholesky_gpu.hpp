#pragma once

#include <memory>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER's Cholesky of the lower triangle on GPU 0, column-major. All members wait for the GPU.
template <class T>
class VendorCholeskyGpu {
  public:
    VendorCholeskyGpu();
    ~VendorCholeskyGpu();
    VendorCholeskyGpu(const VendorCholeskyGpu&) = delete;
    VendorCholeskyGpu& operator=(const VendorCholeskyGpu&) = delete;

    /// Allocates for the factorization of a matrix of order n, so that no timed call allocates.
    void prepare(basalt::Index n);
    /// cusolverDnXpotrf in place. Call prepare() before.
    void potrf(basalt::Index n, T* a);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
