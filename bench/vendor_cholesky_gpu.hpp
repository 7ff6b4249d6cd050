#pragma once

#include <memory>
#include <vector>

#include <basalt/view.hpp>

namespace bench {

/// cuSOLVER's Cholesky of the lower triangle on GPU 0, column-major. Members wait for the GPU.
template <class T>
class VendorCholeskyGpu {
  public:
    VendorCholeskyGpu();
    ~VendorCholeskyGpu();
    VendorCholeskyGpu(const VendorCholeskyGpu&) = delete;
    VendorCholeskyGpu& operator=(const VendorCholeskyGpu&) = delete;

    /// Room for the factorization of a matrix of order n, so that no timed call allocates.
    void prepare(basalt::Index n);
    /// cusolverDnXpotrf in place; prepared before.
    void potrf(basalt::Index n, T* a);
    /// A x for the symmetric A of a lower triangle, and L L^T x for a factor of anybody's; both n x n in the GPU's
    /// memory.
    std::vector<double> times(basalt::Index n, const T* a, const std::vector<double>& x);
    std::vector<double> times_factors(basalt::Index n, const T* l, const std::vector<double>& x);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
