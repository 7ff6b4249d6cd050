#pragma once

#include <utility>
#include <vector>

#include "kernels/on_stream.hpp"

namespace basalt_tests {

/// Runs the cases of tests/kernels/cases with the CPU twins, in host memory.
struct CpuTwins {
    static constexpr bool on_gpu = false;

    template <class T>
    class Memory {
      public:
        Memory(CpuTwins&, std::vector<T> values) : values_(std::move(values)) {}
        T* data() { return values_.data(); }
        std::vector<T> read() const { return values_; }

      private:
        std::vector<T> values_;
    };

    static int multiprocessors() { return 1; }

    /// The twin of a kernel of kernels/on_stream.
    template <class Kernel, class... A>
    auto operator()(Kernel kernel, const A&... a) {
        return kernel.on_cpu(a...);
    }
};

}  // namespace basalt_tests
