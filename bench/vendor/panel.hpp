#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include <cusolverDn.h>

#include "bench/common/device_array.hpp"
#include "bench/common/gpu_check.hpp"
#include "bench/common/stream_event.hpp"

namespace bench {

/// cuSOLVER's getrf of m x n matrices, column-major without gaps.
template <class T>
class VendorPanel {
  public:
    using Index = basalt::Index;

    VendorPanel(basalt::detail::Device& device, Index m, Index n) : m_(m), n_(n), info_(device, 1) {
        check_cusolver(cusolverDnCreate(&solver_), "cusolverDnCreate");
        check_cusolver(cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
        std::size_t host = 0;
        check_cusolver(cusolverDnXgetrf_bufferSize(solver_, params_, m, n, type, nullptr, m, type, &bytes_, &host),
                       "cusolverDnXgetrf_bufferSize");
        workspace_.emplace(device, bytes_);
        host_workspace_.resize(host);
    }
    ~VendorPanel() {
        cusolverDnDestroyParams(params_);
        cusolverDnDestroy(solver_);
    }
    VendorPanel(const VendorPanel&) = delete;
    VendorPanel& operator=(const VendorPanel&) = delete;

    /// Pivots count from 1.
    void factor(basalt::Stream stream, T* a, Index* pivots) {
        check_cusolver(cusolverDnSetStream(solver_, native_stream(stream)), "cusolverDnSetStream");
        check_cusolver(cusolverDnXgetrf(solver_, params_, m_, n_, type, a, m_, pivots, type, workspace_->data(), bytes_,
                                        host_workspace_.data(), host_workspace_.size(), info_.data()),
                       "cusolverDnXgetrf");
    }

  private:
    static constexpr cudaDataType_t type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
    const Index m_, n_;
    cusolverDnHandle_t solver_ = nullptr;
    cusolverDnParams_t params_ = nullptr;
    DeviceArray<int> info_;
    std::size_t bytes_ = 0;
    std::optional<DeviceArray<char>> workspace_;
    std::vector<char> host_workspace_;
};

}  // namespace bench
