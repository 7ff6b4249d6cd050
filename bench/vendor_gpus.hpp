#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiles/dealt_columns.hpp"

namespace bench {

/// "cuSOLVERMg 12.0.4" and the like; empty where it was not found when this was built. Its version is
/// cuSOLVER's.
std::string vendor_gpus_version();

/// cuSOLVERMg, cuSOLVER for several GPUs of a host, on GPUs 0 .. gpus - 1. It needs each of them to reach
/// each other one: peer access is enabled where it is not yet, and stays. Throws std::runtime_error, with the
/// call that failed.
class VendorGpus {
  public:
    explicit VendorGpus(int gpus);
    ~VendorGpus();
    VendorGpus(const VendorGpus&) = delete;
    VendorGpus& operator=(const VendorGpus&) = delete;

    struct State;
    State& state() const { return *state_; }

  private:
    std::unique_ptr<State> state_;
};

/// cusolverMgGetrf of a square matrix, in place: its columns are dealt to all of the vendor's GPUs. The
/// workspace is there from the constructor to the destructor. Throws std::bad_alloc, std::runtime_error.
template <class T>
class VendorLuGpus {
  public:
    VendorLuGpus(const VendorGpus& vendor, const basalt::DealtView<T>& a);
    ~VendorLuGpus();
    VendorLuGpus(const VendorLuGpus&) = delete;
    VendorLuGpus& operator=(const VendorLuGpus&) = delete;

    /// Once; returns seconds, from all GPUs idle to all GPUs idle. INFO is in info().
    double factor();
    int info() const;
    /// LAPACK's, counted from 1.
    std::vector<basalt::Index> pivots() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// cusolverMgPotrf of the lower triangle, likewise.
template <class T>
class VendorCholeskyGpus {
  public:
    VendorCholeskyGpus(const VendorGpus& vendor, const basalt::DealtView<T>& a);
    ~VendorCholeskyGpus();
    VendorCholeskyGpus(const VendorCholeskyGpus&) = delete;
    VendorCholeskyGpus& operator=(const VendorCholeskyGpus&) = delete;

    double factor();
    int info() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace bench
