#pragma once

#include <memory>
#include <vector>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER's QR on GPU 0, column-major. Members wait for the GPU.
template <class T>
class VendorQrGpu {
  public:
    VendorQrGpu();
    ~VendorQrGpu();
    VendorQrGpu(const VendorQrGpu&) = delete;
    VendorQrGpu& operator=(const VendorQrGpu&) = delete;

    /// Room for the factorization of an m x n matrix, so that no timed call allocates.
    void prepare(basalt::Index m, basalt::Index n);
    /// cusolverDnXgeqrf in place; prepared before.
    void geqrf(basalt::Index m, basalt::Index n, T* a);
    /// A x, and Q R x by cuSOLVER's ormqr with factors of anybody's; the matrix is m x n, m >= n, in the
    /// GPU's memory, x has n elements.
    std::vector<double> times(basalt::Index m, basalt::Index n, const T* a, const std::vector<double>& x);
    std::vector<double> times_factors(basalt::Index m, basalt::Index n, const T* a, const std::vector<T>& tau,
                                      const std::vector<double>& x);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
