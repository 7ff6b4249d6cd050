#pragma once

#include <utility>
#include <vector>

namespace basalt_tests {

/// An array in an emulated GPU's memory, which is anybody's.
template <class T>
class HostArray {
  public:
    explicit HostArray(std::vector<T> values) : values_(std::move(values)) {}
    T* data() { return values_.data(); }
    std::vector<T> read() const { return values_; }

  private:
    std::vector<T> values_;
};

}  // namespace basalt_tests
