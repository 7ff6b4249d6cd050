#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <cuda_runtime_api.h>

#include "bench/common/gpu_check.hpp"
#include "runtime/device/device.hpp"

namespace bench {

/// An array in a GPU's memory.
template <class T>
class DeviceArray {
  public:
    DeviceArray(basalt::detail::Device& device, std::size_t count)
        : device_(device),
          count_(count),
          data_(static_cast<T*>(device.allocate(std::max<std::size_t>(count, 1) * sizeof(T)))) {}
    DeviceArray(basalt::detail::Device& device, const std::vector<T>& values) : DeviceArray(device, values.size()) {
        check_cuda(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    ~DeviceArray() { device_.release(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() const { return data_; }
    std::size_t bytes() const { return count_ * sizeof(T); }
    std::vector<T> read() const {
        std::vector<T> values(count_);
        check_cuda(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return values;
    }

  private:
    basalt::detail::Device& device_;
    std::size_t count_;
    T* data_;
};

/// Random numbers, uniform in [-0.5, 0.5).
template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(count);
    for (T& x : values) x = static_cast<T>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
    return values;
}

}  // namespace bench
