#pragma once

#include <memory>
#include <vector>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER's QR on GPU 0, column-major. All members wait for the GPU.
template <class T>
class VendorQrGpu {
  public:
    VendorQrGpu();
    ~VendorQrGpu();
    VendorQrGpu(const VendorQrGpu&) = delete;
    VendorQrGpu& operator=(const VendorQrGpu&) = delete;

    /// Allocates for the factorization of an m x n matrix, so that no timed call allocates.
    void prepare(basalt::Index m, basalt::Index n);
    /// cusolverDnXgeqrf in place. Call prepare() before.
    void geqrf(basalt::Index m, basalt::Index n, T* a);
    /// A x, and Q R x by cuSOLVER's ormqr with LAPACK's factors, ours or the vendor's. The matrix is m x n with m >= n
    /// in the GPU's memory; x has n elements.
    std::vector<double> times(basalt::Index m, basalt::Index n, const T* a, const std::vector<double>& x);
    std::vector<double> times_factors(basalt::Index m, basalt::Index n, const T* a, const std::vector<T>& tau,
                                      const std::vector<double>& x);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
