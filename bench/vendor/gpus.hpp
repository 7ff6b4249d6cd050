#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tiles/dealt_columns.hpp"

namespace bench {

/// Name and version, for example "cuSOLVERMg 12.0.4" (the version is cuSOLVER's); empty in builds without it.
std::string vendor_gpus_version();

/// cuSOLVERMg, cuSOLVER for several GPUs of a host, on GPUs 0 .. gpus - 1. It needs peer access between
/// all of them, which the constructor enables and nothing disables. Throws std::runtime_error with the call that
/// failed.
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

/// cusolverMgGetrf of a square matrix in place, whose columns are dealt to all of the vendor's GPUs. The constructor
/// allocates the workspace. Throws std::bad_alloc, std::runtime_error.
template <class T>
class VendorLuGpus {
  public:
    VendorLuGpus(const VendorGpus& vendor, const basalt::DealtView<T>& a);
    ~VendorLuGpus();
    VendorLuGpus(const VendorLuGpus&) = delete;
    VendorLuGpus& operator=(const VendorLuGpus&) = delete;

    /// Call it once. Returns the seconds between two moments at which all GPUs are idle; info() holds INFO.
    double factor();
    int info() const;
    /// LAPACK's pivots, counted from 1.
    std::vector<basalt::Index> pivots() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// cusolverMgPotrf of the lower triangle, with the same rules.
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
